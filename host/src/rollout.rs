//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! `scenario` is an environment and a workflow side by side, `play` plays a round of
//! answers in them, `weighing` compares the branches of a round, `branch` chooses
//! one of them, `attempt` is one episode on its way, `collect` runs many side by side so that the policies
//! (`sampler`) answer in large batches, `scheduler` while others are played,
//! `demonstration` lets the environment's expert answer instead. What the
//! samples are worth to training is said in `group` and `advantage`.

mod attempt;
mod branch;
mod role_map;
mod collect;
mod demonstration;
mod scheduler;
mod play;
mod sampler;
mod request;
mod scenario;
mod tool;
mod weighing;

pub use collect::{Rollout, RolloutError, TaskSeed, collect};
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator};
pub use request::Due;
pub use role_map::{Policies, Remote, RoleMap, RoleMapError};
pub use scenario::{Answer, Next, Position, Scenario, Transition};
pub use tool::offered as offered_tools;
