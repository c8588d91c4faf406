//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! `scenario` is an environment and a workflow side by side, `play` plays a round
//! of answers in them, `weighing` says what the branches of a round are worth,
//! `scheme` which are drawn and which are gone on from, `attempt` is one episode
//! on its way and `line` the answers it gathers. `collect` runs many side by side
//! so that the policies (`sampler`) answer in large batches, `scheduler` plays
//! some while others are answered, `dealt` shares them with other processes, `demonstration` lets the environment's expert
//! answer instead. What the samples are worth to training is said in `group` and
//! `advantage`.

mod attempt;
mod branch;
mod collect;
mod dealt;
mod demonstration;
mod line;
mod play;
mod request;
mod role_map;
mod sampler;
mod scenario;
mod scheduler;
mod scheme;
mod tool;
mod weighing;

pub use collect::{Rollout, RolloutError, Start, TaskSeed, collect, collect_from};
pub use dealt::collect_among;
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator};
pub use request::Due;
pub use role_map::{Policies, Remote, RoleMap, RoleMapError};
pub use scenario::{Answer, Next, Position, Scenario, Transition};
pub use tool::offered as offered_tools;
