//! Components as values: environments and workflows behind the contract in
//! `wit/`, what they may search, the records they deal out, environments on
//! OpenEnv servers, and the two side by side as a scenario.
//!
//! Knows nothing of policies, groups or updates, and runs no model-written
//! program itself: a plugin reaches the sandbox through the trait
//! `program::Runner`.
//!
//! Modules are listed in the order in which they depend on each other.

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
