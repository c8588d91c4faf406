//! What a client is told after it began an episode or did something in it.

use serde_json::{Map, Value, json};

use super::earnings::Earnings;
use super::game::Position;
use troupe_core::trajectory::Ending;

/// What a client is told.
pub(super) struct StepResult {
    /// The environment's own fields.
    pub(super) observation: Map<String, Value>,
    /// What was earned; nothing as long as that is not known.
    pub(super) earnings: Option<Earnings>,
    /// What else there is to be said.
    pub(super) metadata: Map<String, Value>,
    /// How the episode ended, or from where it goes on.
    pub(super) next: Result<Position, Ending>,
}

impl StepResult {
    /// What it was worth.
    pub(super) fn reward(&self) -> Option<f64> {
        self.earnings.as_ref().map(Earnings::total)
    }

    /// The word for where the episode stands.
    pub(super) fn status(&self) -> &'static str {
        self.next.as_ref().err().map_or("ongoing", Ending::word)
    }

    /// As OpenEnv has it.
    pub(super) fn to_json(&self) -> Value {
        let mut metadata = self.metadata.clone();
        metadata.insert("status".to_owned(), json!(self.status()));
        if let Err(Ending::Truncated) = self.next {
            metadata.insert("truncated".to_owned(), json!(true));
        }
        if let Some(earnings) = &self.earnings {
            metadata.extend(earnings.to_fields());
        }
        json!({
            "observation": self.observation,
            "reward": self.reward(),
            "done": self.next.is_err(),
            "metadata": metadata,
        })
    }
}
