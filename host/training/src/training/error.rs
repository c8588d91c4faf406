//! Why training stopped.

use super::meddling::NotThere;
use crate::publication::PublicationError;
use crate::rollout::RolloutError;
use crate::stage::{NoMemory, Stage};
use crate::team::TeamError;
use crate::watch::Alarm;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::StorageError;
use troupe_model::PolicyError;
use troupe_tinker::TinkerFailure;
use troupe_trainer::TrainerError;
use troupe_trainer::ranks::RanksError;

/// Why training stopped. What was saved before stays.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// A rollout could not be made.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// An update could not be made.
    #[error(transparent)]
    Trainer(#[from] TrainerError),
    /// A policy could not be copied, saved or loaded.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The run folder could not be written or read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Another process of the run is lost, or has come to something else.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// A policy cannot be given to the server that draws its answers, or that is not what answers.
    #[error(transparent)]
    Publication(#[from] PublicationError),
    /// A card has no memory left.
    #[error(transparent)]
    NoMemory(NoMemory),
    /// A server that draws answers is not there.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The server that has a policy failed.
    #[error("the policy `{policy}` at {url}: {failure}; put it right, then resume the run")]
    Distant {
        /// The policy.
        policy: String,
        /// The server.
        url: String,
        /// What it did.
        failure: TinkerFailure,
    },
    /// What is to be otherwise is not there.
    #[error(transparent)]
    NotThere(#[from] NotThere),
    /// What the step did to the policies is not what training is for.
    #[error(transparent)]
    Alarm(#[from] Alarm),
    /// Plugins failed too often to go on.
    #[error(
        "{void} of {episodes} {what} of step {step} were void, more than rollout.max_void_share \
         allows; the first: {first}"
    )]
    TooManyVoid {
        /// The step.
        step: usize,
        /// Training episodes or held-out ones.
        what: &'static str,
        /// Void episodes.
        void: usize,
        /// Episodes.
        episodes: usize,
        /// What happened in the first of them.
        first: String,
    },
}

impl TrainingError {
    /// The same; a card that had no memory left had none for this.
    pub(crate) fn during(self, stage: Stage) -> Self {
        let said = match self {
            TrainingError::Rollout(error) => return error.during(stage).into(),
            TrainingError::Trainer(ref error) => error.no_memory(),
            TrainingError::Policy(ref error) => error.no_memory(),
            _ => None,
        };
        said.map_or(self, |said| TrainingError::NoMemory(NoMemory { stage, said }))
    }
}

impl Coded for TrainingError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TrainingError::NotThere(_) => Some(ExitCode::Usage),
            TrainingError::Rollout(error) => error.code(),
            TrainingError::Trainer(error) => error.code(),
            TrainingError::Policy(error) => error.code(),
            TrainingError::Storage(error) => error.code(),
            TrainingError::Ranks(error) => error.code(),
            TrainingError::Publication(error) => error.code(),
            TrainingError::Team(error) => error.code(),
            TrainingError::Distant { failure, .. } => failure.code(),
            TrainingError::Alarm(error) => error.code(),
            TrainingError::NoMemory(_) | TrainingError::TooManyVoid { .. } => Some(ExitCode::Run),
        }
    }
}
