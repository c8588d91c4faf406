//! What is played: tasks from their beginnings, and moments of episodes to go on from.

use std::sync::Arc;

use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;
use troupe_guests::plugin::Split;
use troupe_guests::scenario::{Position, Scenario};

/// A task of a step, and the seed for what is drawn at random in it.
#[derive(Clone)]
pub struct TaskSeed {
    /// Where it is played.
    pub scenario: Arc<Scenario>,
    /// The part of the tasks.
    pub split: Split,
    /// Which task of the split.
    pub task: u32,
    /// Root of the randomness of its episodes.
    pub seed: Seed,
}

/// A moment of an episode to go on from.
pub struct Start {
    /// What is played, and the seed for what is drawn at random from here on.
    pub task: TaskSeed,
    /// The moment.
    pub position: Position,
    /// The answers to what is due, or none if they are to be drawn, too.
    pub answers: Vec<Completion>,
}
