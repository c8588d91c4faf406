//! The loop: config → plugins → policies → episodes → groups → advantages →
//! update → checkpoint. [`training::Training::step`] is one turn of it.
//!
//! Modules are listed in the order in which they depend on each other.

pub mod metrics;
pub mod rollout;
pub mod family;
pub mod curriculum;
pub mod team;
pub mod rehearsal;
pub mod evaluation;
pub mod truth;
pub mod publication;
pub mod imitation;
pub mod watch;
pub mod checkpoint;
pub mod manifest;
pub mod run;
pub mod training;

use crate::family::FamilyError;
use crate::imitation::{ImitationError, RecordingError};
use crate::publication::PublicationError;
use crate::rehearsal::RehearsalError;
use crate::rollout::{RoleMapError, RolloutError};
use crate::team::TeamError;
use crate::training::TrainingError;
use crate::truth::TruthError;
use crate::watch::Alarm;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[
    ask::<Alarm>,
    ask::<FamilyError>,
    ask::<ImitationError>,
    ask::<PublicationError>,
    ask::<RecordingError>,
    ask::<RehearsalError>,
    ask::<RoleMapError>,
    ask::<RolloutError>,
    ask::<TeamError>,
    ask::<TrainingError>,
    ask::<TruthError>,
];
