//! What answers from elsewhere: servers, and policies that answer together.

use std::fmt;

use crate::metrics::Totals;
use troupe_model::{ChatRequest, Completions, RemoteEngine, RemoteFailure, RemotePolicy, Sampling};
use troupe_tinker::TinkerPolicy;

/// What answers for a policy without local weights: given messages,
/// it returns texts. May be asked from several threads.
pub trait Remote: fmt::Debug + Send + Sync {
    /// Its name and address, for the record of a run.
    fn identity(&self) -> String;

    /// One list of answers per request, one answer per seed, in their order.
    fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>>;

    /// Whether it answers for a policy that learns from its answers: then one that cannot be had
    /// ends the rollout. Were its episode only void, a policy would learn from those of its
    /// answers that are easily had.
    fn is_vital(&self) -> bool {
        false
    }

    /// What was drawn and read here, so far, beside the answers that were given.
    fn unseen(&self) -> Totals {
        Totals::default()
    }
}

impl Remote for RemotePolicy {
    fn identity(&self) -> String {
        format!("{} at {}", self.model(), self.url())
    }

    fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        RemotePolicy::complete(self, requests, sampling)
    }
}

impl Remote for RemoteEngine {
    fn identity(&self) -> String {
        format!("{} at {}", self.base(), self.url())
    }

    fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        RemoteEngine::complete(self, requests, sampling)
    }

    fn is_vital(&self) -> bool {
        true
    }
}

impl Remote for TinkerPolicy {
    fn identity(&self) -> String {
        TinkerPolicy::identity(self)
    }

    fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        TinkerPolicy::complete(self, requests, sampling)
    }

    fn is_vital(&self) -> bool {
        true
    }
}
