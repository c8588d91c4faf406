//! Those who answer: the policies behind the roles, ready to be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use super::attempt::{Asked, Attempt};
use super::collect::RolloutError;
use super::request;
use super::role_map::{Policies, Remote, RoleMap};
use super::weighing::Drawn;
use crate::config::RolloutConfig;
use crate::policy::{
    Engine, Policy, PolicyError, Question, RemoteAnswers, RemoteFailure, RemoteRequest,
    Request as Prompt, Sampling,
};

/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// The policies behind the roles, ready to be asked.
pub(super) struct Sampler<'p> {
    role_map: &'p RoleMap,
    names: Vec<&'p str>,
    policies: Vec<&'p Policy>,
    pub(super) engine: Engine<'p>,
    pub(super) sampling: Sampling,
}

/// A request that is due.
pub(super) struct Due {
    /// Which attempt it belongs to.
    pub(super) attempt: usize,
    request: request::Due,
}

/// A request as a policy is asked it.
pub(super) enum Ask {
    /// By the engine.
    Engine(Question),
    /// By a remote.
    Remote(Arc<dyn Remote>, RemoteRequest),
}

/// What came of it.
pub(super) type Answered = Result<Drawn, RemoteFailure>;

impl Due {
    /// With its answers.
    pub(super) fn answered(self, heard: Result<RemoteAnswers, RemoteFailure>) -> Answered {
        let RemoteAnswers { prompt, completions } = heard?;
        Ok(Drawn { due: self.request, prompt, completions })
    }
}

/// Requests that one remote is asked, and their places among all that are due.
struct RemoteBatch {
    remote: Arc<dyn Remote>,
    places: Vec<usize>,
    requests: Vec<RemoteRequest>,
}

impl<'p> Sampler<'p> {
    /// The role_map's policies under the rollout's sampling settings.
    pub(super) fn new(
        role_map: &'p RoleMap,
        policies: &'p Policies,
        config: &RolloutConfig,
    ) -> Result<Self, RolloutError> {
        let mut names = Vec::new();
        let mut sampler = Vec::new();
        for name in role_map.policies().into_keys() {
            if role_map.remotes().contains_key(&name) {
                continue;
            }
            let found = policies.get_key_value(&name);
            let (name, policy) = found.ok_or(RolloutError::Missing { policy: name })?;
            names.push(name.as_str());
            sampler.push(policy);
        }
        let cache_bytes = (config.cache_gib * GIB) as usize;
        let sampling = Sampling::from(config);
        let engine = Engine::new(&sampler, sampling.clone(), cache_bytes)?;
        Ok(Sampler { role_map, names, policies: sampler, engine, sampling })
    }

    /// What is due in an attempt. One whose prompt is too long for its policy
    /// ends void.
    pub(super) fn due(
        &self,
        index: usize,
        attempt: &mut Attempt,
    ) -> Result<Vec<(Due, Ask)>, RolloutError> {
        let mut due = Vec::new();
        for asked in attempt.asked(|role| self.role_map.learns(role)) {
            let role = asked.due.role();
            if asked.due.has_images() {
                let policy = self.role_map.policy_of(role);
                let message = format!(
                    "the role `{role}` is shown a picture, and its policy `{policy}` reads text only"
                );
                attempt.make_void("cannot_see", message);
                return Ok(Vec::new());
            }
            match self.ask(&asked) {
                Ok(ask) => due.push((Due { attempt: index, request: asked.due }, ask)),
                Err(RolloutError::Policy {
                    reason: reason @ PolicyError::PromptTooLong { .. },
                    ..
                }) => {
                    let message = format!("the role `{role}`: {reason}");
                    attempt.make_void("prompt_too_long", message);
                    return Ok(Vec::new());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(due)
    }

    fn ask(&self, asked: &Asked) -> Result<Ask, RolloutError> {
        let Asked { due, seeds } = asked;
        let (name, seeds) = (self.role_map.policy_of(due.role()), seeds.clone());
        if let Some(remote) = self.role_map.remotes().get(name) {
            let (messages, tools) = (due.messages.to_vec(), due.tools.to_vec());
            return Ok(Ask::Remote(remote.clone(), RemoteRequest { messages, tools, seeds }));
        }
        let failed = |reason| RolloutError::Policy { policy: name.to_owned(), reason };
        let player = self.names.binary_search(&name);
        let player = player.map_err(|_| RolloutError::Missing { policy: name.to_owned() })?;
        let prompt =
            self.policies[player].encode_prompt(&due.messages, &due.tools).map_err(failed)?;
        let question = (player, Prompt { prompt, seeds });
        self.engine.check(&question).map_err(failed)?;
        Ok(Ask::Engine(question))
    }

    /// Answers to everything due, by attempt, in the order of its requests.
    /// Remotes are asked while the engine works.
    pub(super) fn answer(
        &mut self,
        due: Vec<(Due, Ask)>,
    ) -> Result<BTreeMap<usize, Vec<Answered>>, RolloutError> {
        let (mut places, mut questions) = (Vec::new(), Vec::new());
        let mut batches: Vec<RemoteBatch> = Vec::new();
        let mut waiting = Vec::with_capacity(due.len());
        for (place, (due, ask)) in due.into_iter().enumerate() {
            waiting.push(due);
            match ask {
                Ask::Engine(question) => {
                    places.push(place);
                    questions.push(question);
                }
                Ask::Remote(remote, request) => join_batch(&mut batches, remote, place, request),
            }
        }
        let (completions, heard) = thread::scope(|scope| {
            let sampling = &self.sampling;
            let ask = |batch| scope.spawn(move || ask_batch(batch, sampling));
            let asked: Vec<_> = batches.into_iter().map(ask).collect();
            let completions = self.engine.generate(&questions);
            let join = |thread: thread::ScopedJoinHandle<'_, Vec<_>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            (completions, asked.into_iter().flat_map(join).collect::<Vec<_>>())
        });
        let told = questions.into_iter().zip(completions?).map(|((_, prompt), completions)| {
            Ok(RemoteAnswers { prompt: prompt.prompt, completions })
        });
        let mut all: BTreeMap<usize, _> = places.into_iter().zip(told).chain(heard).collect();
        let mut answers: BTreeMap<usize, Vec<Answered>> = BTreeMap::new();
        for (place, due) in waiting.into_iter().enumerate() {
            if let Some(heard) = all.remove(&place) {
                answers.entry(due.attempt).or_default().push(due.answered(heard));
            }
        }
        Ok(answers)
    }
}

fn join_batch(
    batches: &mut Vec<RemoteBatch>,
    remote: Arc<dyn Remote>,
    place: usize,
    request: RemoteRequest,
) {
    let known = batches.iter().position(|batch| Arc::ptr_eq(&batch.remote, &remote));
    let batch = known.unwrap_or_else(|| {
        batches.push(RemoteBatch { remote, places: Vec::new(), requests: Vec::new() });
        batches.len() - 1
    });
    batches[batch].places.push(place);
    batches[batch].requests.push(request);
}

/// A remote's answers, by place.
fn ask_batch(
    batch: RemoteBatch,
    sampling: &Sampling,
) -> Vec<(usize, Result<RemoteAnswers, RemoteFailure>)> {
    let heard = batch.remote.complete(&batch.requests, sampling);
    batch.places.into_iter().zip(heard).collect()
}
