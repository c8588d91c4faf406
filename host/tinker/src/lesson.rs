//! One answer as it is sent, if it may be.
//!
//! Servers check next to nothing: a token outside of the vocabulary or a number that is none ruins
//! every adapter there, and the base, until the model is unloaded. So it is checked here.

use std::collections::HashMap;

use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::wire::protobuf;

/// A prompt and its answer, with numbers for each token of the answer.
#[derive(Clone, Debug)]
pub(crate) struct Lesson {
    full: Vec<u32>,
    /// Where the answer begins.
    start: usize,
    inputs: Vec<(&'static str, Vec<f32>)>,
}

impl Lesson {
    pub(crate) fn new(prompt: &[u32], answer: &[u32]) -> Lesson {
        Lesson { full: [prompt, answer].concat(), start: prompt.len(), inputs: Vec::new() }
    }

    /// With a number for each token of the answer.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, numbers: Vec<f32>) -> Lesson {
        self.inputs.push((name, numbers));
        self
    }

    /// With its advantages multiplied.
    #[must_use]
    pub(crate) fn scaled(mut self, factor: f32) -> Lesson {
        for (_, numbers) in self.inputs.iter_mut().filter(|(name, _)| *name == "advantages") {
            numbers.iter_mut().for_each(|number| *number *= factor);
        }
        self
    }

    /// Tokens that are predicted: all but the first, the prompt's included.
    pub(crate) fn targets(&self) -> usize {
        self.full.len() - 1
    }

    /// Tokens of the answer.
    pub(crate) fn answer(&self) -> usize {
        self.full.len() - self.start
    }

    /// Of the numbers for all targets those of the answer.
    pub(crate) fn answers<'n>(&self, of_targets: &'n [f32]) -> Option<&'n [f32]> {
        of_targets.get(self.start - 1..self.targets())
    }

    /// About what it takes on the wire, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.full.len() * (4 + 8 + 4 * self.inputs.len()) + 128
    }

    /// Refuse what would harm a server.
    pub(crate) fn check(&self, vocabulary: usize) -> Result<(), TinkerFailure> {
        let refuse = |reason: String| Err(Kind::Unsendable.because(reason));
        if self.start == 0 || self.start == self.full.len() {
            return refuse("a prompt or an answer has no tokens".to_owned());
        }
        if let Some(token) = self.full.iter().find(|token| **token as usize >= vocabulary) {
            return refuse(format!(
                "the token {token} is outside of the {vocabulary} that there are"
            ));
        }
        for (name, numbers) in &self.inputs {
            let answer = self.answer();
            if numbers.len() != answer {
                let count = numbers.len();
                return refuse(format!(
                    "{count} numbers `{name}` for an answer of {answer} tokens"
                ));
            }
            if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
                return refuse(format!("one of the numbers `{name}` is {number}"));
            }
            if *name == "weights" && numbers.iter().any(|number| *number < 0.0) {
                return refuse("one of the `weights` is below 0".to_owned());
            }
        }
        Ok(())
    }

    /// As it is sent: tokens and targets shifted by one, zeros on the prompt.
    pub(crate) fn message(&self) -> protobuf::Datum {
        let padded = |numbers: &[f32]| {
            let mut padded = vec![0.0; self.start - 1];
            padded.extend_from_slice(numbers);
            padded
        };
        let mut inputs: HashMap<String, protobuf::Tensor> = self
            .inputs
            .iter()
            .map(|(name, numbers)| ((*name).to_owned(), protobuf::floats(&padded(numbers))))
            .collect();
        inputs.insert("target_tokens".to_owned(), protobuf::integers(&self.full[1..]));
        let text = protobuf::text(&self.full[..self.targets()]);
        protobuf::Datum { model_input: vec![text], loss_fn_inputs: inputs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_that_would_harm_a_server() {
        let lesson = || Lesson::new(&[1, 2], &[3, 4]);
        lesson().with("advantages", vec![1.0, -1.0]).check(5).unwrap();
        for (harmful, named) in [
            (lesson(), "token 4"),
            (lesson().with("advantages", vec![1.0]), "1 numbers `advantages`"),
            (lesson().with("advantages", vec![1.0, f32::NAN]), "NaN"),
            (lesson().with("logprobs", vec![f32::NEG_INFINITY, 0.0]), "-inf"),
            (lesson().with("weights", vec![1.0, -1.0]), "below 0"),
            (Lesson::new(&[], &[1]), "no tokens"),
            (Lesson::new(&[1], &[]), "no tokens"),
        ] {
            let vocabulary = if named == "token 4" { 4 } else { 5 };
            let failure = harmful.check(vocabulary).unwrap_err();
            assert_eq!(failure.kind, Kind::Unsendable);
            assert!(failure.message.contains(named), "{failure}");
        }
    }

    #[test]
    fn numbers_stand_at_the_token_they_are_of() {
        let lesson = Lesson::new(&[1, 2, 3], &[7, 8]).with("advantages", vec![0.5, -0.5]);
        let message = lesson.message();
        let floats = |name: &str| {
            let (numbers, _) = message.loss_fn_inputs[name].dense.as_chunks::<4>();
            numbers.iter().map(|it| f32::from_le_bytes(*it)).collect::<Vec<_>>()
        };
        // Targets 2, 3, 7, 8.
        assert_eq!(floats("advantages"), [0.0, 0.0, 0.5, -0.5]);
        assert_eq!(message.loss_fn_inputs["target_tokens"].shape, [4]);
        assert_eq!(lesson.answers(&[0.1, 0.2, 0.3, 0.4]), Some(&[0.3, 0.4][..]));
    }
}
