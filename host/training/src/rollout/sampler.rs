//! Those who answer: the policies behind the roles, ready to be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use super::attempt::{Attempt, Wanted};
use super::error::RolloutError;
use super::remote::Remote;
use super::role_map::{Policies, RoleMap};
use super::setting::Setting;
use super::weighing::{Answered, Drawn};
use troupe_core::trajectory::{Completion, StopReason};
use troupe_guests::plugin::PluginFailure;
use troupe_guests::scenario::Due;
use troupe_model::{
    ChatRequest, Completions, Engine, Policy, PolicyError, Question, RemoteFailure,
    RemoteFailureKind, Request as Prompt, Sampling, SamplingByRole,
};

/// The policies behind the roles, ready to be asked.
pub(super) struct Sampler<'p> {
    setting: Setting<'p>,
    names: Vec<&'p str>,
    policies: Vec<&'p Policy>,
    /// One for each way of drawing answers, in their order.
    pub(super) engines: Vec<Engine<'p>>,
    sampling: SamplingByRole,
}

/// A request that is due, and the policy that is asked it.
pub(super) struct Asked {
    /// Which attempt it belongs to.
    pub(super) attempt: usize,
    policy: String,
    due: Due,
}

/// A request as a policy is asked it.
pub(super) enum Ask {
    /// By the engine of this index.
    Engine(usize, Question),
    /// By a remote.
    Remote(RemoteQuestion),
    /// By nobody: what the expert says is known.
    Known(Completions),
}

/// What a remote is asked.
pub(super) struct RemoteQuestion {
    remote: Arc<dyn Remote>,
    request: ChatRequest,
    sampling: Sampling,
}

impl Asked {
    fn of(attempt: usize, wanted: Wanted) -> Self {
        let Wanted { due, policy, .. } = wanted;
        Asked { attempt, policy, due }
    }

    /// With its answers.
    pub(super) fn answered(
        self,
        answered: Result<Completions, RemoteFailure>,
        role_map: &RoleMap,
    ) -> Result<Answered, RolloutError> {
        let remote = role_map.remotes().get(&self.policy);
        match answered {
            Ok(Completions { prompt, completions }) => {
                Ok(Ok(Drawn { due: self.due, policy: self.policy, prompt, completions }))
            }
            Err(failure) if failure.kind == RemoteFailureKind::Broken => {
                Err(RolloutError::Together { policy: self.policy, failure })
            }
            Err(failure)
                if failure.kind != RemoteFailureKind::TooLong
                    && remote.is_some_and(|remote| remote.is_vital()) =>
            {
                Err(RolloutError::Unanswered { policy: self.policy, failure })
            }
            Err(failure) => Ok(Err(failure)),
        }
    }
}

impl RemoteQuestion {
    /// Wait for the answers.
    pub(super) fn ask(self) -> Option<Result<Completions, RemoteFailure>> {
        self.remote.complete(&[self.request], &self.sampling).pop()
    }
}

/// Requests that one remote is asked, and their places among all that are due.
struct RemoteBatch {
    remote: Arc<dyn Remote>,
    sampling: Sampling,
    places: Vec<usize>,
    requests: Vec<ChatRequest>,
}

impl<'p> Sampler<'p> {
    /// The policies of the role map under the rollout's sampling settings.
    pub(super) fn new(setting: &Setting<'p>, policies: &'p Policies) -> Result<Self, RolloutError> {
        let Setting { role_map, config, .. } = *setting;
        let (mut names, mut local) = (Vec::new(), Vec::new());
        for name in role_map.policies().into_keys() {
            if role_map.remotes().contains_key(&name) {
                continue;
            }
            let entry = policies.get_key_value(&name);
            let (name, policy) = entry.ok_or(RolloutError::Missing { policy: name })?;
            names.push(name.as_str());
            local.push(policy);
        }
        let sampling = role_map.sampling(config);
        let cache_bytes = config.cache_bytes() / sampling.ways().len();
        let first = Engine::new(&local, sampling.ways()[0].clone(), cache_bytes)?;
        let engines = engines(&first, &sampling)?;
        Ok(Sampler { setting: *setting, names, policies: local, engines, sampling })
    }

    /// The same policies under other settings. What was read under these need not be read again.
    pub(super) fn beside(&self, setting: &Setting<'p>) -> Result<Self, RolloutError> {
        let sampling = setting.role_map.sampling(setting.config);
        let engines = engines(&self.engines[0], &sampling)?;
        let (names, policies) = (self.names.clone(), self.policies.clone());
        Ok(Sampler { setting: *setting, names, policies, engines, sampling })
    }

    /// Whether one of the policies is on a GPU.
    pub(super) fn has_gpu(&self) -> bool {
        self.policies.iter().any(|policy| policy.device().is_gpu())
    }

    /// What is due in an attempt; nothing once it has ended, as it may by a prompt that no longer
    /// fits its policy.
    pub(super) fn due(
        &self,
        index: usize,
        attempt: &mut Attempt,
    ) -> Result<Vec<(Asked, Ask)>, RolloutError> {
        'wanted: loop {
            let mut due = Vec::new();
            for (place, wanted) in attempt.wanted(&self.setting).into_iter().enumerate() {
                let role = wanted.due.role();
                if wanted.due.has_images() {
                    let message = format!(
                        "the role `{role}` is shown a picture, and its policy `{}` reads text only",
                        wanted.policy
                    );
                    attempt.make_void("cannot_see", message);
                    return Ok(Vec::new());
                }
                match self.known(&wanted, attempt) {
                    Ok(None) => {}
                    Ok(Some(known)) => {
                        due.push((Asked::of(index, wanted), Ask::Known(known)));
                        continue;
                    }
                    Err(failure) => {
                        attempt.fail(&failure);
                        return Ok(Vec::new());
                    }
                }
                match self.ask(&wanted) {
                    Ok(ask) => due.push((Asked::of(index, wanted), ask)),
                    Err(RolloutError::Policy {
                        reason: reason @ PolicyError::PromptTooLong { .. },
                        ..
                    }) => {
                        let message = format!("the role `{role}`: {reason}");
                        attempt.outgrow(place, message, &self.setting);
                        continue 'wanted;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok(due);
        }
    }

    /// What the expert answers, if it plays the role and has something to say.
    fn known(
        &self,
        wanted: &Wanted,
        attempt: &Attempt,
    ) -> Result<Option<Completions>, PluginFailure> {
        if !self.setting.role_map.is_experts(wanted.due.role()) {
            return Ok(None);
        }
        let said = |text: String| {
            let (tokens, logprobs, forced) = (Vec::new(), Vec::new(), Vec::new());
            let stop = StopReason::EndOfText;
            let answer = Completion { tokens, logprobs, text, stop, forced, usage: None };
            Completions { prompt: [].into(), completions: vec![answer; wanted.seeds.len()] }
        };
        Ok(attempt.demonstrate(&wanted.due)?.map(said))
    }

    fn ask(&self, wanted: &Wanted) -> Result<Ask, RolloutError> {
        let Wanted { due, policy: name, seeds } = wanted;
        let seeds = seeds.clone();
        if let Some(remote) = self.setting.role_map.remotes().get(name) {
            let (messages, tools) = (due.messages.to_vec(), due.tools.to_vec());
            let thinking = self.setting.role_map.thinking(due.role());
            return Ok(Ask::Remote(RemoteQuestion {
                remote: remote.clone(),
                request: ChatRequest { messages, tools, thinking, seeds },
                sampling: self.sampling.of(due.role()).clone(),
            }));
        }
        let failed = |reason| RolloutError::Policy { policy: name.clone(), reason };
        let index = self.names.binary_search(&name.as_str());
        let index = index.map_err(|_| RolloutError::Missing { policy: name.clone() })?;
        let thinking = self.setting.role_map.thinking(due.role());
        let prompt = self.policies[index].encode_prompt(&due.messages, &due.tools, thinking);
        let prompt = prompt.map_err(failed)?;
        let question = (index, Prompt { prompt, seeds });
        let way = self.sampling.way_of(due.role());
        self.engines[way].check(&question).map_err(failed)?;
        Ok(Ask::Engine(way, question))
    }

    /// Answers to everything due, by attempt, in the order of its requests.
    /// Remotes are asked while the engines work.
    pub(super) fn answer(
        &mut self,
        due: Vec<(Asked, Ask)>,
    ) -> Result<BTreeMap<usize, Vec<Answered>>, RolloutError> {
        let mut batches: Vec<RemoteBatch> = Vec::new();
        let mut questions: Vec<Questions> = vec![Questions::default(); self.engines.len()];
        let mut waiting = Vec::with_capacity(due.len());
        let mut known = Vec::new();
        for (place, (asked, ask)) in due.into_iter().enumerate() {
            waiting.push(asked);
            match ask {
                Ask::Engine(way, question) => questions[way].push((place, question)),
                Ask::Remote(question) => join_batch(&mut batches, place, question),
                Ask::Known(answers) => known.push((place, Ok(answers))),
            }
        }
        let (completions, answered) = thread::scope(|scope| {
            let ask = |batch| scope.spawn(move || ask_batch(batch));
            let asked: Vec<_> = batches.into_iter().map(ask).collect();
            let completions = self.generate(questions);
            let join = |thread: thread::ScopedJoinHandle<'_, Vec<_>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            (completions, asked.into_iter().flat_map(join).collect::<Vec<_>>())
        });
        let mut all: BTreeMap<usize, _> =
            completions?.into_iter().chain(answered).chain(known).collect();
        let mut answers: BTreeMap<usize, Vec<Answered>> = BTreeMap::new();
        for (place, asked) in waiting.into_iter().enumerate() {
            if let Some(answered) = all.remove(&place) {
                let (attempt, role_map) = (asked.attempt, self.setting.role_map);
                answers.entry(attempt).or_default().push(asked.answered(answered, role_map)?);
            }
        }
        Ok(answers)
    }

    /// The engines' answers, by place.
    fn generate(&mut self, questions: Vec<Questions>) -> Result<Heard, PolicyError> {
        let mut answered = Vec::new();
        for (engine, questions) in self.engines.iter_mut().zip(questions) {
            let (places, questions): (Vec<usize>, Vec<Question>) = questions.into_iter().unzip();
            let completions = engine.generate(&questions)?;
            let completed =
                questions.into_iter().zip(completions).map(|((_, prompt), completions)| {
                    Ok(Completions { prompt: prompt.prompt, completions })
                });
            answered.extend(places.into_iter().zip(completed));
        }
        Ok(answered)
    }
}

/// One for each way; what one of them and the `first` have read, none need read again.
fn engines<'p>(
    first: &Engine<'p>,
    sampling: &SamplingByRole,
) -> Result<Vec<Engine<'p>>, PolicyError> {
    sampling.ways().iter().map(|way| first.beside(way.clone())).collect()
}

/// What an engine is asked, with its place among all that is due.
type Questions = Vec<(usize, Question)>;
/// What was answered, by place.
type Heard = Vec<(usize, Result<Completions, RemoteFailure>)>;

fn join_batch(batches: &mut Vec<RemoteBatch>, place: usize, question: RemoteQuestion) {
    let RemoteQuestion { remote, request, sampling } = question;
    let known = batches
        .iter()
        .position(|batch| Arc::ptr_eq(&batch.remote, &remote) && batch.sampling == sampling);
    let batch = known.unwrap_or_else(|| {
        batches.push(RemoteBatch { remote, sampling, places: Vec::new(), requests: Vec::new() });
        batches.len() - 1
    });
    batches[batch].places.push(place);
    batches[batch].requests.push(request);
}

/// A remote's answers, by place.
fn ask_batch(batch: RemoteBatch) -> Heard {
    let answered = batch.remote.complete(&batch.requests, &batch.sampling);
    batch.places.into_iter().zip(answered).collect()
}
