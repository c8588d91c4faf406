//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! `weighing` says what a round's branches are worth, `scheme` which are drawn
//! and which are continued, `attempt` is an episode in progress and `line` the
//! answers it gathers. `collect` runs many side by side so that the policies
//! (`sampler`) answer in large batches, `scheduler` plays some while others are
//! answered, `sitting` lets episodes join others on their way, `dealt` shares
//! them with other processes, `demonstration` lets the environment's expert
//! answer instead. Where several policies play in the place of one, `ensemble`
//! says which of them answers, and `council` is their answering together. What
//! the samples are worth to training is said in `group` and `advantage`.

mod attempt;
mod branch;
mod collect;
mod council;
mod dealt;
mod demonstration;
mod ensemble;
mod line;
mod role_map;
mod sampler;
mod scheduler;
mod scheme;
mod sitting;
mod weighing;

pub use attempt::{Setting, TOO_LONG};
pub use collect::{
    FirstAnswers, Play, Rollout, RolloutError, Start, TaskSeed, answer_from, collect, collect_from,
};
pub use council::{Council, Verdict};
pub use dealt::{collect_among, collect_in_turn};
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator, turns_of_expert};
pub use ensemble::{Best, ChosenBy, Ensemble};
pub use role_map::{Policies, Remote, RoleMap, RoleMapError};
pub use sitting::{Advance, Sitting};
