//! Why there is no team.

use std::path::PathBuf;

use crate::family::FamilyError;
use crate::rollout::RoleMapError;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::StorageError;
use troupe_model::PolicyError;
use troupe_tinker::TinkerFailure;

/// Why there is no team.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// The families of tasks cannot be set up.
    #[error(transparent)]
    Family(#[from] FamilyError),
    /// The roles cannot be filled.
    #[error(transparent)]
    RoleMap(#[from] RoleMapError),
    /// A policy cannot be loaded or made.
    #[error("the policy `{name}` cannot be used: {reason}")]
    Policy {
        /// Its name.
        name: String,
        /// Why.
        reason: PolicyError,
    },
    /// A policy cannot be made, or brought back, on the server that is to train it.
    #[error("the policy `{name}` cannot be had at {url}: {failure}")]
    Distant {
        /// Its name.
        name: String,
        /// The server.
        url: String,
        /// Why.
        failure: TinkerFailure,
    },
    /// A server is told by one process what to do.
    #[error(
        "the policy `{policy}` is trained over Tinker's protocol, which a run of several \
         processes cannot do; run one"
    )]
    DistantRanks {
        /// The policy.
        policy: String,
    },
    /// What a checkpoint says of a policy cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A policy has no words for what it will be told.
    #[error(
        "the tokenizer of the policy `{name}` does not fit the environment `{environment}`: it \
         does not know {unknown} of {words} words, such as {examples}; make a policy for it with \
         `host policy new`, or use one with an open vocabulary"
    )]
    Tokenizer {
        /// The policy.
        name: String,
        /// The environment.
        environment: String,
        /// How many words are unknown.
        unknown: usize,
        /// How many words were tried.
        words: usize,
        /// A few of them.
        examples: String,
    },
    /// A critic cannot read what others say.
    #[error(
        "the critic `{critic}` and the policy `{policy}` have different tokens, so it cannot read \
         what that one says; begin both from one model, or make the critic an adapter over its base"
    )]
    OtherTokens {
        /// The critic.
        critic: String,
        /// A policy that plays.
        policy: String,
    },
    /// Members do not mean the same by their tokens.
    #[error(
        "`{member}` and `{other}`, members of the policy `{policy}`, have different tokens; members \
         are states of one model, or of models with one vocabulary"
    )]
    UnlikeMembers {
        /// The policy that they are.
        policy: String,
        /// The first of them.
        member: String,
        /// One that is not like it.
        other: String,
    },
    /// A table of situations says nothing of what is played here.
    #[error(
        "the policy `{policy}` cannot choose by `{}`: {reason}; make it anew with `host eval \
         CONFIG --situations FILE`, or play what it was made of",
        path.display()
    )]
    OtherSituations {
        /// The policy.
        policy: String,
        /// The table.
        path: PathBuf,
        /// What is not the same.
        reason: String,
    },
    /// A critic is told nothing.
    #[error(
        "the critic `{critic}` reads what only critics may see, and the environment \
         `{environment}` reveals nothing; set policies.{critic}.{learns}.hint = false, or have the \
         environment implement `reveal`"
    )]
    NoHint {
        /// The critic.
        critic: String,
        /// The environment.
        environment: String,
        /// The table that says so.
        learns: &'static str,
    },
    /// A policy that answers here cannot be asked while it or another learns here.
    #[error(
        "`rollout.staleness` cannot be 1: the policy `{policy}` answers here, and answers are \
         drawn ahead on servers only; give it a `sampler`, or leave the setting out"
    )]
    Stale {
        /// The policy.
        policy: String,
    },
    /// Processes play together.
    #[error(
        "`rollout.staleness` cannot be 1 in a run of several processes; leave the setting out, or \
         run one"
    )]
    StaleRanks,
}

impl Coded for TeamError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TeamError::Family(error) => error.code(),
            TeamError::RoleMap(error) => error.code(),
            TeamError::Policy { reason, .. } => reason.code(),
            TeamError::Distant { failure, .. } => failure.code(),
            TeamError::Storage(error) => error.code(),
            TeamError::DistantRanks { .. } => Some(ExitCode::Usage),
            TeamError::Tokenizer { .. }
            | TeamError::OtherTokens { .. }
            | TeamError::UnlikeMembers { .. } => Some(ExitCode::Policy),
            TeamError::OtherSituations { .. } => Some(ExitCode::Usage),
            TeamError::NoHint { .. } => Some(ExitCode::Usage),
            TeamError::Stale { .. } | TeamError::StaleRanks => Some(ExitCode::Usage),
        }
    }
}
