//! The stages of a run that take a card's memory, and a card that has none left.

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The answers of a step are drawn.
    Sample,
    /// Policies learn.
    Update,
    /// Held-out tasks are played.
    Evaluate,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Stage::Sample => "to draw a step's answers",
            Stage::Update => "for an update",
            Stage::Evaluate => "to play held-out tasks",
        }
    }

    /// Settings with which it takes less.
    fn advice(self) -> &'static str {
        match self {
            Stage::Sample => "set a smaller rollout.cache_gib, or fewer rollout.tasks_per_step",
            Stage::Update => {
                "set train.gradient_checkpointing = \"on\", train.offload_optimizer = \"on\" or a \
                 smaller train.microbatch_tokens"
            }
            Stage::Evaluate => {
                "set a smaller rollout.cache_gib, or fewer validation.tasks and \
                 validation.tasks_during_training"
            }
        }
    }
}

/// A card had no memory left.
#[derive(Debug, thiserror::Error)]
#[error(
    "the card has no memory left {}: {}; {} (a run resumes from its last checkpoint)",
    stage.name(), said.trim_end_matches('.'), stage.advice()
)]
pub struct NoMemory {
    /// What it was wanted for.
    pub stage: Stage,
    /// What libtorch said.
    pub said: String,
}
