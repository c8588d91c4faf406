//! Why a scenario cannot be set up.

use crate::foreign::ForeignError;
use crate::plugin::{PluginError, PluginFailure};
use crate::records::RecordError;
use troupe_core::error::{Coded, ExitCode};

/// Why there is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A plugin does not fit.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// A plugin failed while it was being set up.
    #[error(transparent)]
    Failure(#[from] PluginFailure),
    /// The server of a foreign environment cannot be played with.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The records cannot be used.
    #[error(transparent)]
    Records(#[from] RecordError),
    /// The environment builds its tasks from records, and none are named.
    #[error(
        "the environment `{environment}` builds its tasks from records; name files of them with \
         `tasks.files`, or with `tasks.train`, `tasks.validation` and `tasks.test`"
    )]
    NoRecords {
        /// Its name.
        environment: String,
    },
    /// Records that no environment reads.
    #[error("the environment `{environment}` reads no records; leave out the table [tasks]")]
    UselessRecords {
        /// Its name.
        environment: String,
    },
}

impl Coded for ScenarioError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ScenarioError::Plugin(error) => error.code(),
            ScenarioError::Failure(error) => error.code(),
            ScenarioError::Foreign(error) => error.code(),
            _ => Some(ExitCode::Usage),
        }
    }
}
