//! An answer as it grows.

use super::distribution::unit;
use super::thought::Thought;
use crate::error::PolicyError;
use crate::prompt::{TokenCodec, Walk};
use crate::sampling::Sampling;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, StopReason};

/// Tokens at the end of an answer in which a stop sequence is looked for,
/// beyond those that its own length may take.
const TAIL: usize = 8;

/// Which answer to which request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) request: usize,
    pub(super) branch: usize,
}

/// What an answer is so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoFar {
    /// The tokens that were drawn.
    pub tokens: Vec<u32>,
    /// The log-probability of each.
    pub logprobs: Vec<f32>,
}

impl From<&Completion> for SoFar {
    fn from(answer: &Completion) -> Self {
        SoFar { tokens: answer.tokens.clone(), logprobs: answer.logprobs.clone() }
    }
}

/// An answer as it grows.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) place: Place,
    seed: Seed,
    tokens: Vec<u32>,
    logprobs: Vec<f32>,
    stop: Option<StopReason>,
    /// What it thinks, where that has a budget.
    thought: Option<Thought>,
    /// What it may be, if not anything.
    walk: Option<Walk>,
    /// Places of tokens that were put there.
    forced: Vec<usize>,
}

impl Sequence {
    pub(super) fn new(
        place: Place,
        seed: Seed,
        thought: Option<Thought>,
        walk: Option<Walk>,
    ) -> Self {
        let (tokens, logprobs, forced) = (Vec::new(), Vec::new(), Vec::new());
        Sequence { place, seed, tokens, logprobs, stop: None, thought, walk, forced }
    }

    /// Which tokens may come next, if not any: a bit for each.
    pub(super) fn allowed(&mut self) -> Result<Option<Vec<u32>>, PolicyError> {
        self.walk.as_mut().map(Walk::allowed).transpose()
    }

    /// The token that must come next, whatever is drawn.
    pub(super) fn due(&self) -> Option<u32> {
        self.thought.as_ref()?.due()
    }

    /// A number in `[0, 1)` for the token after `ahead` more: depends on the
    /// sample and the token's place in it alone.
    pub(super) fn unit(&self, ahead: usize) -> f32 {
        unit(self.seed.at((self.tokens.len() + ahead) as u64))
    }

    /// What it is so far.
    pub(super) fn so_far(&self) -> SoFar {
        SoFar { tokens: self.tokens.clone(), logprobs: self.logprobs.clone() }
    }

    /// Take a token; whether the answer goes on.
    pub(super) fn push(
        &mut self,
        token: u32,
        logprob: f32,
        codec: &TokenCodec,
        sampling: &Sampling,
    ) -> Result<bool, PolicyError> {
        if !logprob.is_finite() {
            return Err(PolicyError::Diverged);
        }
        if self.due().is_some() {
            self.forced.push(self.tokens.len());
        }
        if let Some(thought) = &mut self.thought {
            thought.push(token);
        }
        self.tokens.push(token);
        self.logprobs.push(logprob);
        self.stop = if codec.ends.contains(&token) {
            Some(StopReason::EndOfText)
        } else if self.says_stop(codec, sampling)? {
            Some(StopReason::Sequence)
        } else if self.tokens.len() == sampling.max_completion_tokens {
            Some(StopReason::Length)
        } else {
            None
        };
        if let Some(walk) = self.walk.as_mut().filter(|_| self.stop.is_none()) {
            walk.push(token)?;
        }
        Ok(self.stop.is_none())
    }

    fn says_stop(&self, codec: &TokenCodec, sampling: &Sampling) -> Result<bool, PolicyError> {
        let Some(longest) = sampling.stop.iter().map(String::len).max() else { return Ok(false) };
        let mut count = longest + TAIL;
        loop {
            let from = self.tokens.len().saturating_sub(count);
            let tail = codec.tokenizer.decode(&self.tokens[from..])?;
            if sampling.stop.iter().any(|stop| tail.contains(stop)) {
                return Ok(true);
            }
            // A token may stand for a part of a letter, and a special one for nothing.
            if from == 0 || tail.len() > longest {
                return Ok(false);
            }
            count *= 2;
        }
    }

    /// The answer; its text ends before a stop sequence, its tokens with it.
    pub(super) fn finish(
        self,
        codec: &TokenCodec,
        sampling: &Sampling,
    ) -> Result<Completion, PolicyError> {
        let mut text = codec.tokenizer.decode(&self.tokens)?;
        if self.stop == Some(StopReason::Sequence) {
            let first = sampling.stop.iter().filter_map(|stop| text.find(stop)).min();
            text.truncate(first.unwrap_or(text.len()));
        }
        let stop = self.stop.unwrap_or(StopReason::Length);
        let Sequence { tokens, logprobs, forced, .. } = self;
        Ok(Completion { tokens, logprobs, text, stop, forced, usage: None })
    }
}
