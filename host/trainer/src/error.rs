//! What can go wrong.

use crate::ranks::RanksError;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::StorageError;
use troupe_model::{PolicyError, first_line, no_memory};

/// Why a policy cannot be trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// The policy or its device failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Optimizer state cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Optimizer state is not that of this policy.
    #[error("the optimizer state in `{folder}` does not fit: {reason}")]
    State {
        /// Where it was read from.
        folder: String,
        /// What is different.
        reason: String,
    },
    /// A sample cannot be learned from.
    #[error("sample {index} cannot be learned from: {reason}")]
    Sample {
        /// Its place among the rows given.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Greedy answers carry no probability to raise or lower.
    #[error("answers drawn at `temperature = 0` cannot be trained on; sample above 0")]
    Greedy,
    /// Another process of the run is lost.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// Weights that are elsewhere did not do what they were asked.
    #[error(transparent)]
    Distant(#[from] DistantError),
    /// libtorch reported an error.
    #[error("libtorch: {}", first_line(.0))]
    Torch(tch::TchError),
}

impl From<tch::TchError> for TrainerError {
    // Not as a source: all of it but the first line is a back trace.
    fn from(error: tch::TchError) -> Self {
        TrainerError::Torch(error)
    }
}

impl TrainerError {
    /// What libtorch said if a card had no memory left.
    pub fn no_memory(&self) -> Option<String> {
        match self {
            TrainerError::Policy(error) => error.no_memory(),
            TrainerError::Torch(error) => no_memory(error),
            _ => None,
        }
    }
}

impl Coded for TrainerError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TrainerError::Policy(error) => error.code_in_a_run(),
            TrainerError::Storage(error) => error.code(),
            TrainerError::State { .. } => Some(ExitCode::Storage),
            TrainerError::Ranks(error) => error.code(),
            TrainerError::Distant(error) => error.code(),
            _ => Some(ExitCode::Run),
        }
    }
}

/// Weights elsewhere did not do what they were asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DistantError(pub Box<dyn Coded + Send + Sync>);

impl DistantError {
    /// With the code that its cause has.
    pub fn code(&self) -> Option<ExitCode> {
        self.0.code()
    }
}
