//! `[run]` and `[checkpoint]`: where a run lives and what it leaves behind.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[run]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// Name of the run's folder; by default the environment's and workflow's
    /// names, numbered if that is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Root of all randomness.
    pub seed: u64,
    /// Folder of run folders.
    pub dir: PathBuf,
    /// Episodes of each step that are written to the run folder.
    pub recorded_episodes: usize,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig { name: None, seed: 1, dir: PathBuf::from("runs"), recorded_episodes: 4 }
    }
}

/// `[checkpoint]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointConfig {
    /// Save every so many steps; the last step is always saved.
    pub every: usize,
    /// How many of the latest checkpoints to keep, beside the best.
    pub keep: usize,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        CheckpointConfig { every: 1, keep: 2 }
    }
}
