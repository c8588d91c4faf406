//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! `stage` is an environment and a workflow side by side, `play` plays a round of
//! answers in them, `weighing` compares the branches of a round, `branch` chooses
//! one of them, `attempt` is one episode on its way, `collect` runs many side by side so that the policies
//! (`players`) answer in large batches, `overlap` while others are played,
//! `demonstration` lets the environment's expert answer instead. What the
//! samples are worth to training is said in `group` and `advantage`.

mod attempt;
mod branch;
mod cast;
mod collect;
mod demonstration;
mod overlap;
mod play;
mod players;
mod request;
mod stage;
mod tool;
mod weighing;

pub use cast::{Cast, CastError, Guest, Policies};
pub use collect::{Rollout, RolloutError, TaskSeed, collect};
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator};
pub use request::Due;
pub use stage::{Answer, Consequence, Progress, Scene, Stage};
pub use tool::offered as offered_tools;
