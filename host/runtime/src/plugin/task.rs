//! One problem instance, and what an action in it led to.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::setting::Settings;
use crate::trajectory::{Reward, Status};

/// A part of an environment's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Tasks to learn from.
    Train,
    /// Tasks to choose settings by.
    Validation,
    /// Tasks for the final figures.
    Test,
}

impl Split {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// One problem instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The part of the tasks it comes from.
    pub split: Split,
    /// Which task of the split.
    pub seed: u32,
    /// The environment's settings.
    pub settings: Settings,
    /// A record of a dataset, for environments that are built on one.
    pub entry: Option<String>,
}

/// What an action led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the actor is told; may be empty.
    pub feedback: String,
    /// Whether the action was understood and carried out in full.
    pub accepted: bool,
    /// What it was worth. Every number is finite.
    pub reward: Reward,
    /// Where the episode stands now.
    pub status: Status,
}
