//! `[run]` and `[checkpoint]`: where a run lives and what it leaves behind.

use std::path::PathBuf;

use super::table::table;

table! {
    /// `[run]`.
    pub struct RunConfig {
        /// Name of the run's folder; by default the environment's and workflow's
        /// names, numbered if that is taken.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name: Option<String> = None;
        /// Root of all randomness.
        pub seed: u64 = 1, 0..=i64::MAX as u64;
        /// Folder of run folders.
        pub dir: PathBuf = PathBuf::from("runs");
        /// Episodes of each step that are written to the run folder.
        pub recorded_episodes: usize = 4, 0..=1_000_000;
    }
}

table! {
    /// `[checkpoint]`.
    pub struct CheckpointConfig {
        /// Save every so many steps; the last step is always saved.
        pub every: usize = 1, 1..=1_000_000;
        /// How many of the latest checkpoints to keep, beside the best.
        pub keep: usize = 2, 1..=1_000_000;
    }
}
