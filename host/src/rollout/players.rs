//! Those who answer: the policies behind the roles, ready to be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use super::attempt::{Asked, Attempt};
use super::cast::{Cast, Guest, Policies};
use super::collect::RolloutError;
use super::request;
use super::weighing::Drawn;
use crate::config::RolloutConfig;
use crate::policy::{
    Engine, Policy, PolicyError, Question, RemoteAnswers, RemoteFailure, RemoteRequest,
    Request as Prompt, Sampling,
};

/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// The policies behind the roles, ready to be asked.
pub(super) struct Players<'p> {
    cast: &'p Cast,
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
    /// By a guest.
    Guest(Arc<dyn Guest>, RemoteRequest),
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

/// Requests that one guest is asked, and their places among all that are due.
struct Party {
    guest: Arc<dyn Guest>,
    places: Vec<usize>,
    requests: Vec<RemoteRequest>,
}

impl<'p> Players<'p> {
    /// The cast's policies under the rollout's sampling settings.
    pub(super) fn new(
        cast: &'p Cast,
        policies: &'p Policies,
        config: &RolloutConfig,
    ) -> Result<Self, RolloutError> {
        let mut names = Vec::new();
        let mut players = Vec::new();
        for name in cast.policies().into_keys() {
            if cast.guests().contains_key(&name) {
                continue;
            }
            let found = policies.get_key_value(&name);
            let (name, policy) = found.ok_or(RolloutError::Missing { policy: name })?;
            names.push(name.as_str());
            players.push(policy);
        }
        let cache_bytes = (config.cache_gib * GIB) as usize;
        let sampling = Sampling::from(config);
        let engine = Engine::new(&players, sampling.clone(), cache_bytes)?;
        Ok(Players { cast, names, policies: players, engine, sampling })
    }

    /// What is due in an attempt. One whose prompt is too long for its policy
    /// ends void.
    pub(super) fn due(
        &self,
        index: usize,
        attempt: &mut Attempt,
    ) -> Result<Vec<(Due, Ask)>, RolloutError> {
        let mut due = Vec::new();
        for asked in attempt.asked(|role| self.cast.learns(role)) {
            let role = asked.due.role();
            if asked.due.has_images() {
                let policy = self.cast.policy_of(role);
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
        let (name, seeds) = (self.cast.policy_of(due.role()), seeds.clone());
        if let Some(guest) = self.cast.guests().get(name) {
            let (messages, tools) = (due.messages.to_vec(), due.tools.to_vec());
            return Ok(Ask::Guest(guest.clone(), RemoteRequest { messages, tools, seeds }));
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
    /// Guests are asked while the engine works.
    pub(super) fn answer(
        &mut self,
        due: Vec<(Due, Ask)>,
    ) -> Result<BTreeMap<usize, Vec<Answered>>, RolloutError> {
        let (mut places, mut questions) = (Vec::new(), Vec::new());
        let mut parties: Vec<Party> = Vec::new();
        let mut waiting = Vec::with_capacity(due.len());
        for (place, (due, ask)) in due.into_iter().enumerate() {
            waiting.push(due);
            match ask {
                Ask::Engine(question) => {
                    places.push(place);
                    questions.push(question);
                }
                Ask::Guest(guest, request) => join_party(&mut parties, guest, place, request),
            }
        }
        let (completions, heard) = thread::scope(|scope| {
            let sampling = &self.sampling;
            let ask = |party| scope.spawn(move || ask_party(party, sampling));
            let asked: Vec<_> = parties.into_iter().map(ask).collect();
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

fn join_party(
    parties: &mut Vec<Party>,
    guest: Arc<dyn Guest>,
    place: usize,
    request: RemoteRequest,
) {
    let known = parties.iter().position(|party| Arc::ptr_eq(&party.guest, &guest));
    let party = known.unwrap_or_else(|| {
        parties.push(Party { guest, places: Vec::new(), requests: Vec::new() });
        parties.len() - 1
    });
    parties[party].places.push(place);
    parties[party].requests.push(request);
}

/// A guest's answers, by place.
fn ask_party(
    party: Party,
    sampling: &Sampling,
) -> Vec<(usize, Result<RemoteAnswers, RemoteFailure>)> {
    let heard = party.guest.complete(&party.requests, sampling);
    party.places.into_iter().zip(heard).collect()
}
