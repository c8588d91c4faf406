//! A run's totals since it began: work, time and fuel.

use std::ops::{AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// The work of training: of a run since it began, or of one rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Answers that were drawn, those of void episodes included.
    pub samples: u64,
    /// Their tokens.
    pub completion_tokens: u64,
    /// Tokens of the prompts, each read once for all answers to it.
    pub prompt_tokens: u64,
    /// Calls of an environment's `act`.
    pub acts: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, more: Totals) {
        self.samples += more.samples;
        self.completion_tokens += more.completion_tokens;
        self.prompt_tokens += more.prompt_tokens;
        self.acts += more.acts;
    }
}

impl Sub for Totals {
    type Output = Totals;

    fn sub(self, earlier: Totals) -> Totals {
        Totals {
            samples: self.samples - earlier.samples,
            completion_tokens: self.completion_tokens - earlier.completion_tokens,
            prompt_tokens: self.prompt_tokens - earlier.prompt_tokens,
            acts: self.acts - earlier.acts,
        }
    }
}

/// The time and fuel of a run since it began, over all its sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Processor seconds of all threads of the host.
    pub cpu_seconds: f64,
    /// Fuel of the plugins in training.
    pub fuel: u64,
}

/// Whether there is nothing to write down.
pub fn is_zero(number: &usize) -> bool {
    *number == 0
}
