//! What a run came to: `summary.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::Success;

/// What a run came to, on tasks of the test split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Greedy success before training.
    pub before: Success,
    /// Greedy success after training.
    pub after: Success,
    /// The same two with answers drawn at the rollout's temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Change>,
    /// Greedy success by family of tasks.
    #[serde(default)]
    pub families: BTreeMap<String, Change>,
    /// The checkpoint that solved most validation tasks, if that is not the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestCheckpoint>,
    /// Training steps.
    pub steps: usize,
    /// Wall-clock seconds of all sessions of the run together.
    pub seconds: f64,
    /// Episodes in which a plugin failed.
    pub void_episodes: usize,
    /// Updates that moved a policy too far, so that they were taken back and made again at a
    /// smaller learning rate, or given up.
    #[serde(default)]
    pub taken_back: usize,
}

/// A checkpoint that validation prefers to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestCheckpoint {
    /// Its step.
    pub step: usize,
    /// Share of validation tasks that it solved greedily, by which it was chosen.
    pub validation: f64,
    /// Greedy success on the test tasks.
    pub test: Success,
}

/// What training made of a success.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Before training.
    pub before: Success,
    /// After training.
    pub after: Success,
}
