//! Why an experiment cannot be made.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use troupe_core::error::{Coded, ExitCode};
use troupe_core::installation::MissingPart;
use troupe_core::storage::StorageError;

/// Why an experiment cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file cannot be read.
    #[error("cannot read the experiment `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The text is no experiment.
    #[error("`{}` is no experiment: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// A value that cannot be.
    #[error("`{key}` cannot be used: {reason}")]
    Invalid {
        /// The key with its table.
        key: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A row's configuration was refused.
    #[error("the row `{row}` cannot be run: {reason}")]
    Refused {
        /// The row.
        row: String,
        /// What `host train --print-config` said.
        reason: String,
    },
    /// The process that resolves rows ended without its answers.
    #[error("the rows' configurations cannot be resolved ({status}): {reason}")]
    Unresolved {
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        reason: String,
    },
    /// Rows that are to be compared were not examined alike.
    #[error("`{better}` cannot be compared with `{than}`: {reason}")]
    Incomparable {
        /// One row.
        better: String,
        /// The other.
        than: String,
        /// What is different, and what to do.
        reason: String,
    },
    /// Seeds of a row were not examined on the same tasks.
    #[error(
        "`{what}` was not examined on the same tasks with the seeds {} and {}: one of them has no \
         task {task}; remove their files in `exams/`, or their runs, and call again",
        seeds.0, seeds.1
    )]
    Uneven {
        /// The row, or the rows that are compared.
        what: String,
        /// The seeds.
        seeds: (u64, u64),
        /// A task that one of them has.
        task: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A program of the installation is not there.
    #[error(transparent)]
    Missing(#[from] MissingPart),
    /// The system does not start a program.
    #[error("cannot start `{}`: {reason}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
}

impl Coded for ExperimentError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ExperimentError::Storage(error) => error.code(),
            ExperimentError::Missing(_) | ExperimentError::Start { .. } => None,
            ExperimentError::Unresolved { status, .. } => {
                (status.code() == Some(ExitCode::Usage as i32)).then_some(ExitCode::Usage)
            }
            ExperimentError::Uneven { .. } => Some(ExitCode::Storage),
            _ => Some(ExitCode::Usage),
        }
    }
}

/// Refuse a value by its key.
pub(super) fn invalid(key: impl Into<String>, reason: impl Into<String>) -> ExperimentError {
    ExperimentError::Invalid { key: key.into(), reason: reason.into() }
}
