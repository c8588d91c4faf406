//! Answers drawn on the server, and texts scored by what draws.

use serde_json::{Value, json};

use crate::client::{Client, Repeat};
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::wire::{Drawn, Samples};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, StopReason};
use troupe_model::{Sampling, Speaker};

/// How far above 0 rounding may bring a log-probability.
const ROUNDING: f32 = 1e-2;

/// What draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Weights that were kept for it.
    Snapshot(String),
    /// The base alone, by its name.
    Base(String),
}

/// What is asked of it.
pub(crate) struct Drawing<'a> {
    pub(crate) client: &'a Client,
    pub(crate) speaker: &'a Speaker,
    pub(crate) source: &'a Source,
}

impl Drawing<'_> {
    /// `count` answers to a prompt.
    pub(crate) fn draw(
        &self,
        prompt: &[u32],
        count: usize,
        sampling: &Sampling,
        seed: Seed,
    ) -> Result<Vec<Completion>, TinkerFailure> {
        let most = sampling.max_completion_tokens;
        let drawn = self.ask(prompt, (count, most), sampling, seed, false)?;
        if drawn.sequences.len() != count {
            let message = format!("{count} answers were asked for, {} came", drawn.sequences.len());
            return Err(Kind::Malformed.because(message));
        }
        drawn.sequences.into_iter().map(|sequence| self.completion(sequence, most)).collect()
    }

    /// Log-probabilities of the tokens of a text, all but the first.
    pub(crate) fn score(&self, text: &[u32]) -> Result<Vec<f32>, TinkerFailure> {
        let drawn = self.ask(text, (1, 1), &Sampling::plain(1), Seed::new(0), true)?;
        let scores = drawn.prompt_logprobs.ok_or_else(|| {
            Kind::Malformed
                .because("it was asked for the log-probabilities of a prompt and gave none")
        })?;
        // The first has no probability: some leave it out.
        let scores = match scores.len() {
            all if all == text.len() => scores[1..].to_vec(),
            rest if rest + 1 == text.len() => scores,
            other => {
                let message = format!("{other} log-probabilities came back for {}", text.len());
                return Err(Kind::Malformed.because(message));
            }
        };
        finite(scores)
    }

    fn ask(
        &self,
        prompt: &[u32],
        (count, most): (usize, usize),
        sampling: &Sampling,
        seed: Seed,
        scored: bool,
    ) -> Result<Samples, TinkerFailure> {
        if count == 0 || most == 0 || prompt.is_empty() {
            return Err(Kind::Unsendable.because("nothing was asked for"));
        }
        if let Some(token) = prompt.iter().find(|it| **it as usize >= self.speaker.vocabulary()) {
            let known = self.speaker.vocabulary();
            let message = format!("the token {token} is outside of the {known} that there are");
            return Err(Kind::Unsendable.because(message));
        }
        let mut body = json!({
            "num_samples": count,
            "prompt": { "chunks": [{ "type": "encoded_text", "tokens": prompt }] },
            "sampling_params": {
                "max_tokens": most, "seed": seed.value_u32() >> 1, "stop": self.speaker.ends(),
                "temperature": sampling.temperature, "top_p": sampling.top_p,
                "top_k": if sampling.top_k == 0 { -1 } else { sampling.top_k as i64 },
            },
            "prompt_logprobs": scored, "topk_prompt_logprobs": 0, "type": "sample",
        });
        match self.source {
            Source::Snapshot(path) => body["model_path"] = Value::from(path.as_str()),
            Source::Base(name) => body["base_model"] = Value::from(name.as_str()),
        }
        // Asked for twice it is drawn twice, which costs time alone.
        let draw = || {
            let promise = self.client.promise("asample", &body, Repeat::Freely)?;
            self.client.samples(&promise)
        };
        match draw() {
            Err(failure) if failure.kind == Kind::Expired => draw(),
            drawn => drawn,
        }
    }

    /// The answer, if it is one that can be learned from.
    fn completion(&self, drawn: Drawn, most: usize) -> Result<Completion, TinkerFailure> {
        let malformed = |message: String| Err(Kind::Malformed.because(message));
        let Drawn { stopped, tokens, logprobs } = drawn;
        let vocabulary = self.speaker.vocabulary() as i64;
        if let Some(token) = tokens.iter().find(|token| !(0..vocabulary).contains(*token)) {
            return malformed(format!(
                "the server drew the token {token}, and there are {vocabulary}: its base is \
                 another model"
            ));
        }
        let tokens: Vec<u32> = tokens.into_iter().map(|token| token as u32).collect();
        let logprobs = logprobs.unwrap_or_default();
        if logprobs.len() != tokens.len() || tokens.is_empty() {
            let (count, scores) = (tokens.len(), logprobs.len());
            return malformed(format!(
                "an answer of {count} tokens has {scores} log-probabilities"
            ));
        }
        let is_end = |token: &u32| self.speaker.ends().contains(token);
        let stop = match (tokens.iter().position(is_end), stopped) {
            (Some(place), _) if place + 1 == tokens.len() => StopReason::EndOfText,
            (Some(_), _) => {
                return malformed("an answer goes on after the token that ends it".into());
            }
            (None, true) => {
                return malformed(
                    "the server leaves out the token that ends an answer, so that no policy would \
                     learn to end one"
                        .to_owned(),
                );
            }
            (None, false) if tokens.len() == most => StopReason::Length,
            (None, false) => {
                let count = tokens.len();
                return malformed(format!("an answer ended after {count} of {most} tokens"));
            }
        };
        let text = self.speaker.wording().decode_text(&tokens);
        let text = text.map_err(|error| Kind::Malformed.because(error.to_string()))?;
        let logprobs = finite(logprobs)?;
        Ok(Completion { tokens, logprobs, text, stop, forced: Vec::new(), usage: None })
    }
}

fn finite(numbers: Vec<f32>) -> Result<Vec<f32>, TinkerFailure> {
    match numbers.iter().find(|number| !(number.is_finite() && **number <= ROUNDING)) {
        None => Ok(numbers),
        Some(number) => Err(Kind::Ruined.because(format!(
            "a log-probability that came back is {number}: weights there have diverged"
        ))),
    }
}
