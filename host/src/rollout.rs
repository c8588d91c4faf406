//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! `stage` plays one answer, `branch` chooses among tried ones, `attempt` is one
//! episode on its way, `collect` runs many side by side so that the policies
//! (`players`) answer in large batches, `overlap` while others are played,
//! `demonstration` lets the environment's expert answer instead. What the
//! samples are worth to training is said in `group` and `advantage`.

mod attempt;
mod branch;
mod cast;
mod collect;
mod demonstration;
mod overlap;
mod players;
mod stage;
mod tool;

pub use cast::{Cast, CastError, Guest, Policies};
pub use collect::{Rollout, RolloutError, TaskSeed, collect};
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator};
pub use stage::{Answer, Consequence, Progress, Scene, Stage};
