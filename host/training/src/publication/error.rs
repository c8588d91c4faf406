//! Why a policy cannot be published.

use super::canary::Disagreement;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::StorageError;
use troupe_model::{PolicyError, RemoteEngine, RemoteFailure};
use troupe_trainer::TrainerError;
use troupe_trainer::ranks::RanksError;

/// Why a policy cannot be published.
#[derive(Debug, thiserror::Error)]
pub enum PublicationError {
    /// Its server does not do its part.
    #[error(
        "the server at `{url}`, which draws the answers of the policy `{policy}`, cannot be used: \
         {failure}; put it right, then resume the run"
    )]
    Server {
        /// The policy.
        policy: String,
        /// Where the server is.
        url: String,
        /// What it did.
        failure: RemoteFailure,
    },
    /// What answers is not the policy.
    #[error(transparent)]
    Disagreement(#[from] Box<Disagreement>),
    /// It cannot be written.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A folder cannot be removed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The canary cannot be scored here.
    #[error(transparent)]
    Trainer(#[from] TrainerError),
    /// Another process of the run is lost.
    #[error(transparent)]
    Ranks(#[from] RanksError),
}

impl PublicationError {
    pub(super) fn server(policy: &str, engine: &RemoteEngine, failure: RemoteFailure) -> Self {
        let (policy, url) = (policy.to_owned(), engine.url().to_owned());
        PublicationError::Server { policy, url, failure }
    }
}

impl Coded for PublicationError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            PublicationError::Server { failure, .. } if failure.kind.is_lost() => {
                Some(ExitCode::Lost)
            }
            PublicationError::Policy(error) => error.code_in_a_run(),
            PublicationError::Storage(error) => error.code(),
            PublicationError::Trainer(error) => error.code(),
            PublicationError::Ranks(error) => error.code(),
            _ => Some(ExitCode::Run),
        }
    }
}
