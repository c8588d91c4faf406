//! Why no rollout could be made.

use crate::stage::{NoMemory, Stage};
use troupe_core::error::{Coded, ExitCode};
use troupe_model::{PolicyError, RemoteFailure};
use troupe_trainer::ranks::RanksError;

/// Why no rollout could be made. A failing plugin is no reason: its episode is void.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// A policy could not answer.
    #[error("the policy `{policy}` cannot answer: {reason}")]
    Policy {
        /// Its name.
        policy: String,
        /// Why.
        reason: PolicyError,
    },
    /// The engine failed.
    #[error("the policies cannot answer: {0}")]
    Engine(#[from] PolicyError),
    /// The role map names a policy that was not loaded.
    #[error("the policy `{policy}` was not loaded")]
    Missing {
        /// Its name.
        policy: String,
    },
    /// The server that draws the answers of a policy in training gave none.
    #[error(
        "the server that draws the answers of the policy `{policy}` gave none that can be learned \
         from: {failure}; put it right, then resume the run"
    )]
    Unanswered {
        /// The policy.
        policy: String,
        /// Why not.
        failure: RemoteFailure,
    },
    /// Policies that answer together failed.
    #[error("the members of the policy `{policy}` cannot answer: {failure}")]
    Together {
        /// The policy that they are.
        policy: String,
        /// Why not.
        failure: RemoteFailure,
    },
    /// Another process of the run is lost.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// A card has no memory left.
    #[error(transparent)]
    NoMemory(NoMemory),
}

impl RolloutError {
    /// The same; a card that had no memory left had none for this.
    pub fn during(self, stage: Stage) -> Self {
        let said = match &self {
            RolloutError::Policy { reason, .. } | RolloutError::Engine(reason) => {
                reason.no_memory()
            }
            _ => None,
        };
        said.map_or(self, |said| RolloutError::NoMemory(NoMemory { stage, said }))
    }
}

impl Coded for RolloutError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            RolloutError::Ranks(error) => error.code(),
            RolloutError::Unanswered { failure, .. } if failure.kind.is_lost() => {
                Some(ExitCode::Lost)
            }
            RolloutError::Policy { reason, .. } | RolloutError::Engine(reason) => {
                reason.code_in_a_run()
            }
            _ => Some(ExitCode::Run),
        }
    }
}
