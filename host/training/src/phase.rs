//! The phases of a run that take a card's memory, and a card that has none left.

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The answers of a step are drawn.
    Sample,
    /// Policies learn.
    Update,
    /// Held-out tasks are played.
    Evaluate,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Sample => "to draw a step's answers",
            Phase::Update => "for an update",
            Phase::Evaluate => "to play held-out tasks",
        }
    }

    /// Settings with which it takes less.
    fn advice(self) -> &'static str {
        match self {
            Phase::Sample => "set a smaller rollout.cache_gib, or fewer rollout.tasks_per_step",
            Phase::Update => {
                "set train.gradient_checkpointing = \"on\", train.offload_optimizer = \"on\" or a \
                 smaller train.microbatch_tokens"
            }
            Phase::Evaluate => {
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
    phase.name(), said.trim_end_matches('.'), phase.advice()
)]
pub struct NoMemory {
    /// What it was wanted for.
    pub phase: Phase,
    /// What libtorch said.
    pub said: String,
}
