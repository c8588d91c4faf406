//! The running batch: prompts enter as others' answers stop.
//!
//! A step either reads waiting prompts or draws one token for every answer
//! that grows. The linear maps see all rows at once; attention is paid cohort
//! by cohort, as each has its own lengths. What a batch does depends only on
//! what was put into it and when, never on time or threads.

use std::collections::VecDeque;
use std::sync::Arc;

use tch::Tensor;

use super::cohort::{Cohort, Pending};
use super::kv_cache::Layer;
use super::prefix_cache::SHORTEST;
use super::sequence::Place;
use crate::policy::error::PolicyError;
use crate::policy::model::{Attention, Input, LayerSight, SharedBase};
use crate::policy::prompt::TokenCodec;
use crate::policy::sampling::Sampling;
use crate::trajectory::Completion;

/// What a batch may take at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLimits {
    /// Answers that grow.
    pub(super) rows: usize,
    /// Prompt tokens that are read together, padding included.
    pub(super) prompt_tokens: usize,
    /// Tokens in the cache, of prompts and of answers at their longest.
    pub(super) cache_tokens: usize,
    /// Whether long prompts are handed out for prompts that begin alike.
    pub(super) keep_prompts: bool,
}

/// A prompt that was read: member, tokens, keys and values by layer.
pub(super) type ReadPrompt = (usize, Arc<[u32]>, Vec<Layer>);

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
    sampling: Sampling,
    limits: BatchLimits,
    waiting: VecDeque<Pending>,
    cohorts: Vec<Running>,
}

/// A cohort and the cache tokens that are set aside for it.
#[derive(Debug)]
struct Running {
    cohort: Cohort,
    cache_tokens: usize,
}

impl Batch {
    pub(super) fn new(
        shared_base: SharedBase,
        codecs: Vec<TokenCodec>,
        sampling: Sampling,
        limits: BatchLimits,
    ) -> Self {
        let (waiting, cohorts) = (VecDeque::new(), Vec::new());
        Batch { shared_base, codecs, sampling, limits, waiting, cohorts }
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

    /// The tokens of a request's answers that grow.
    pub(super) fn growing(&self, request: usize) -> impl Iterator<Item = (Place, &[u32])> {
        self.cohorts.iter().flat_map(move |running| running.cohort.growing(request))
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
        let (mut rows, mut tokens, mut longest, mut count) = (growing, cached, 0, 0);
        for pending in &self.waiting {
            longest = pending.rest().max(longest);
            rows += pending.answers.len();
            tokens += self.cache_tokens(pending);
            let fits = rows <= self.limits.rows
                && tokens <= self.limits.cache_tokens
                && (count + 1) * longest <= self.limits.prompt_tokens;
            let alone = growing == 0 && count == 0;
            if !fits && !alone {
                break;
            }
            count += 1;
        }
        let entering: usize =
            self.waiting.iter().take(count).map(|pending| pending.answers.len()).sum();
        let worth_it = growing == 0
            || count == self.waiting.len()
            || entering * 4 >= growing.min(self.limits.rows / 2);
        self.waiting.drain(..if worth_it { count } else { 0 }).collect()
    }

    fn cache_tokens(&self, pending: &Pending) -> usize {
        pending.prompt.len() + pending.answers.len() * self.sampling.max_completion_tokens
    }

    fn read(&mut self, pending: Vec<Pending>) -> Result<Advanced, PolicyError> {
        let cache_tokens = pending.iter().map(|pending| self.cache_tokens(pending)).sum();
        let (mut cohort, logits) =
            Cohort::read(&self.shared_base, pending, &self.sampling, &self.codecs);
        let mut progress = Advanced::default();
        if self.limits.keep_prompts {
            progress.read.extend(cohort.prompts_read(SHORTEST));
        }
        progress.finished = cohort.draw(&logits, &self.sampling, &self.codecs)?;
        self.cohorts.push(Running { cohort, cache_tokens });
        Ok(progress)
    }

    fn decode(&mut self) -> Result<Advanced, PolicyError> {
        if self.cohorts.is_empty() {
            return Ok(Advanced::default());
        }
        let inputs: Vec<(Tensor, Tensor)> =
            self.cohorts.iter_mut().map(|running| running.cohort.advance()).collect();
        let (tokens, positions): (Vec<Tensor>, Vec<Tensor>) = inputs.into_iter().unzip();
        let segments: Vec<_> =
            self.cohorts.iter().flat_map(|running| running.cohort.segments()).collect();
        let adapter_rows = self.shared_base.adapter_rows(&segments);
        let input = Input {
            tokens: &joined(&tokens),
            positions: &joined(&positions),
            keep: None,
            adapter_rows: &adapter_rows,
        };
        let rows: Vec<i64> =
            self.cohorts.iter().map(|running| running.cohort.rows() as i64).collect();
        let states = self.shared_base.forward(&input, &mut EachItsOwn(&mut self.cohorts));
        let logits = self.shared_base.logits(&states); // [rows, vocabulary]
        let logits = logits.split_with_sizes(&rows, 0);
        let mut progress = Advanced::default();
        for (running, logits) in self.cohorts.iter_mut().zip(&logits) {
            let drawn = running.cohort.draw(logits, &self.sampling, &self.codecs)?;
            progress.finished.extend(drawn);
        }
        Ok(progress)
    }
}

/// Tensors one after the other.
fn joined(parts: &[Tensor]) -> Tensor {
    match parts {
        [one] => one.shallow_clone(),
        several => Tensor::cat(several, 0),
    }
}

/// Attention of every cohort to its own cache.
struct EachItsOwn<'a>(&'a mut [Running]);

impl Attention for EachItsOwn<'_> {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        if let [one] = &mut *self.0 {
            return one.cohort.cache().attend(at, queries, keys, values);
        }
        let mut from = 0;
        let attended: Vec<Tensor> = (self.0.iter_mut())
            .map(|running| {
                let rows = running.cohort.rows() as i64;
                let own = |tensor: &Tensor| tensor.narrow(0, from, rows);
                let (queries, keys, values) = (own(&queries), own(&keys), own(&values));
                from += rows;
                running.cohort.cache().attend(at, queries, keys, values)
            })
            .collect();
        joined(&attended)
    }
}
