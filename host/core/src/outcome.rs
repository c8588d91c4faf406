//! The outcome of a held-out episode: a line of `outcomes.jsonl`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::storage::StorageError;

/// How the policies answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// With the likeliest token each time.
    Greedy,
    /// At the rollout's temperature.
    Sampled,
}

/// The outcome of a held-out episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How many steps the policies had learned in; nothing if that is not known.
    pub step: Option<usize>,
    /// The part of the tasks.
    pub split: String,
    /// How the policies answered.
    pub answers: Answers,
    /// The task's family.
    pub family: String,
    /// The task's number in its split: the same task in all runs.
    pub task: u32,
    /// Number of the episode among the task's, from 0.
    pub sample: usize,
    /// `solved`, `failed`, `finished`, `truncated` or `void`.
    pub ending: String,
    /// Whether the task was solved.
    pub solved: bool,
    /// Answers that were given in it.
    pub turns: usize,
    /// Tokens of these; 0 of a void episode.
    pub completion_tokens: usize,
    /// Tokens of their prompts; 0 of a void episode.
    pub prompt_tokens: usize,
    /// The team's rewards, added up.
    pub reward: f64,
    /// The last action that was carried out in full.
    pub last: Option<String>,
    /// How many were.
    #[serde(default)]
    pub acts: usize,
}

/// Read the outcomes of a file, one a line; a last line that breaks off was being written and is
/// left out.
///
/// # Errors
/// If the file cannot be read, or another line is no outcome.
pub fn read_outcomes(path: &Path) -> Result<Vec<Outcome>, StorageError> {
    let text = std::fs::read_to_string(path).map_err(StorageError::io("read", path))?;
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let read = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| StorageError::Damaged {
            path: path.to_owned(),
            reason: format!("line {} is no outcome of an episode ({error})", index + 1),
        })
    };
    whole.enumerate().map(read).collect()
}
