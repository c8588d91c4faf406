//! Policies over one base, and the batches in which they answer.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::super::batch::{Advanced, Batch, BatchLimits};
use super::super::cohort::{Pending, read_prompts};
use super::super::prefix_cache::{Prefix, PrefixCache, ReadPrompt, SHORTEST, common};
use super::super::sequence::Place;
use super::Request;
use super::awake::with_another_awake;
use tch::Tensor;

use crate::error::PolicyError;
use crate::language_model::Policy;
use crate::model::Decoder;
use crate::prompt::TokenCodec;
use crate::sampling::Sampling;
use troupe_core::parallel;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;

/// Answers of a batch that grow at once: more no longer speed up a CPU.
const CPU_ROWS: usize = 256;
const GPU_ROWS: usize = 1024;
/// Prompt tokens that are read together, padding included.
const CPU_PROMPT_TOKENS: usize = 1024;
const GPU_PROMPT_TOKENS: usize = 16_384;
/// Tokens that a GPU draws before the host looks at them: it waits an eighth as often, and an answer
/// draws 3.5 tokens in vain on average after it has stopped.
const GPU_STRETCH: usize = 8;
/// Products per token below which a second batch costs more than it saves.
const SMALL_WORK: usize = 10_000_000;
/// Part of the cache that may hold prompts for those that begin alike.
const PREFIX_SHARE: usize = 4;

/// Answers of a batch that grow at once at most, and prompt tokens that it reads together.
pub fn most_at_once(gpu: bool) -> (usize, usize) {
    if gpu { (GPU_ROWS, GPU_PROMPT_TOKENS) } else { (CPU_ROWS, CPU_PROMPT_TOKENS) }
}

/// Policies over one base.
#[derive(Debug)]
pub(super) struct BaseGroup<'p> {
    policies: Vec<&'p Policy>,
    codecs: Vec<TokenCodec>,
    pub(super) limits: BatchLimits,
    pub(super) known: Rc<Known>,
    /// Where submitted requests are answered.
    pub(super) batch: Option<Batch>,
}

/// What depends on the weights only, and not on how answers are drawn.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) prefixes: RefCell<PrefixCache>,
    /// The base, ready for decoding.
    base: OnceCell<Decoder>,
}

impl<'p> BaseGroup<'p> {
    pub(super) fn new(policies: Vec<&'p Policy>, cache_bytes: usize) -> Self {
        let (rows, prompt_tokens) = most_at_once(policies[0].device().is_gpu());
        let tokens = cache_bytes / policies[0].cache_bytes_per_token().max(1);
        let limits = BatchLimits {
            rows,
            prompt_tokens,
            cache_tokens: tokens - tokens / PREFIX_SHARE,
            keep_prompts: true,
            stretch: policies[0].decoder().can_be_recorded().then_some(GPU_STRETCH),
        };
        BaseGroup {
            codecs: policies.iter().map(|policy| policy.codec()).collect(),
            policies,
            limits,
            known: Rc::new(Known {
                prefixes: RefCell::new(PrefixCache::new(tokens / PREFIX_SHARE)),
                base: OnceCell::new(),
            }),
            batch: None,
        }
    }

    /// The same policies for other batches, with what is known of them.
    pub(super) fn beside(&self) -> Self {
        BaseGroup {
            policies: self.policies.clone(),
            codecs: self.codecs.clone(),
            limits: self.limits,
            known: self.known.clone(),
            batch: None,
        }
    }

    /// The longest beginning of a member's prompt that was read.
    pub(super) fn find(&self, member: usize, prompt: &Arc<[u32]>) -> Option<Prefix> {
        self.known.prefixes.borrow().find(member, prompt)
    }

    pub(super) fn new_batch(&self, sampling: &Sampling) -> Result<Batch, PolicyError> {
        let automata = self.policies.iter().map(|policy| policy.automaton(sampling));
        let automata: Vec<_> = automata.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let shared_base = Policy::shared_base(&self.policies);
        let decoder = self.known.base.get_or_init(|| self.ready_for_decoding()).share();
        let shared_base = shared_base.over(decoder);
        let spoken = (self.codecs.clone(), automata);
        Ok(Batch::new(shared_base, spoken, sampling.clone(), self.limits))
    }

    fn ready_for_decoding(&self) -> Decoder {
        let decoder = self.policies[0].decoder();
        if decoder.has_packs() || !decoder.waits_for_weights() {
            decoder.share()
        } else {
            decoder.packed()
        }
    }

    /// The prompts to read, long ones first, equal ones once.
    pub(super) fn plan<'q>(
        &mut self,
        questions: impl Iterator<Item = (usize, usize, &'q Request)>,
    ) -> Result<Vec<Pending>, PolicyError> {
        let mut known: HashMap<(usize, Arc<[u32]>), usize> = HashMap::new();
        let mut pending: Vec<Pending> = Vec::new();
        for (request, member, Request { prompt, seeds }) in questions {
            let index = *known.entry((member, prompt.clone())).or_insert_with(|| {
                pending.push(Pending {
                    member,
                    prompt: prompt.clone(),
                    prefix: None,
                    answers: Vec::new(),
                });
                pending.len() - 1
            });
            let place = |(branch, &seed): (usize, &Seed)| (Place { request, branch }, seed);
            pending[index].answers.extend(seeds.iter().enumerate().map(place));
        }
        pending.retain(|pending| !pending.answers.is_empty());
        self.read_what_is_common(&pending)?;
        for one in &mut pending {
            one.prefix = self.find(one.member, &one.prompt);
        }
        pending.sort_by_key(|pending| std::cmp::Reverse(pending.rest()));
        Ok(pending)
    }

    /// Read the beginning that a member's prompts have in common, unless it
    /// was read before.
    fn read_what_is_common(&mut self, pending: &[Pending]) -> Result<(), PolicyError> {
        for member in 0..self.policies.len() {
            let own: Vec<&Arc<[u32]>> =
                pending.iter().filter(|p| p.member == member).map(|p| &p.prompt).collect();
            let (Some(first), Some(last)) = (own.iter().min(), own.iter().max()) else { continue };
            let length = common(first, last);
            let known = self.find(member, first).map_or(0, |prefix| prefix.tokens);
            if own.len() < 2 || length < SHORTEST || known + 1 >= length {
                continue;
            }
            let _guard = tch::no_grad_guard();
            let prompt: Arc<[u32]> = first[..length].into();
            let prefix = self.find(member, &prompt);
            let after = prefix.as_ref().map(|prefix| (prefix.tokens, prefix.of.clone()));
            let beginning = Pending { member, prompt: prompt.clone(), prefix, answers: Vec::new() };
            let shared_base = Policy::shared_base(&self.policies);
            let (read, _) = read_prompts(&shared_base, &[beginning]);
            let start = after.as_ref().map_or(0, |(known, _)| *known as i64);
            let own = |tensor: &Tensor| {
                let whole = tensor.get(0);
                whole.narrow(1, start, whole.size()[1] - start).copy()
            };
            let layers = read.layers.iter().map(|layer| layer.map(own)).collect();
            self.keep(vec![ReadPrompt { member, prompt, after, layers }]);
        }
        Ok(())
    }

    pub(super) fn keep(&self, read: Vec<ReadPrompt>) {
        let mut prefixes = self.known.prefixes.borrow_mut();
        read.into_iter().for_each(|read| prefixes.insert(read));
    }

    /// Answer all, in as many batches as are worth it.
    pub(super) fn answer(
        &mut self,
        pending: Vec<Pending>,
        sampling: &Sampling,
    ) -> Result<Vec<(Place, Completion)>, PolicyError> {
        let mut batches: Vec<Batch> = (0..self.batch_count(&pending))
            .map(|_| self.new_batch(sampling))
            .collect::<Result<_, _>>()?;
        let count = batches.len();
        for (index, pending) in pending.into_iter().enumerate() {
            batches[index % count].enqueue([pending]);
        }
        let mut answers = Vec::new();
        let progress = match batches.len() {
            1 => batches.into_iter().map(|batch| self.alone(|| run(batch))).collect(),
            _ => parallel::try_in_order(self.policies[0].threads(), batches, run),
        };
        for progress in progress? {
            answers.extend(progress.finished);
            self.keep(progress.read);
        }
        Ok(answers)
    }

    /// Work on the only batch: where products can be split over threads, on one of these.
    pub(super) fn alone<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        if self.policies[0].decoder().has_packs() {
            rayon::scope(|_| with_another_awake(work))
        } else {
            work()
        }
    }

    /// An even number, so that the common numbers of cores are kept busy.
    fn batch_count(&self, pending: &[Pending]) -> usize {
        let rows: usize = pending.iter().map(|pending| pending.answers.len()).sum();
        let small = rows * self.policies[0].parameter_count() < SMALL_WORK;
        if self.policies[0].device().is_gpu() || small || pending.len() < 2 {
            return 1;
        }
        rows.div_ceil(self.limits.rows).max(2).next_multiple_of(2).min(pending.len())
    }
}

/// Run a batch to its end.
fn run(mut batch: Batch) -> Result<Advanced, PolicyError> {
    let mut all = Advanced::default();
    while !batch.is_idle() {
        let Advanced { finished, read } = batch.step()?;
        all.finished.extend(finished);
        all.read.extend(read);
    }
    Ok(all)
}
