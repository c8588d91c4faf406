//! What a server makes of the losses of several answers, and what makes a plain sum of that.

use serde::{Deserialize, Serialize};

use crate::lesson::Lesson;
use troupe_core::config::ReductionChoice;

/// What a server makes of the losses of the answers that it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The mean over an answer's targets, its prompt's included, and over the answers since the
    /// last step.
    SequenceMean,
    /// The mean over the targets of a request.
    TokenMean,
}

impl Reduction {
    /// What a configuration says, if it does.
    pub(crate) fn of(choice: ReductionChoice) -> Option<Reduction> {
        match choice {
            ReductionChoice::Probe => None,
            ReductionChoice::Sum => Some(Reduction::Sum),
            ReductionChoice::SequenceMean => Some(Reduction::SequenceMean),
            ReductionChoice::TokenMean => Some(Reduction::TokenMean),
        }
    }

    /// By what the numbers of each answer of a request are multiplied, so that the step's gradient
    /// is the sum; the step has `all` answers.
    pub(crate) fn factors(self, request: &[Lesson], all: usize) -> Vec<f32> {
        let targets: usize = request.iter().map(Lesson::targets).sum();
        let factor = |lesson: &Lesson| match self {
            Reduction::Sum => 1.0,
            Reduction::SequenceMean => (lesson.targets() * all) as f32,
            Reduction::TokenMean => targets as f32,
        };
        request.iter().map(factor).collect()
    }

    /// In a line for people.
    pub fn words(self) -> &'static str {
        match self {
            Reduction::Sum => "sums losses",
            Reduction::SequenceMean => "takes means over answers, which is undone",
            Reduction::TokenMean => "takes means over tokens, which is undone",
        }
    }
}
