//! The loop: config → plugins → policies → episodes → groups → advantages →
//! update → checkpoint. [`training::Training::step`] is one turn of it.
//!
//! It may know the plugins' side and the policies' side, as no other crate does; only commands,
//! servers and what is printed are above it. Modules are listed in the order in which they depend
//! on each other.
//!
//! ```no_run
//! use std::error::Error;
//! use std::path::Path;
//!
//! use troupe_core::config::Config;
//! use troupe_model::Device;
//! use troupe_training::run::RunFolder;
//! use troupe_training::team::Team;
//! use troupe_training::training::{Training, settle};
//!
//! /// Train the team of a configuration from its beginning, as `host train` does.
//! fn train(file: &Path) -> Result<(), Box<dyn Error>> {
//!     let config = Config::load(Some(file), &[])?;
//!     let team = Team::assemble(&config, Device::cpu())?;
//!     let config = settle(&team.resolve(&config), &team)?;
//!     let folder = RunFolder::create(&config, "team")?;
//!     let mut training = Training::begin(config, team, folder)?;
//!     while !training.is_done() {
//!         let record = training.step()?;
//!         println!("step {}: {} episodes, {:?}", record.step, record.episodes, record.endings);
//!     }
//!     let (summary, folder) = training.finish()?;
//!     println!("{}: {} of the test tasks solved", folder.path().display(), summary.after.success);
//!     Ok(())
//! }
//! ```

pub mod metrics;
pub mod stage;
pub mod rollout;
pub mod family;
pub mod curriculum;
pub mod situations;
pub mod team;
pub mod rehearsal;
pub mod evaluation;
pub mod states;
pub mod truth;
pub mod blame;
pub mod examination;
pub mod publication;
pub mod imitation;
pub mod watch;
pub mod checkpoint;
pub mod manifest;
pub mod run;
pub mod verification;
pub mod training;
pub mod knock_out;

use crate::blame::BlameError;
use crate::examination::ExaminationError;
use crate::family::FamilyError;
use crate::imitation::{ImitationError, RecordingError};
use crate::knock_out::KnockOutError;
use crate::publication::PublicationError;
use crate::rehearsal::RehearsalError;
use crate::rollout::{RoleMapError, RolloutError};
use crate::states::StateError;
use crate::team::TeamError;
use crate::training::TrainingError;
use crate::truth::TruthError;
use crate::watch::Alarm;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[
    ask::<Alarm>,
    ask::<BlameError>,
    ask::<ExaminationError>,
    ask::<FamilyError>,
    ask::<ImitationError>,
    ask::<KnockOutError>,
    ask::<PublicationError>,
    ask::<RecordingError>,
    ask::<RehearsalError>,
    ask::<RoleMapError>,
    ask::<RolloutError>,
    ask::<StateError>,
    ask::<TeamError>,
    ask::<TrainingError>,
    ask::<TruthError>,
];
