//! What everything else of Troupe stands on: seeds, errors and exit codes, files
//! that are whole or not there, the configuration, and what happened in a run as
//! plain data.
//!
//! Knows nothing of plugins, models or servers, and starts no process. Reading
//! and writing Parquet is behind the feature `table`.
//!
//! Modules are listed in the order in which they depend on each other; each uses
//! only those above it.
//!
//! ```
//! use troupe_core::seed::Seed;
//!
//! // Everything random is derived from a name and a number, so a resumed run draws the same.
//! let step = Seed::new(1).named("training").at(7);
//! assert_ne!(step.named("rollout").value(), step.named("update").value());
//! assert_eq!(step.value(), Seed::new(1).named("training").at(7).value());
//! ```

pub mod error;
pub mod seed;
pub mod statistics;
pub mod parallel;
pub mod caught;
pub mod storage;
pub mod provenance;
pub mod outcome;
pub mod totals;
pub mod installation;
pub mod oci;
pub mod rank;
pub mod program;
pub mod config;
pub mod lock;
pub mod trajectory;
pub mod example;
pub mod blame;
#[cfg(feature = "table")]
pub mod table;
pub mod archive;
pub mod forecast;

use crate::config::ConfigError;
use crate::error::{Asked, ask};
use crate::oci::OciError;
use crate::program::{GradingError, SandboxError};
use crate::rank::RankError;
use crate::storage::StorageError;

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[
    ask::<ConfigError>,
    ask::<GradingError>,
    ask::<OciError>,
    ask::<RankError>,
    ask::<SandboxError>,
    ask::<StorageError>,
];
