//! What became of every held-out episode of a run: `outcomes.jsonl`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chain_log::digests_of_outcomes;
use super::metrics_log::{drop_later, read_text};
use crate::metrics::Outcome;
use troupe_core::storage::{StorageError, append};

/// The file, in the folder of a run.
pub struct OutcomesLog<'a> {
    /// The run's folder.
    pub folder: &'a Path,
}

impl OutcomesLog<'_> {
    /// Add outcomes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&self, outcomes: &[Outcome]) -> Result<(), StorageError> {
        append(&self.path(), lines_of(outcomes)?.as_bytes())
    }

    /// Drop the outcomes of steps after `step`, or all of them.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn rewind(&self, step: Option<usize>) -> Result<(), StorageError> {
        drop_later(&self.path(), step)
    }

    /// The digests of its lines, by step.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn digests(&self) -> Result<BTreeMap<usize, String>, StorageError> {
        Ok(digests_of_outcomes(&read_text(&self.path())?))
    }

    fn path(&self) -> PathBuf {
        self.folder.join("outcomes.jsonl")
    }
}

/// Outcomes as JSON lines.
///
/// # Errors
/// If one cannot be written as JSON.
pub fn lines_of(outcomes: &[Outcome]) -> Result<String, StorageError> {
    let line = |outcome| serde_json::to_string(outcome).map(|line| line + "\n");
    outcomes
        .iter()
        .map(line)
        .collect::<Result<_, _>>()
        .map_err(|error| StorageError::io("write", Path::new("outcomes.jsonl"))(error.into()))
}
