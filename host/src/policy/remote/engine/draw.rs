//! One answer: how it is asked for, and what must be true of it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::failure::{RemoteFailure, RemoteFailureKind};
use super::super::server::{Reply, Server};
use crate::policy::prompt::TokenCodec;
use crate::policy::sampling::Sampling;
use crate::seed::Seed;
use crate::trajectory::{Completion, StopReason};

/// How far above 0 rounding may bring a log-probability.
const ROUNDING: f64 = 1e-2;

/// One answer that is asked for.
pub(super) struct Drawing<'a> {
    pub(super) adapter: &'a str,
    pub(super) prompt: &'a [u32],
    pub(super) seed: Seed,
    pub(super) sampling: &'a Sampling,
    pub(super) codec: &'a TokenCodec,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    token_ids: Option<Vec<u32>>,
    prompt_token_ids: Option<Vec<u32>>,
    logprobs: Option<Scored>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Scored {
    token_logprobs: Option<Vec<Option<f64>>>,
}

impl Drawing<'_> {
    /// Everything that decides the distribution is said, also where it is off: what is not said
    /// is taken from the model's `generation_config.json`, unless the server is told otherwise.
    fn body(&self) -> Value {
        let Sampling { temperature, top_p, top_k, min_p, repetition_penalty, .. } = self.sampling;
        let top_k = if *top_k == 0 { json!(-1) } else { json!(top_k) };
        let mut body = json!({
            "model": self.adapter,
            "prompt": self.prompt,
            "n": 1,
            "max_tokens": self.sampling.max_completion_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "top_k": top_k,
            "min_p": min_p,
            "repetition_penalty": repetition_penalty,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            // JSON numbers are exact to 53 bits.
            "seed": self.seed.value() >> 11,
            "logprobs": 0,
            "return_token_ids": true,
            "stop_token_ids": &*self.codec.ends,
            "stream": false,
        });
        if !self.sampling.stop.is_empty() {
            body["stop"] = json!(self.sampling.stop);
        }
        body
    }

    pub(super) fn ask(
        &self,
        server: &Server,
        vocabulary: usize,
    ) -> Result<Completion, RemoteFailure> {
        let body = self.body().to_string();
        let reply = server.ask("completions", Some(body.as_bytes()), self.seed)?;
        if !reply.is_success() {
            return Err(self.refusal(&reply));
        }
        self.read(&reply.body, vocabulary)
    }

    fn refusal(&self, reply: &Reply) -> RemoteFailure {
        let (text, adapter) = (reply.text(), self.adapter);
        let meaning = if text.contains("Out of range float values") {
            format!(
                "`{adapter}` gives infinities or NaN there: its weights have diverged, or the \
                 server's type of weights is too narrow (`--dtype`)"
            )
        } else if reply.status == 404 {
            format!(
                "it no longer has the adapter `{adapter}`: it was started anew, or more adapters \
                 are loaded than it has room for (`--max-loras`)"
            )
        } else {
            format!("it does not answer as `{adapter}`")
        };
        RemoteFailureKind::Refused.because(format!("{meaning}; {}", reply.refusal()))
    }

    /// The answer, if it is one that can be learned from.
    fn read(&self, body: &[u8], vocabulary: usize) -> Result<Completion, RemoteFailure> {
        let malformed = |message: String| RemoteFailureKind::Malformed.because(message);
        let answer: Answer = serde_json::from_slice(body).map_err(|error| {
            malformed(format!("the server's answer is not a completion as expected: {error}"))
        })?;
        let [choice] = &answer.choices[..] else {
            let count = answer.choices.len();
            return Err(malformed(format!(
                "the server gave {count} answers where 1 was asked for"
            )));
        };
        let tokens = choice.token_ids.clone().ok_or_else(|| {
            malformed(
                "the server's answer has no `token_ids`, although `return_token_ids` was asked \
                 for: it needs a vLLM that knows the field"
                    .to_owned(),
            )
        })?;
        let read_otherwise = |prompt: &Vec<u32>| prompt[..] != *self.prompt;
        if choice.prompt_token_ids.as_ref().is_some_and(read_otherwise) {
            return Err(malformed("the server read another prompt than it was given".to_owned()));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocabulary) {
            return Err(malformed(format!(
                "the server drew the token {token}, and the policy has {vocabulary}: its base is \
                 another model"
            )));
        }
        let scored = choice.logprobs.as_ref().and_then(|scored| scored.token_logprobs.as_ref());
        let logprobs = logprobs(scored, tokens.len()).map_err(malformed)?;
        let stop = self.stop(&tokens, choice.finish_reason.as_deref())?;
        let decoded = self.codec.tokenizer.decode(&tokens);
        let mut text = decoded.map_err(|error| malformed(error.to_string()))?;
        if stop == StopReason::Sequence {
            let first = self.sampling.stop.iter().filter_map(|stop| text.find(stop)).min();
            text.truncate(first.unwrap_or(text.len()));
        }
        Ok(Completion { tokens, logprobs, text, stop })
    }

    /// Why the answer ended, as its tokens say it.
    fn stop(&self, tokens: &[u32], reason: Option<&str>) -> Result<StopReason, RemoteFailure> {
        let malformed = |message: String| Err(RemoteFailureKind::Malformed.because(message));
        let (count, limit) = (tokens.len(), self.sampling.max_completion_tokens);
        let ends = |token: &u32| self.codec.ends.contains(token);
        match tokens.iter().position(ends) {
            Some(place) if place + 1 == count => return Ok(StopReason::EndOfText),
            Some(_) => {
                return malformed("an answer goes on after the token that ends it".to_owned());
            }
            None => {}
        }
        match reason {
            Some("length") if count == limit => Ok(StopReason::Length),
            Some("stop") if !self.sampling.stop.is_empty() => Ok(StopReason::Sequence),
            Some("stop") => malformed(format!(
                "the server ended an answer at the token {:?}, which ends none of the policy's; \
                 it has another tokenizer or `generation_config.json`",
                tokens.last()
            )),
            other => malformed(format!(
                "the server ended an answer of {count} tokens for the reason {other:?}; {limit} \
                 were allowed"
            )),
        }
    }
}

/// One finite number for each token.
fn logprobs(scored: Option<&Vec<Option<f64>>>, tokens: usize) -> Result<Vec<f32>, String> {
    let Some(scored) = scored else {
        return Err("the server's answer has no log-probabilities (`logprobs`)".to_owned());
    };
    if scored.len() != tokens {
        return Err(format!(
            "the server's answer has {tokens} tokens, but {} log-probabilities",
            scored.len()
        ));
    }
    let fits = |number: &Option<f64>| number.filter(|it| it.is_finite() && *it <= ROUNDING);
    let numbers: Option<Vec<f32>> =
        scored.iter().map(|number| fits(number).map(|it| it as f32)).collect();
    numbers.ok_or_else(|| {
        "a log-probability in the server's answer is missing or is none (above 0, infinite or \
         NaN): the weights there have diverged, or it gives logits \
         (`--logprobs-mode processed_logprobs`)"
            .to_owned()
    })
}
