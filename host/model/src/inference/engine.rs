//! Many prompts of many policies to many answers.
//!
//! Policies over one base answer in one running batch, each row with its own
//! adapter. Equal prompts are read once, and so is what prompts have in
//! common with earlier ones. On a CPU the prompts are dealt to several
//! batches, which are spread over threads; how they are dealt depends on the
//! prompts alone, so results do not depend on the number of threads.
//!
//! An answer depends on its policy, prompt and seed. The rest of the
//! batch changes only the order in which products are summed, by which a
//! log-probability may differ in its last digits.

mod awake;
mod base_group;
#[cfg(test)]
mod confined_tests;
#[cfg(test)]
mod stretch_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use base_group::BaseGroup;
pub use base_group::most_at_once;

use super::batch::Advanced;
use super::sequence::SoFar;
use crate::attempt::attempt;
use crate::error::PolicyError;
use crate::language_model::Policy;
use crate::sampling::Sampling;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;

/// Default share of the free memory for keys and values.
const FREE_SHARE: usize = 4;
/// The same where the system does not say what is free.
const CACHE_BYTES: usize = 2 << 30;
/// One prompt to answer.
#[derive(Clone, Debug)]
pub struct Request {
    /// Token ids of the prompt, as [`Policy::encode_prompt`] makes them.
    pub prompt: Arc<[u32]>,
    /// One seed per answer wanted: K = `seeds.len()`.
    pub seeds: Vec<Seed>,
}

/// What is asked of the policy with this index.
pub type Question = (usize, Request);

/// Generates answers for a set of policies whose weights do not change while
/// it lives.
#[derive(Debug)]
pub struct Engine<'p> {
    policies: Vec<&'p Policy>,
    sampling: Sampling,
    base_groups: Vec<BaseGroup<'p>>,
    /// BaseGroup and member of every policy.
    seats: Vec<(usize, usize)>,
    /// Answers that are not complete, by ticket.
    open: BTreeMap<usize, Vec<Option<Completion>>>,
    tickets: usize,
}

impl<'p> Engine<'p> {
    /// An engine for `policies`, which are named by their index. Keys and
    /// values take at most `cache_bytes` of memory; 0 is a part of what is free.
    ///
    /// # Errors
    /// If a sampling setting is out of range.
    pub fn new(
        policies: &[&'p Policy],
        sampling: Sampling,
        cache_bytes: usize,
    ) -> Result<Self, PolicyError> {
        sampling.check()?;
        let mut groups: Vec<Vec<&'p Policy>> = Vec::new();
        let mut seats = Vec::new();
        for policy in policies {
            let known = groups.iter().position(|group| group[0].shares_base(policy));
            let group = known.unwrap_or_else(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            seats.push((group, groups[group].len()));
            groups[group].push(policy);
        }
        let cache_bytes = match (cache_bytes, policies.first()) {
            // Not by the last byte: who shares a batch depends on it.
            (0, Some(policy)) => {
                let free = policy.device().free_memory().map(|free| free as usize / FREE_SHARE);
                free.and_then(usize::checked_ilog2).map_or(CACHE_BYTES, |power| 1 << power)
            }
            (bytes, _) => bytes,
        };
        let share = cache_bytes / groups.len().max(1);
        let base_groups = groups.into_iter().map(|group| BaseGroup::new(group, share)).collect();
        let (open, tickets) = (BTreeMap::new(), 0);
        Ok(Engine { policies: policies.to_vec(), sampling, base_groups, seats, open, tickets })
    }

    /// An engine for the same policies that draws in another way. What one of them has read, the
    /// other need not read again.
    ///
    /// # Errors
    /// If a sampling setting is out of range.
    pub fn beside(&self, sampling: Sampling) -> Result<Self, PolicyError> {
        sampling.check()?;
        Ok(Engine {
            policies: self.policies.clone(),
            sampling,
            base_groups: self.base_groups.iter().map(BaseGroup::beside).collect(),
            seats: self.seats.clone(),
            open: BTreeMap::new(),
            tickets: 0,
        })
    }

    /// Answer all questions: one list per question, one answer per seed.
    ///
    /// # Errors
    /// If a prompt is empty, has an unknown id or leaves no room for the
    /// answer, or if libtorch fails.
    pub fn generate(
        &mut self,
        questions: &[Question],
    ) -> Result<Vec<Vec<Completion>>, PolicyError> {
        questions.iter().try_for_each(|question| self.check(question))?;
        let mut answers: Vec<Vec<Option<Completion>>> =
            questions.iter().map(|(_, request)| vec![None; request.seeds.len()]).collect();
        for (index, base_group) in self.base_groups.iter_mut().enumerate() {
            let own = questions.iter().enumerate().filter(|(_, q)| self.seats[q.0].0 == index);
            let own = own.map(|(place, (policy, request))| (place, self.seats[*policy].1, request));
            let answered = attempt(|| {
                let pending = base_group.plan(own)?;
                base_group.answer(pending, &self.sampling)
            });
            for (place, answer) in answered? {
                answers[place.request][place.branch] = Some(answer);
            }
        }
        Ok(answers.into_iter().map(|answers| answers.into_iter().flatten().collect()).collect())
    }

    /// Have a question answered by [`Engine::advance`]; its ticket.
    ///
    /// # Errors
    /// As [`Engine::generate`].
    pub fn submit(&mut self, questions: &[Question]) -> Result<Vec<usize>, PolicyError> {
        questions.iter().try_for_each(|question| self.check(question))?;
        let first = self.tickets;
        self.tickets += questions.len();
        let tickets: Vec<usize> = (first..self.tickets).collect();
        for (ticket, (_, request)) in tickets.iter().zip(questions) {
            self.open.insert(*ticket, vec![None; request.seeds.len()]);
        }
        if let Err(error) = attempt(|| self.enqueue(first, questions)) {
            // Some of it may wait already, and nobody would take the answers.
            tickets.iter().for_each(|ticket| self.cancel(*ticket));
            return Err(error);
        }
        Ok(tickets)
    }

    /// Have questions wait in their batches; `first` is the ticket of the first one.
    fn enqueue(&mut self, first: usize, questions: &[Question]) -> Result<(), PolicyError> {
        for (index, base_group) in self.base_groups.iter_mut().enumerate() {
            let own = questions.iter().enumerate().filter(|(_, q)| self.seats[q.0].0 == index);
            let own =
                own.map(|(at, (policy, request))| (first + at, self.seats[*policy].1, request));
            let pending = base_group.plan(own)?;
            let batch = match base_group.batch.take() {
                Some(batch) => batch,
                None => base_group.new_batch(&self.sampling)?,
            };
            base_group.batch.insert(batch).enqueue(pending);
        }
        Ok(())
    }

    /// Do some work on what was submitted: the answers that are complete now,
    /// by ticket.
    ///
    /// # Errors
    /// If libtorch fails or the weights have diverged.
    pub fn advance(&mut self) -> Result<Vec<(usize, Vec<Completion>)>, PolicyError> {
        let mut touched = Vec::new();
        for base_group in &mut self.base_groups {
            let Some(mut batch) = base_group.batch.take() else { continue };
            let advanced = match batch.is_idle() {
                true => Ok(Advanced::default()),
                false => attempt(|| base_group.alone(|| batch.step())),
            };
            base_group.batch = Some(batch);
            let Advanced { finished, read } = advanced?;
            base_group.keep(read);
            for (place, answer) in finished {
                if let Some(answers) = self.open.get_mut(&place.request) {
                    answers[place.branch] = Some(answer);
                    touched.push(place.request);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let is_complete = |ticket: &usize| self.open[ticket].iter().all(Option::is_some);
        touched.retain(is_complete);
        let complete = touched.into_iter().filter_map(|ticket| {
            let answers = self.open.remove(&ticket)?;
            Some((ticket, answers.into_iter().flatten().collect()))
        });
        Ok(complete.collect())
    }

    /// What the answers to a question which was submitted are so far, one per seed; nothing of
    /// those that are not begun.
    pub fn so_far(&self, ticket: usize) -> Vec<SoFar> {
        let Some(answers) = self.open.get(&ticket) else { return Vec::new() };
        let of = |answer: &Option<Completion>| answer.as_ref().map(SoFar::from).unwrap_or_default();
        let mut so_far: Vec<SoFar> = answers.iter().map(of).collect();
        for batch in self.base_groups.iter().filter_map(|group| group.batch.as_ref()) {
            for (place, grown) in batch.growing(ticket) {
                so_far[place.branch] = grown;
            }
        }
        so_far
    }

    /// Answer a question no further that was submitted.
    pub fn cancel(&mut self, ticket: usize) {
        if self.open.remove(&ticket).is_none() {
            return;
        }
        for batch in self.base_groups.iter_mut().filter_map(|group| group.batch.as_mut()) {
            batch.cancel(ticket);
        }
    }

    /// Whether everything submitted was answered.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a question can be answered.
    ///
    /// # Errors
    /// If its prompt is empty, has an unknown id or leaves no room for the answer, or the policy
    /// cannot keep to a budget of thinking or to what answers may be.
    pub fn check(&self, (policy, request): &Question) -> Result<(), PolicyError> {
        let thinks = || self.policies[*policy].codec().thoughts.is_some();
        if self.sampling.thinking_budget > 0 && !thinks() {
            return Err(PolicyError::Thoughtless);
        }
        self.policies[*policy].automaton(&self.sampling)?;
        check_tokens(self.policies[*policy], &request.prompt, self.sampling.max_completion_tokens)
    }
}

impl Policy {
    /// Draw answers: one list per request, one answer per seed. What is drawn
    /// depends on the prompt and the seed, not on who shares the batch (up to
    /// the order of floating-point sums) and not on the number of threads.
    ///
    /// # Errors
    /// If a prompt is empty, has an unknown id or leaves no room for the
    /// answer, if a sampling setting is out of range, or if libtorch fails.
    pub fn generate(
        &self,
        requests: &[Request],
        sampling: &Sampling,
    ) -> Result<Vec<Vec<Completion>>, PolicyError> {
        let questions: Vec<Question> =
            requests.iter().map(|request| (0, request.clone())).collect();
        Engine::new(&[self], sampling.clone(), 0)?.generate(&questions)
    }
}

/// Refuse tokens that the policy cannot read, or after which there is no room
/// for `answer` more.
pub(super) fn check_tokens(
    policy: &Policy,
    prompt: &[u32],
    answer: usize,
) -> Result<(), PolicyError> {
    let config = policy.config();
    if prompt.is_empty() {
        return Err(PolicyError::Prompt("a prompt has no tokens; say something in it".to_owned()));
    }
    if let Some(token) = prompt.iter().find(|&&token| i64::from(token) >= config.vocab_size) {
        return Err(PolicyError::Prompt(format!(
            "a prompt has token {token}, but the policy knows only {} tokens",
            config.vocab_size
        )));
    }
    let positions = config.max_position_embeddings;
    // An answer's limit is what a client says, and may be any number.
    if prompt.len().saturating_add(answer) > usize::try_from(positions).unwrap_or(0) {
        return Err(PolicyError::PromptTooLong { prompt: prompt.len(), answer, positions });
    }
    Ok(())
}
