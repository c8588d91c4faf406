//! The running batch: prompts enter as others' answers stop.
//!
//! A step either reads waiting prompts or draws one token for every answer
//! that grows, or a stretch of tokens. The linear maps see all rows at once;
//! attention is paid cohort by cohort, as each has its own lengths. What a
//! batch does depends only on what was put into it and when, never on time or
//! threads.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cohort::{Cohort, Extent, Pending};
use super::joint_pass::logits;
use super::prefix_cache::{ReadPrompt, WORTH_KEEPING};
use super::sequence::{Place, SoFar};
use super::stretch::Stretch;
use crate::error::PolicyError;
use crate::model::SharedBase;
use crate::prompt::{Automaton, TokenCodec};
use crate::sampling::Sampling;
use troupe_core::trajectory::Completion;

/// What a batch may take at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLimits {
    /// Answers that grow.
    pub(super) rows: usize,
    /// Prompt tokens that are read together, padding included.
    pub(super) prompt_tokens: usize,
    /// Tokens in the cache, of prompts with their padding and of answers at their longest.
    pub(super) cache_tokens: usize,
    /// Whether long prompts are handed out for prompts that begin alike.
    pub(super) keep_prompts: bool,
    /// Tokens of every answer that are drawn before the host looks at them, by recorded steps;
    /// none if it looks at every token.
    pub(super) stretch: Option<usize>,
}

/// What a step brought.
#[derive(Debug, Default)]
pub(super) struct Advanced {
    pub(super) finished: Vec<(Place, Completion)>,
    pub(super) read: Vec<ReadPrompt>,
}

/// The running batch of an shared_base.
#[derive(Debug)]
pub(super) struct Batch {
    shared_base: SharedBase,
    codecs: Vec<TokenCodec>,
    /// What the answers of each policy may be; none if they may be anything.
    automata: Vec<Arc<Automaton>>,
    sampling: Sampling,
    limits: BatchLimits,
    waiting: VecDeque<Pending>,
    cohorts: Vec<Running>,
    /// Cohorts that were read so far.
    numbers: usize,
    /// The step that was recorded last.
    stretch: Option<Stretch>,
}

/// A cohort and the cache tokens that are set aside for it.
#[derive(Debug)]
struct Running {
    /// No two of a batch have the same.
    number: usize,
    cohort: Cohort,
    cache_tokens: usize,
}

/// How large prompts are that are read together, and their answers.
#[derive(Clone, Copy, Debug, Default)]
struct Together {
    prompts: usize,
    /// Tokens of the longest beginning that was read before; the others are padded to it.
    before: usize,
    /// Tokens that are read of the prompt with most of these; the others are padded to it.
    rest: usize,
    answers: usize,
}

impl Together {
    /// With one more.
    fn and(self, pending: &Pending) -> Self {
        Together {
            prompts: self.prompts + 1,
            before: self.before.max(pending.start()),
            rest: self.rest.max(pending.rest()),
            answers: self.answers + pending.answers.len(),
        }
    }

    /// Tokens of prompts that are read, padding included.
    fn prompt_tokens(&self) -> usize {
        self.prompts * self.rest
    }

    /// Tokens in the cache, where answers have so many at most.
    fn cache_tokens(&self, longest: usize) -> usize {
        self.prompts * (self.before + self.rest) + self.answers * longest
    }
}

impl Batch {
    pub(super) fn new(
        shared_base: SharedBase,
        (codecs, automata): (Vec<TokenCodec>, Vec<Arc<Automaton>>),
        sampling: Sampling,
        limits: BatchLimits,
    ) -> Self {
        Batch {
            shared_base,
            codecs,
            automata,
            sampling,
            limits,
            waiting: VecDeque::new(),
            cohorts: Vec::new(),
            numbers: 0,
            stretch: None,
        }
    }

    /// Have prompts wait to be read, in this order. Prompts of about the same
    /// length should follow each other.
    pub(super) fn enqueue(&mut self, pending: impl IntoIterator<Item = Pending>) {
        self.waiting.extend(pending);
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.cohorts.is_empty()
    }

    /// A request's answers that grow.
    pub(super) fn growing(&self, request: usize) -> impl Iterator<Item = (Place, SoFar)> {
        self.cohorts.iter().flat_map(move |running| running.cohort.growing(request))
    }

    /// Where the tensors of cohorts lie that recorded steps read or write, and their extents.
    #[cfg(test)]
    pub(super) fn addresses(&self) -> impl Iterator<Item = (Extent, Vec<usize>)> {
        let of =
            |Running { number, cohort, .. }: &Running| (cohort.extent(*number), cohort.addresses());
        self.cohorts.iter().map(of)
    }

    /// Tokens that the caches of its cohorts take, with answers at their longest.
    #[cfg(test)]
    pub(super) fn cache_tokens(&self) -> usize {
        self.cohorts.iter().map(|running| running.cohort.cache_tokens()).sum()
    }

    /// Draw no more for a request.
    pub(super) fn cancel(&mut self, request: usize) {
        for pending in &mut self.waiting {
            pending.answers.retain(|(place, _)| place.request != request);
        }
        self.waiting.retain(|pending| !pending.answers.is_empty());
        self.cohorts.iter_mut().for_each(|running| running.cohort.cancel(request));
        self.cohorts.retain(|running| !running.cohort.is_done());
    }

    /// Read some prompts, or draw a token for every answer.
    pub(super) fn step(&mut self) -> Result<Advanced, PolicyError> {
        let _guard = tch::no_grad_guard();
        let next = self.next_cohort();
        let progress = if next.is_empty() { self.decode()? } else { self.read(next)? };
        self.cohorts.retain(|running| !running.cohort.is_done());
        self.cohorts.iter_mut().for_each(|running| running.cohort.shrink());
        Ok(progress)
    }

    /// Take prompts to be read now: as many as the limits allow; none while
    /// too few would enter to be worth a pass of their own.
    fn next_cohort(&mut self) -> Vec<Pending> {
        let growing: usize = self.cohorts.iter().map(|running| running.cohort.rows()).sum();
        let cached: usize = self.cohorts.iter().map(|running| running.cache_tokens).sum();
        let longest = self.sampling.max_completion_tokens;
        let mut next = Together::default();
        for pending in &self.waiting {
            let more = next.and(pending);
            let fits = growing + more.answers <= self.limits.rows
                && cached + more.cache_tokens(longest) <= self.limits.cache_tokens
                && more.prompt_tokens() <= self.limits.prompt_tokens;
            let alone = growing == 0 && next.prompts == 0;
            if !fits && !alone {
                break;
            }
            next = more;
        }
        let worth_it = growing == 0
            || next.prompts == self.waiting.len()
            || next.answers * 4 >= growing.min(self.limits.rows / 2);
        self.waiting.drain(..if worth_it { next.prompts } else { 0 }).collect()
    }

    fn read(&mut self, pending: Vec<Pending>) -> Result<Advanced, PolicyError> {
        let together = pending.iter().fold(Together::default(), Together::and);
        let cache_tokens = together.cache_tokens(self.sampling.max_completion_tokens);
        let spoken = (&self.codecs[..], &self.automata[..]);
        let (mut cohort, logits) = Cohort::read(&self.shared_base, pending, &self.sampling, spoken);
        let mut progress = Advanced::default();
        if self.limits.keep_prompts {
            progress.read.extend(cohort.prompts_read(WORTH_KEEPING));
        }
        progress.finished = cohort.draw(&logits, &self.sampling, &self.codecs)?;
        self.cohorts.push(Running { number: self.numbers, cohort, cache_tokens });
        self.numbers += 1;
        Ok(progress)
    }

    /// Draw a token for every answer, or several.
    fn decode(&mut self) -> Result<Advanced, PolicyError> {
        match self.limits.stretch {
            _ if self.cohorts.is_empty() => Ok(Advanced::default()),
            // Where a thought comes to its budget, and what may come next, depends on every token.
            Some(steps) if !self.sampling.heeds_every_token() => self.decode_stretch(steps),
            _ => self.decode_step(),
        }
    }

    fn decode_step(&mut self) -> Result<Advanced, PolicyError> {
        let parts = self.cohorts.iter_mut().map(|running| running.cohort.advance()).collect();
        let logits = logits(&self.shared_base, parts);
        let mut progress = Advanced::default();
        for (running, logits) in self.cohorts.iter_mut().zip(&logits) {
            let drawn = running.cohort.draw(logits, &self.sampling, &self.codecs)?;
            progress.finished.extend(drawn);
        }
        Ok(progress)
    }

    /// Draw tokens by recorded steps: at most so many, and no more than any answer may have.
    fn decode_stretch(&mut self, longest: usize) -> Result<Advanced, PolicyError> {
        let left = self.cohorts.iter().map(|running| running.cohort.left()).min();
        let steps = left.map_or(longest, |left| left.min(longest));
        let reserve = |running: &mut Running| running.cohort.reserve(running.number, steps);
        let extents: Vec<Extent> = self.cohorts.iter_mut().map(reserve).collect();
        let device = self.shared_base.decoder().device().torch();
        let known = self.stretch.take().filter(|known| known.suits(&extents));
        let stretch = known.unwrap_or_else(|| Stretch::new(extents, longest, device));
        let stretch = self.stretch.insert(stretch);
        let mut cohorts: Vec<&mut Cohort> =
            self.cohorts.iter_mut().map(|running| &mut running.cohort).collect();
        let drawn = stretch.draw(steps, &self.shared_base, &mut cohorts, &self.sampling)?;
        let mut progress = Advanced::default();
        for step in drawn {
            let mut drawn = step.into_iter();
            for cohort in &mut cohorts {
                let own = drawn.by_ref().take(cohort.rows());
                progress.finished.extend(cohort.take(own, &self.sampling, &self.codecs)?);
            }
        }
        Ok(progress)
    }
}
