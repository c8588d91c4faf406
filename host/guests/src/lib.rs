//! Components as values: environments and workflows behind the contract in `wit/`.
//!
//! In the order in which they depend on each other: [`retrieval`] is the corpus that plugins may
//! search, [`plugin`] a component with its limits and grants, [`records`] the data that tasks are
//! made of, [`foreign`] an environment on an OpenEnv server, and [`scenario`] an environment and
//! a workflow side by side.
//!
//! It may know nothing of policies, groups or updates, and runs no model-written program itself:
//! a plugin reaches the sandbox through the trait [`Runner`](troupe_core::program::Runner).
//! Whatever a plugin does wrong is a [`PluginFailure`].
//!
//! ```
//! use troupe_guests::plugin::{
//!     Award, Effect, Outcome, Recipient, Seat, Status, seat_reward, team_reward,
//! };
//!
//! // What an environment answered to two moves, the first of the planner, and what it is worth.
//! let award = |name: &str, to, value| Award { name: name.to_owned(), to, value };
//! let outcome = Outcome {
//!     effects: vec![Effect { accepted: true, feedback: String::new() }; 2],
//!     awards: vec![
//!         award("solved", Recipient::Team, 1.0),
//!         award("form", Recipient::Mover(0), -0.25),
//!         award("form", Recipient::Mover(1), -0.5),
//!     ],
//!     status: Status::Solved,
//! };
//! assert_eq!(team_reward(&outcome).team, 1.0);
//! assert_eq!(seat_reward(&outcome, &Seat::new("planner"), &[0]).local, -0.25);
//! ```
//!
//! `examples/play_a_component.rs` plays an environment that is a file.

pub mod retrieval;
pub mod plugin;
pub mod records;
pub mod foreign;
pub mod scenario;

use crate::foreign::ForeignError;
use crate::plugin::{PluginError, PluginFailure};
use crate::records::RecordError;
use crate::retrieval::CorpusError;
use crate::scenario::ScenarioError;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[
    ask::<CorpusError>,
    ask::<ForeignError>,
    ask::<PluginError>,
    ask::<PluginFailure>,
    ask::<RecordError>,
    ask::<ScenarioError>,
];
