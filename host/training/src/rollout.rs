//! Produces episodes: asks policies, plays their answers, keeps the record.
//!
//! A `task` is played under a `setting`: `role_map` says which policy plays which
//! role, and a `remote` answers for those that are not here. `weighing` says what
//! a round's branches are worth, `scheme` which are drawn and which are continued,
//! `attempt` is an episode in progress and `line` the answers it gathers.
//! `collect` runs many side by side so that the policies (`sampler`) answer in
//! large batches, `scheduler` plays some while others are answered, `sitting` lets
//! episodes join others on their way, `dealt` shares them with other processes,
//! `demonstration` lets the environment's expert answer instead. Where several
//! policies play in the place of one, `ensemble` says which of them answers, and
//! `council` is their answering together. What the samples are worth to training
//! is said in `group` and `advantage`.

mod attempt;
mod branch;
mod collect;
mod council;
mod dealt;
mod demonstration;
mod ensemble;
mod error;
mod line;
mod remote;
mod role_map;
mod sampler;
mod scheduler;
mod scheme;
mod setting;
mod sitting;
mod task;
mod weighing;

pub use attempt::TOO_LONG;
pub use collect::{FirstAnswers, Play, Rollout, answer_from, collect, collect_from};
pub use council::{Council, Verdict};
pub use dealt::{collect_among, collect_in_turn};
pub use demonstration::{Demonstration, DemonstrationError, Demonstrator, turns_of_expert};
pub use ensemble::{Best, ChosenBy, Ensemble};
pub use error::RolloutError;
pub use remote::Remote;
pub use role_map::{Policies, RoleMap, RoleMapError};
pub use setting::Setting;
pub use sitting::{Advance, Sitting};
pub use task::{Start, TaskSeed};
