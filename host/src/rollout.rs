//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! `stage` plays one answer, `branch` chooses among tried ones, `collect` runs
//! many episodes side by side so that the policies answer in large batches,
//! `demonstration` lets the environment's expert answer instead. What the
//! samples are worth to training is said in `group` and `advantage`.

mod branch;
mod cast;
mod collect;
mod demonstration;
mod tool;
mod stage;

pub use cast::{Cast, CastError, Policies};
pub use collect::{Rollout, RolloutError, TaskSeed, collect};
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator};
pub use stage::{Answer, Consequence, Progress, Scene, Stage};
