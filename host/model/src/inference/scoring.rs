//! How likely a policy finds a given text.

use tch::{Kind, Tensor};

use std::ops::Range;

use super::distribution::confine;
use super::engine::check_tokens;
use super::prompt_reader::PromptReader;
use crate::attempt::attempt;
use crate::error::PolicyError;
use crate::language_model::Policy;
use crate::model::{Input, Segment};
use crate::prompt::Walk;
use crate::sampling::Sampling;

/// Logits that are held at a time, in numbers.
const CHUNK: i64 = 1 << 24;

impl Policy {
    /// Natural log-probability of every token but the first, given those
    /// before it, at temperature 1: one number less than there are tokens.
    ///
    /// # Errors
    /// If there are no tokens, too many, or one that the policy does not know.
    pub fn score(&self, tokens: &[u32]) -> Result<Vec<f32>, PolicyError> {
        check_tokens(self, tokens, 0)?;
        attempt(|| self.log_probabilities_of(tokens, None))
    }

    /// The same of the tokens of an answer to a prompt, under what `sampling` says that answers
    /// may be and under nothing else that it says.
    ///
    /// # Errors
    /// If there are no tokens, too many, or one that the policy does not know or may not say.
    pub fn score_answer(
        &self,
        prompt: &[u32],
        answer: &[u32],
        sampling: &Sampling,
    ) -> Result<Vec<f32>, PolicyError> {
        let tokens = [prompt, answer].concat();
        check_tokens(self, &tokens, 0)?;
        let automaton = self.automaton(sampling)?;
        let confined = automaton.map(|automaton| Confined {
            walk: automaton.begin(prompt),
            begins: prompt.len(),
            vocabulary: self.config().vocab_size,
        });
        let logprobs = attempt(|| self.log_probabilities_of(&tokens, confined))?;
        Ok(logprobs[prompt.len().max(1) - 1..].to_vec())
    }

    fn log_probabilities_of(
        &self,
        tokens: &[u32],
        mut confined: Option<Confined>,
    ) -> Result<Vec<f32>, PolicyError> {
        let _guard = tch::no_grad_guard();
        let device = self.device().torch();
        let length = tokens.len() as i64;
        let ids: Vec<i64> = tokens.iter().map(|&token| token.into()).collect();
        let ids = Tensor::f_from_slice(&ids)?.f_to_device(device)?;
        let shared_base = Policy::shared_base(&[self]);
        let decoder = shared_base.decoder();
        let mut reader = PromptReader::new(1, length, &decoder.masking());
        let input = Input {
            tokens: &ids,
            positions: &Tensor::arange(length, (Kind::Int64, device)),
            keep: None,
            adapter_rows: &shared_base.adapter_rows(&[Segment {
                member: 0,
                rows: length,
                kept: length,
            }]),
        };
        let states = shared_base.forward(&input, &mut reader);
        let rows = (CHUNK / self.config().vocab_size).max(1);
        let mut chosen = Vec::with_capacity(tokens.len());
        for from in (0..length - 1).step_by(rows as usize) {
            let count = rows.min(length - 1 - from);
            let mut logits = shared_base.logits(&states.narrow(0, from, count));
            if let Some(confined) = &mut confined {
                let next = from as usize + 1..(from + count) as usize + 1;
                logits = confine(&logits, &confined.allowed(tokens, next)?);
            }
            let logprobs = logits.log_softmax(-1, Kind::Float);
            let next = ids.narrow(0, from + 1, count).unsqueeze(1);
            chosen.extend(Vec::<f32>::try_from(logprobs.gather(1, &next, false).squeeze_dim(1))?);
        }
        Ok(chosen)
    }
}

/// An answer that may not be anything, as it is read.
struct Confined {
    walk: Walk,
    /// Tokens before it.
    begins: usize,
    vocabulary: i64,
}

impl Confined {
    /// Which tokens may stand at these places, one after the other: a bit for each. Before the
    /// answer any may.
    fn allowed(&mut self, tokens: &[u32], places: Range<usize>) -> Result<Vec<u32>, PolicyError> {
        let any = vec![u32::MAX; (self.vocabulary as usize).div_ceil(32)];
        let mut allowed = Vec::with_capacity(places.len() * any.len());
        for place in places {
            if place < self.begins {
                allowed.extend(&any);
                continue;
            }
            allowed.extend(self.walk.allowed()?);
            // Nothing comes after an answer's last token, which may end it.
            if place + 1 < tokens.len() {
                self.walk.push(tokens[place])?;
            }
        }
        Ok(allowed)
    }
}
