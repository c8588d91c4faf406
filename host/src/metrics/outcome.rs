//! What became of one held-out episode, in a line of `outcomes.jsonl`.

use serde::{Deserialize, Serialize};

/// How the policies answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// With the likeliest token each time.
    Greedy,
    /// At the rollout's temperature.
    Sampled,
}

/// What became of one held-out episode.
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
    /// Which of the episodes of the task it is, from 0.
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
}
