//! Many prompts of many policies to many answers.
//!
//! Policies over one base answer in one running batch, each row with its own
//! adapter. Equal prompts are read once, and so is what prompts have in
//! common with earlier ones. On a CPU the prompts are dealt to several
//! batches, which are spread over threads; how they are dealt depends on the
//! prompts alone, so results do not depend on the number of threads.
//!
//! What an answer is depends on its policy, prompt and seed. Who shares its
//! batch changes only the order in which products are summed, by which a
//! log-probability may differ in its last digits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::batch::{Batch, BatchLimits, Progress, ReadPrompt};
use super::cohort::{Pending, read_prompts};
use super::draft::{Language, Place};
use super::prefix_cache::{PrefixCache, SHORTEST, common};
use super::{Ensemble, Policy, PolicyError, Request, Sampling};
use crate::seed::Seed;
use crate::trajectory::Completion;

/// Answers of a batch that grow at once: more no longer speed up a CPU.
const CPU_ROWS: usize = 256;
const GPU_ROWS: usize = 1024;
/// Prompt tokens that are read together, padding included.
const CPU_PROMPT_TOKENS: usize = 1024;
const GPU_PROMPT_TOKENS: usize = 16_384;
/// Products per token below which a second batch costs more than it saves.
const SMALL_WORK: usize = 10_000_000;
/// Part of the free memory that keys and values may take where nobody says.
const FREE_SHARE: usize = 4;
/// The same where the system does not say what is free.
const CACHE_BYTES: usize = 2 << 30;
/// Part of the cache that may hold prompts for those that begin alike.
const PREFIX_SHARE: usize = 4;

/// What is asked of the policy with this index.
pub type Question = (usize, Request);

/// Generates answers for a set of policies whose weights do not change while
/// it lives.
#[derive(Debug)]
pub struct Engine<'p> {
    policies: Vec<&'p Policy>,
    sampling: Sampling,
    sections: Vec<Section<'p>>,
    /// Section and member of every policy.
    seats: Vec<(usize, usize)>,
    /// Answers that are not complete, by ticket.
    open: BTreeMap<usize, Vec<Option<Completion>>>,
    tickets: usize,
}

/// Policies over one base.
#[derive(Debug)]
struct Section<'p> {
    policies: Vec<&'p Policy>,
    languages: Vec<Language>,
    limits: BatchLimits,
    prefixes: PrefixCache,
    /// Where submitted requests are answered.
    batch: Option<Batch>,
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
            (0, Some(policy)) => {
                policy.device().free_memory().map_or(CACHE_BYTES, |free| free as usize / FREE_SHARE)
            }
            (bytes, _) => bytes,
        };
        let share = cache_bytes / groups.len().max(1);
        let sections = groups.into_iter().map(|group| Section::new(group, share)).collect();
        let (open, tickets) = (BTreeMap::new(), 0);
        Ok(Engine { policies: policies.to_vec(), sampling, sections, seats, open, tickets })
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
        for (index, section) in self.sections.iter_mut().enumerate() {
            let own = questions.iter().enumerate().filter(|(_, q)| self.seats[q.0].0 == index);
            let own = own.map(|(place, (policy, request))| (place, self.seats[*policy].1, request));
            let pending = section.plan(own)?;
            for (place, answer) in section.answer(pending, &self.sampling)? {
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
        for (index, section) in self.sections.iter_mut().enumerate() {
            let own = questions.iter().enumerate().filter(|(_, q)| self.seats[q.0].0 == index);
            let own =
                own.map(|(at, (policy, request))| (first + at, self.seats[*policy].1, request));
            let pending = section.plan(own)?;
            let batch = match section.batch.take() {
                Some(batch) => batch,
                None => section.new_batch(&self.sampling),
            };
            section.batch.insert(batch).enqueue(pending);
        }
        Ok(tickets)
    }

    /// Do some work on what was submitted: the answers that are complete now,
    /// by ticket.
    ///
    /// # Errors
    /// If libtorch fails or the weights have diverged.
    pub fn advance(&mut self) -> Result<Vec<(usize, Vec<Completion>)>, PolicyError> {
        let mut touched = Vec::new();
        for section in &mut self.sections {
            let Some(batch) = section.batch.as_mut().filter(|batch| !batch.is_idle()) else {
                continue;
            };
            let Progress { finished, read } = batch.step()?;
            section.keep(read);
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

    /// Whether everything submitted was answered.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a question can be answered.
    ///
    /// # Errors
    /// If its prompt is empty, has an unknown id or leaves no room for the answer.
    pub fn check(&self, (policy, request): &Question) -> Result<(), PolicyError> {
        check_tokens(self.policies[*policy], &request.prompt, self.sampling.max_completion_tokens)
    }
}

impl<'p> Section<'p> {
    fn new(policies: Vec<&'p Policy>, cache_bytes: usize) -> Self {
        let (rows, prompt_tokens) = match policies[0].device().is_gpu() {
            true => (GPU_ROWS, GPU_PROMPT_TOKENS),
            false => (CPU_ROWS, CPU_PROMPT_TOKENS),
        };
        let tokens = cache_bytes / policies[0].cache_bytes_per_token().max(1);
        let limits = BatchLimits {
            rows,
            prompt_tokens,
            cache_tokens: tokens - tokens / PREFIX_SHARE,
            keep_prompts: true,
        };
        Section {
            languages: policies.iter().map(|policy| policy.language()).collect(),
            policies,
            limits,
            prefixes: PrefixCache::new(tokens / PREFIX_SHARE),
            batch: None,
        }
    }

    fn new_batch(&self, sampling: &Sampling) -> Batch {
        let ensemble = Ensemble::of(&self.policies);
        Batch::new(ensemble, self.languages.clone(), sampling.clone(), self.limits)
    }

    /// The prompts to read, long ones first, equal ones once.
    fn plan<'q>(
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
            one.prefix = self.prefixes.find(one.member, &one.prompt);
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
            let known = self.prefixes.find(member, first).map_or(0, |prefix| prefix.tokens);
            if own.len() < 2 || length < SHORTEST || known + 1 >= length {
                continue;
            }
            let _guard = tch::no_grad_guard();
            let prompt: Arc<[u32]> = first[..length].into();
            let prefix = self.prefixes.find(member, &prompt);
            let beginning = Pending { member, prompt: prompt.clone(), prefix, answers: Vec::new() };
            let ensemble = Ensemble::of(&self.policies);
            let (read, _) = read_prompts(&ensemble, &[beginning]);
            let layers = read.layers.iter().map(|layer| layer.map(|t| t.get(0))).collect();
            self.prefixes.insert(member, prompt, layers);
        }
        Ok(())
    }

    fn keep(&mut self, read: Vec<ReadPrompt>) {
        for (member, prompt, layers) in read {
            self.prefixes.insert(member, prompt, layers);
        }
    }

    /// Answer all, in as many batches as are worth it.
    fn answer(
        &mut self,
        pending: Vec<Pending>,
        sampling: &Sampling,
    ) -> Result<Vec<(Place, Completion)>, PolicyError> {
        let mut batches: Vec<Batch> =
            (0..self.batch_count(&pending)).map(|_| self.new_batch(sampling)).collect();
        let count = batches.len();
        for (index, pending) in pending.into_iter().enumerate() {
            batches[index % count].enqueue([pending]);
        }
        let mut answers = Vec::new();
        for progress in run(batches, self.policies[0].threads())? {
            answers.extend(progress.finished);
            self.keep(progress.read);
        }
        Ok(answers)
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

/// Run batches to their ends on `threads` threads; what each brought, in order.
fn run(batches: Vec<Batch>, threads: usize) -> Result<Vec<Progress>, PolicyError> {
    let threads = threads.min(batches.len());
    let batches: Vec<Mutex<Option<Batch>>> =
        batches.into_iter().map(|batch| Mutex::new(Some(batch))).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Vec<(usize, Result<Progress, PolicyError>)> {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = batches.get(index) else { return done };
            let taken = slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            done.extend(taken.map(|batch| (index, run_one(batch))));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, progress)| progress).collect()
}

fn run_one(mut batch: Batch) -> Result<Progress, PolicyError> {
    let mut all = Progress::default();
    while !batch.is_idle() {
        let Progress { finished, read } = batch.step()?;
        all.finished.extend(finished);
        all.read.extend(read);
    }
    Ok(all)
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
    if (prompt.len() + answer) as i64 > positions {
        return Err(PolicyError::PromptTooLong { prompt: prompt.len(), answer, positions });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tch::{Kind, Tensor};

    use super::super::attention::SelfAttention;
    use super::super::sampler::log_probabilities;
    use super::*;
    use crate::config::PolicyConfig;
    use crate::policy::{Device, Input, Segment};
    use crate::trajectory::StopReason;

    fn policy() -> Policy {
        let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
        Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu()).unwrap()
    }

    fn prompt(seed: u64, length: usize) -> Arc<[u32]> {
        (0..length as u64).map(|i| 4 + Seed::new(seed).at(i).index(30) as u32).collect()
    }

    fn request(seed: u64, length: usize, answers: u64) -> Request {
        let seeds = (0..answers).map(|branch| Seed::new(seed).named("answer").at(branch)).collect();
        Request { prompt: prompt(seed, length), seeds }
    }

    fn sampling() -> Sampling {
        Sampling::plain(20)
    }

    /// Log-probabilities of an answer by one forward pass over prompt and answer.
    fn score(policy: &Policy, prompt: &[u32], answer: &[u32], sampling: &Sampling) -> Vec<f32> {
        let decoder = policy.decoder();
        let tokens: Vec<i64> = prompt.iter().chain(answer).map(|&token| token.into()).collect();
        let length = tokens.len() as i64;
        let mut attention = SelfAttention::causal(1, length, 2, decoder.parameters().buffer());
        let positions = Tensor::arange(length, (Kind::Int64, tch::Device::Cpu));
        let ensemble = Ensemble::of(&[policy]);
        let mixture = ensemble.mixture(&[Segment { member: 0, rows: length, kept: length }]);
        let tokens_tensor = Tensor::from_slice(&tokens);
        let input =
            Input { tokens: &tokens_tensor, positions: &positions, keep: None, mixture: &mixture };
        let states = ensemble.forward(&input, &mut attention);
        let logits =
            decoder.logits(&states).narrow(0, prompt.len() as i64 - 1, answer.len() as i64);
        let chosen = Tensor::from_slice(&tokens[prompt.len()..]);
        let logits = penalized(logits, prompt, answer, sampling);
        let scores = log_probabilities(&logits, sampling, Some(&chosen));
        Vec::try_from(scores.gather(1, &chosen.unsqueeze(1), false).view([-1])).unwrap()
    }

    /// The repetition penalty, worked out token by token.
    fn penalized(logits: Tensor, prompt: &[u32], answer: &[u32], sampling: &Sampling) -> Tensor {
        let vocabulary = logits.size()[1];
        let mut rows = Vec::<f32>::try_from(logits.contiguous().view([-1])).unwrap();
        let penalty = sampling.repetition_penalty as f32;
        for (step, row) in rows.chunks_mut(vocabulary as usize).enumerate() {
            let said: std::collections::BTreeSet<u32> =
                prompt.iter().chain(&answer[..step]).copied().collect();
            for token in said {
                let logit = &mut row[token as usize];
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            }
        }
        Tensor::from_slice(&rows).view([-1, vocabulary])
    }

    fn largest_difference(
        policy: &Policy,
        requests: &[Request],
        answers: &[Vec<Completion>],
        sampling: &Sampling,
    ) -> f32 {
        let mut worst = 0.0_f32;
        for (request, answers) in requests.iter().zip(answers) {
            assert_eq!(answers.len(), request.seeds.len());
            for answer in answers {
                let scores = score(policy, &request.prompt, &answer.tokens, sampling);
                let differences = scores.iter().zip(&answer.logprobs).map(|(a, b)| (a - b).abs());
                worst = differences.fold(worst, f32::max);
            }
        }
        worst
    }

    fn assert_same(left: &[Completion], right: &[Completion]) {
        assert_eq!(left.len(), right.len());
        for (left, right) in left.iter().zip(right) {
            assert_eq!(left.tokens, right.tokens);
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
            assert!(left.logprobs.iter().zip(&right.logprobs).all(near));
        }
    }

    #[test]
    fn step_by_step_equals_one_forward_pass() {
        let policy = policy();
        let requests = [request(1, 21, 4), request(2, 3, 4), request(3, 19, 4), request(4, 18, 1)];
        for sampling in [
            sampling(),
            Sampling { temperature: 0.7, top_k: 5, ..sampling() },
            Sampling { temperature: 1.3, top_p: 0.8, ..sampling() },
            Sampling { top_k: 10, top_p: 0.9, ..sampling() },
            Sampling { min_p: 0.5, ..sampling() },
            Sampling { repetition_penalty: 1.4, temperature: 0.8, ..sampling() },
        ] {
            let answers = policy.generate(&requests, &sampling).unwrap();
            let worst = largest_difference(&policy, &requests, &answers, &sampling);
            assert!(worst < 1e-4, "{worst} {sampling:?}");
        }
    }

    /// Engines whose batches hold few rows, so that answers join late.
    fn narrow<'p>(policies: &[&'p Policy], rows: usize, sampling: &Sampling) -> Engine<'p> {
        let mut engine = Engine::new(policies, sampling.clone(), 1 << 30).unwrap();
        for section in &mut engine.sections {
            section.limits.rows = rows;
            section.limits.prompt_tokens = 60;
        }
        engine
    }

    fn adapted(base: &Policy, seed: u64) -> Policy {
        let config = crate::config::LoraConfig { rank: 4, ..Default::default() };
        let policy = base.adapt(&config, Seed::new(seed)).unwrap();
        for (slot, mut tensor) in policy.trainable().tensors() {
            let wave = Tensor::arange(tensor.numel() as i64, tch::kind::FLOAT_CPU);
            tensor.copy_(&(((wave + seed as f64) * 0.7).sin() * 0.1).view(slot.shape()));
        }
        policy
    }

    #[test]
    fn adapters_share_a_batch_that_rows_leave_and_join_late() {
        let base = policy();
        let roles = [
            adapted(&base, 1),
            adapted(&base, 2),
            base.adapt(&Default::default(), Seed::new(3)).unwrap(),
        ];
        let policies: Vec<&Policy> = roles.iter().collect();
        let questions: Vec<Question> = (0..30)
            .map(|i| (i as usize % 3, request(i, 10 + i as usize % 19, 1 + i % 5)))
            .collect();
        for rows in [1, 7, 40, 1000] {
            let mut engine = narrow(&policies, rows, &sampling());
            assert_eq!(engine.sections.len(), 1);
            let answers = engine.generate(&questions).unwrap();
            for ((policy, request), answers) in questions.iter().zip(&answers) {
                let own = roles[*policy].generate(std::slice::from_ref(request), &sampling());
                assert_same(answers, &own.unwrap()[0]);
                let worst = largest_difference(
                    &roles[*policy],
                    std::slice::from_ref(request),
                    std::slice::from_ref(answers),
                    &sampling(),
                );
                assert!(worst < 1e-4, "{worst}");
            }
        }
    }

    #[test]
    fn what_prompts_have_in_common_is_read_once_and_changes_nothing() {
        let base = policy();
        let roles = [adapted(&base, 1), adapted(&base, 2)];
        let policies: Vec<&Policy> = roles.iter().collect();
        let system = prompt(9, 100);
        let turn = |history: &[u32], seed: u64, length: usize| -> Arc<[u32]> {
            history.iter().copied().chain(prompt(seed, length).iter().copied()).collect()
        };
        let seeds = |seed: u64| (0..3).map(|branch| Seed::new(seed).at(branch)).collect();
        let first: Vec<Question> = (0..8)
            .map(|i| {
                (
                    i as usize % 2,
                    Request { prompt: turn(&system, i, 5 + i as usize), seeds: seeds(i) },
                )
            })
            .collect();
        let second: Vec<Question> = first
            .iter()
            .enumerate()
            .map(|(i, (policy, request))| {
                let prompt = turn(&request.prompt, 50 + i as u64, 3 + i);
                (*policy, Request { prompt, seeds: seeds(90 + i as u64) })
            })
            .collect();
        let mut engine = Engine::new(&policies, sampling(), 1 << 30).unwrap();
        for questions in [&first, &second, &second] {
            let answers = engine.generate(questions).unwrap();
            for ((policy, request), answers) in questions.iter().zip(&answers) {
                let own = roles[*policy].generate(std::slice::from_ref(request), &sampling());
                assert_same(answers, &own.unwrap()[0]);
            }
        }
        let section = &mut engine.sections[0];
        let known =
            |member, prompt: &Arc<[u32]>| section.prefixes.find(member, prompt).unwrap().tokens;
        assert_eq!(known(0, &second[0].1.prompt), second[0].1.prompt.len() - 1);
        assert_eq!(known(1, &turn(&system, 77, 9)), 100);
    }

    #[test]
    fn submitted_requests_are_answered_as_if_generated_together() {
        let base = policy();
        let roles = [adapted(&base, 1), adapted(&base, 2)];
        let policies: Vec<&Policy> = roles.iter().chain([&base]).collect();
        let questions: Vec<Question> =
            (0..24).map(|i| (i as usize % 3, request(i, 8 + i as usize % 7, 2))).collect();
        let together =
            Engine::new(&policies, sampling(), 1 << 30).unwrap().generate(&questions).unwrap();
        let mut engine = narrow(&policies, 9, &sampling());
        let mut answers = BTreeMap::new();
        for chunk in questions.chunks(5) {
            engine.submit(chunk).unwrap();
            for _ in 0..3 {
                answers.extend(engine.advance().unwrap());
            }
        }
        while !engine.is_idle() {
            answers.extend(engine.advance().unwrap());
        }
        assert_eq!(answers.len(), questions.len());
        for (ticket, answers) in answers {
            assert_same(&answers, &together[ticket]);
        }
    }

    #[test]
    fn a_stop_sequence_ends_an_answer_and_is_not_part_of_its_text() {
        let policy = policy();
        let requests: Vec<Request> = (0..20).map(|i| request(i, 6, 4)).collect();
        let free = policy.generate(&requests, &sampling()).unwrap();
        let stop = vec!["w3 w".to_owned(), "w12".to_owned()];
        let stopping = Sampling { stop: stop.clone(), ..sampling() };
        let stopped = policy.generate(&requests, &stopping).unwrap();
        let mut hits = 0;
        for (free, stopped) in free.iter().flatten().zip(stopped.iter().flatten()) {
            assert_eq!(stopped.tokens[..], free.tokens[..stopped.tokens.len()]);
            let first = stop.iter().filter_map(|stop| free.text.find(stop)).min();
            assert_eq!(stopped.stop == StopReason::Sequence, first.is_some());
            if let Some(first) = first {
                assert_eq!(stopped.text, free.text[..first]);
                hits += 1;
            }
        }
        assert!(hits > 3, "{hits}");
    }

    #[test]
    fn an_answer_does_not_depend_on_who_shares_the_batch() {
        let policy = policy();
        let shared: Vec<Request> =
            (0..40).map(|i| request(i, 10 + i as usize % 9, 1 + i % 5)).collect();
        let together = policy.generate(&shared, &sampling()).unwrap();
        for (request, together) in shared.iter().zip(&together) {
            let alone: Vec<Completion> = (request.seeds.iter())
                .map(|&seed| Request { prompt: request.prompt.clone(), seeds: vec![seed] })
                .map(|request| {
                    policy.generate(&[request], &sampling()).unwrap().remove(0).remove(0)
                })
                .collect();
            assert_same(together, &alone);
        }
    }

    #[test]
    fn equal_prompts_of_several_requests_are_answered_as_if_apart() {
        let policy = policy();
        let one = request(1, 12, 1);
        let other = Request { prompt: one.prompt.clone(), seeds: request(2, 12, 3).seeds };
        let both = policy.generate(&[one.clone(), other.clone()], &sampling()).unwrap();
        assert_same(&both[0], &policy.generate(&[one], &sampling()).unwrap()[0]);
        assert_same(&both[1], &policy.generate(&[other], &sampling()).unwrap()[0]);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let mut policy = policy();
        let requests: Vec<Request> = (0..150).map(|i| request(i, 20, 2)).collect();
        policy.set_threads(1);
        let one = policy.generate(&requests, &sampling()).unwrap();
        policy.set_threads(3);
        assert_eq!(one, policy.generate(&requests, &sampling()).unwrap());
    }

    #[test]
    fn greedy_answers_are_the_likeliest_tokens() {
        let policy = policy();
        let request = request(5, 8, 2);
        let greedy = policy
            .generate(std::slice::from_ref(&request), &Sampling::greedy(6))
            .unwrap()
            .remove(0);
        assert_eq!(greedy[0], greedy[1]);
        assert!(greedy[0].logprobs.iter().all(|&logprob| logprob == 0.0));
        let first = Sampling { top_k: 1, max_completion_tokens: 6, ..sampling() };
        assert_eq!(policy.generate(&[request], &first).unwrap()[0][0].tokens, greedy[0].tokens);
    }

    #[test]
    fn an_answer_ends_with_the_end_token_or_at_the_limit() {
        let policy = policy();
        let requests: Vec<Request> = (0..50).map(|i| request(i, 5, 4)).collect();
        let answers = policy.generate(&requests, &sampling()).unwrap();
        for answer in answers.iter().flatten() {
            let end = answer.tokens.iter().position(|&token| token == 2);
            match answer.stop {
                StopReason::EndOfText => assert_eq!(end, Some(answer.tokens.len() - 1)),
                StopReason::Length => assert_eq!((end, answer.tokens.len()), (None, 20)),
                StopReason::Sequence => panic!("there are no stop sequences"),
            }
            assert_eq!(answer.tokens.len(), answer.logprobs.len());
        }
        assert!(answers.iter().flatten().any(|answer| answer.stop == StopReason::EndOfText));
    }

    #[test]
    fn impossible_requests_are_refused() {
        let policy = policy();
        let ask = |prompt: Arc<[u32]>, sampling| {
            let request = Request { prompt, seeds: vec![Seed::new(1)] };
            policy.generate(&[request], &sampling).unwrap_err().to_string()
        };
        assert!(ask([].into(), sampling()).contains("no tokens"));
        assert!(ask([99].into(), sampling()).contains("token 99"));
        assert!(ask(prompt(1, 4090), sampling()).contains("leaves no room"));
        let hot = Sampling { temperature: -1.0, ..sampling() };
        assert!(ask(prompt(1, 4), hot).contains("`temperature` is -1"));
        assert!(policy.generate(&[], &sampling()).unwrap().is_empty());
    }
}
