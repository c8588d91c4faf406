//! Those who answer: the policies behind the roles, ready to be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attempt::{Answers, Attempt};
use super::cast::{Cast, Policies};
use super::collect::RolloutError;
use crate::config::RolloutConfig;
use crate::plugin::Request;
use crate::policy::{Engine, Policy, PolicyError, Question, Request as Prompt, Sampling};
use crate::trajectory::Completion;

/// Bytes of a GiB.

const GIB: f64 = (1_u64 << 30) as f64;

/// The policies behind the roles, ready to be asked.
pub(super) struct Players<'p> {
    cast: &'p Cast,
    names: Vec<&'p str>,
    policies: Vec<&'p Policy>,
    pub(super) engine: Engine<'p>,
}

/// A request that is due, as a policy is asked it.
pub(super) struct Due {
    /// Which attempt it belongs to.
    pub(super) attempt: usize,
    request: Arc<Request>,
    question: Question,
}

impl Due {
    /// With its answers.
    pub(super) fn answered(self, completions: Vec<Completion>) -> Answers {
        Answers { request: self.request, prompt: self.question.1.prompt, completions }
    }

    pub(super) fn question(&self) -> &Question {
        &self.question
    }
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
            let found = policies.get_key_value(&name);
            let (name, policy) = found.ok_or(RolloutError::Missing { policy: name })?;
            names.push(name.as_str());
            players.push(policy);
        }
        let cache_bytes = (config.cache_gib * GIB) as usize;
        let engine = Engine::new(&players, Sampling::from(config), cache_bytes)?;
        Ok(Players { cast, names, policies: players, engine })
    }

    /// What is due in the attempts, in their order. An attempt whose prompt is
    /// too long for its policy ends void.
    pub(super) fn due(&self, attempts: &mut [Attempt]) -> Result<Vec<Due>, RolloutError> {
        let mut due = Vec::new();
        for (index, attempt) in attempts.iter_mut().enumerate() {
            due.extend(self.due_in(index, attempt)?);
        }
        Ok(due)
    }

    /// The same in one attempt.
    pub(super) fn due_in(
        &self,
        index: usize,
        attempt: &mut Attempt,
    ) -> Result<Vec<Due>, RolloutError> {
        let Some(scene) = attempt.scene() else { return Ok(Vec::new()) };
        let mut due = Vec::new();
        for request in scene.due.clone() {
            let name = self.cast.policy_of(&request.role);
            let failed = |reason| RolloutError::Policy { policy: name.to_owned(), reason };
            let player = self.names.binary_search(&name);
            let player = player.map_err(|_| RolloutError::Missing { policy: name.to_owned() })?;
            let prompt = self.policies[player].encode_prompt(&request.messages).map_err(failed)?;
            let question = (player, Prompt { prompt, seeds: attempt.seeds(&request.role) });
            match self.engine.check(&question) {
                Ok(()) => due.push(Due { attempt: index, request, question }),
                Err(reason @ PolicyError::PromptTooLong { .. }) => {
                    let message = format!("the role `{}`: {reason}", request.role);
                    attempt.make_void("prompt_too_long", message);
                    return Ok(Vec::new());
                }
                Err(reason) => return Err(failed(reason)),
            }
        }
        Ok(due)
    }

    /// Answers to everything due, by attempt.
    pub(super) fn answer(
        &mut self,
        due: Vec<Due>,
    ) -> Result<BTreeMap<usize, Vec<Answers>>, RolloutError> {
        let questions: Vec<Question> = due.iter().map(|due| due.question.clone()).collect();
        let completions = self.engine.generate(&questions)?;
        let mut answers: BTreeMap<usize, Vec<Answers>> = BTreeMap::new();
        for (due, completions) in due.into_iter().zip(completions) {
            answers.entry(due.attempt).or_default().push(due.answered(completions));
        }
        Ok(answers)
    }
}
