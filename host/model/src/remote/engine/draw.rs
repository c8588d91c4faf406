//! One answer: asking for it, and what must be true of it.

use super::dialect::{Dialect, Drawn, EngineAdvice};
use crate::prompt::TokenCodec;
use crate::remote::failure::{RemoteFailure, RemoteFailureKind};
use crate::remote::server::Server;
use crate::sampling::Sampling;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, StopReason};

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

impl Drawing<'_> {
    pub(super) fn ask(
        &self,
        (server, dialect): (&Server, &dyn Dialect),
        vocabulary: usize,
    ) -> Result<Completion, RemoteFailure> {
        if self.sampling.constraint.is_some() {
            let message = "the server would keep to `allowed` in its own way, and draw otherwise \
                           than the trainer scores";
            return Err(RemoteFailureKind::Refused.because(message));
        }
        let body = dialect.question(self).to_string();
        let reply = server.ask(dialect.draw(), Some(body.as_bytes()), self.seed)?;
        if !reply.is_success() {
            let unknown = || format!("it does not answer as `{}`", self.adapter);
            let meaning = dialect.meaning(&reply, self.adapter).unwrap_or_else(unknown);
            let message = format!("{meaning}; {}", reply.refusal());
            return Err(RemoteFailureKind::Refused.because(message));
        }
        let malformed = |message: String| RemoteFailureKind::Malformed.because(message);
        let drawn = dialect.read(&reply.body).map_err(malformed)?;
        let advice = dialect.advice();
        self.check(drawn, vocabulary, advice)
    }

    /// The answer, if it is one that can be learned from.
    fn check(
        &self,
        drawn: Drawn,
        vocabulary: usize,
        advice: &EngineAdvice,
    ) -> Result<Completion, RemoteFailure> {
        let malformed = |message: String| RemoteFailureKind::Malformed.because(message);
        let Drawn { tokens, logprobs, reason, prompt } = drawn;
        if prompt.is_some_and(|prompt| !prompt.is(self.prompt)) {
            return Err(malformed("the server read another prompt than it was given".to_owned()));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocabulary) {
            return Err(malformed(format!(
                "the server drew the token {token}, and the policy has {vocabulary}: its base is \
                 another model"
            )));
        }
        let logprobs = finite(&logprobs, tokens.len(), advice).map_err(malformed)?;
        let stop = self.stop(&tokens, reason.as_deref())?;
        let decoded = self.codec.tokenizer.decode(&tokens);
        let mut text = decoded.map_err(|error| malformed(error.to_string()))?;
        if stop == StopReason::Sequence {
            let first = self.sampling.stop.iter().filter_map(|stop| text.find(stop)).min();
            text.truncate(first.unwrap_or(text.len()));
        }
        Ok(Completion { tokens, logprobs, text, stop, forced: Vec::new(), usage: None })
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
fn finite(
    scored: &[Option<f64>],
    tokens: usize,
    advice: &EngineAdvice,
) -> Result<Vec<f32>, String> {
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
        format!(
            "a log-probability in the server's answer is missing or is none (above 0, infinite or \
             NaN): the weights there have diverged, or it gives logits; {}",
            advice.temperature
        )
    })
}
