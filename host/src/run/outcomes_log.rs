//! What became of every held-out episode of a run: `outcomes.jsonl`.

use std::path::{Path, PathBuf};

use super::metrics_log::{read_text, step_of};
use crate::metrics::Outcome;
use crate::storage::{StorageError, append, write_file};

/// The file, in the folder of a run.
pub struct OutcomesLog<'a> {
    /// The run's folder.
    pub folder: &'a Path,
}

impl OutcomesLog<'_> {
    /// Add outcomes.
    pub fn append(&self, outcomes: &[Outcome]) -> Result<(), StorageError> {
        append(&self.path(), lines_of(outcomes)?.as_bytes())
    }

    /// Drop the outcomes of steps after `step`, or all of them.
    pub fn rewind(&self, step: Option<usize>) -> Result<(), StorageError> {
        let path = self.path();
        let text = read_text(&path)?;
        let keep = text.split_inclusive('\n').filter(|line| {
            line.ends_with('\n') && step_of(line).is_some_and(|of_line| Some(of_line) <= step)
        });
        write_file(&path, keep.collect::<String>().as_bytes())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("outcomes.jsonl")
    }
}

/// Outcomes as JSON lines.
pub fn lines_of(outcomes: &[Outcome]) -> Result<String, StorageError> {
    let line = |outcome| serde_json::to_string(outcome).map(|line| line + "\n");
    outcomes
        .iter()
        .map(line)
        .collect::<Result<_, _>>()
        .map_err(|error| StorageError::io("write", Path::new("outcomes.jsonl"))(error.into()))
}
