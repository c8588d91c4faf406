//! Many prompts to many answers.
//!
//! Equal prompts are read once, and the answers to a prompt share what was
//! read. Prompts are sorted by length and cut into batches; batches are
//! independent of each other and are spread over threads. How the batches are
//! cut depends on the requests alone, so results do not depend on the number
//! of threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tch::{Kind, Tensor};

use super::attention::SelfAttention;
use super::batching::cut_evenly;
use super::kv_cache::{KvCache, PromptReader};
use super::sampler::{draw, unit};
use super::{Decoder, Ensemble, Input, Policy, PolicyError, Request, Sampling, Segment};
use crate::seed::Seed;
use crate::trajectory::{Completion, StopReason};

/// Answers that share one lane at most; each sees a mask as wide as all of them.
const MAX_WIDTH: usize = 16;
/// Prompt tokens of a batch, padding included.
const CPU_BATCH_TOKENS: usize = 1024;
const GPU_BATCH_TOKENS: usize = 16_384;
/// Bytes that the cache of a batch may take.
const CPU_CACHE_BYTES: usize = 1 << 30;
const GPU_CACHE_BYTES: usize = 16 << 30;

/// Where an answer belongs, and its randomness.
#[derive(Clone, Copy)]
struct Place {
    request: usize,
    branch: usize,
    seed: Seed,
}

/// A prompt and the places of the answers that continue it together.
struct Lane {
    prompt: usize,
    places: Vec<Place>,
}

/// Prompts that are answered together.
struct Batch<'a> {
    prompts: Vec<&'a [u32]>,
    lanes: Vec<Lane>,
    /// Answers per lane; lanes with fewer places draw some in vain.
    width: usize,
}

/// An answer as it grows.
struct Draft {
    place: Place,
    tokens: Vec<u32>,
    logprobs: Vec<f32>,
    stop: Option<StopReason>,
}

/// See [`Policy::generate`].
pub(super) fn generate(
    policy: &Policy,
    requests: &[Request],
    sampling: &Sampling,
) -> Result<Vec<Vec<Completion>>, PolicyError> {
    sampling.check()?;
    for request in requests {
        check_prompt(policy, &request.prompt, sampling)?;
    }
    let batches = plan(policy.decoder(), requests, sampling);
    let drafts = run(policy, &batches, sampling)?;
    let mut answers: Vec<Vec<Option<Completion>>> =
        requests.iter().map(|request| vec![None; request.seeds.len()]).collect();
    for draft in drafts {
        let place = draft.place;
        answers[place.request][place.branch] = Some(finish(policy, draft)?);
    }
    Ok(answers.into_iter().map(|answers| answers.into_iter().flatten().collect()).collect())
}

fn check_prompt(policy: &Policy, prompt: &[u32], sampling: &Sampling) -> Result<(), PolicyError> {
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
    let total = prompt.len() + sampling.max_completion_tokens;
    if total as i64 > config.max_position_embeddings {
        return Err(PolicyError::Prompt(format!(
            "a prompt of {} tokens leaves no room for `max_completion_tokens = {}`: the policy handles {} in all; shorten the prompt or the answer",
            prompt.len(),
            sampling.max_completion_tokens,
            config.max_position_embeddings
        )));
    }
    Ok(())
}

/// Cut the requests into batches.
fn plan<'a>(decoder: &Decoder, requests: &'a [Request], sampling: &Sampling) -> Vec<Batch<'a>> {
    let mut known: HashMap<&[u32], usize> = HashMap::new();
    let mut prompts: Vec<(&[u32], Vec<Place>)> = Vec::new();
    for (request, Request { prompt, seeds }) in requests.iter().enumerate() {
        let index = *known.entry(prompt).or_insert_with(|| {
            prompts.push((prompt, Vec::new()));
            prompts.len() - 1
        });
        let places =
            seeds.iter().enumerate().map(|(branch, &seed)| Place { request, branch, seed });
        prompts[index].1.extend(places);
    }
    prompts.retain(|(_, places)| !places.is_empty());
    let width = best_width(prompts.iter().map(|(_, places)| places.len()));
    prompts.sort_by_key(|(prompt, _)| std::cmp::Reverse(prompt.len()));
    let sizes: Vec<usize> = prompts.iter().map(|(prompt, _)| prompt.len()).collect();
    let answers = prompts.iter().map(|(_, places)| places.len()).max().unwrap_or_default();
    let limit = token_limit(decoder, sizes.first().copied().unwrap_or(1), answers, sampling);
    let runs = cut_evenly(&sizes, limit);
    runs.into_iter().map(|run| Batch::of(&prompts[run], width)).collect()
}

/// The lane width with the least waste: each lane costs about two answers'
/// worth on top of its answers, needed or not.
fn best_width(counts: impl Iterator<Item = usize> + Clone) -> usize {
    let cost = |width: usize| {
        counts.clone().map(|count| count.div_ceil(width) * (width + 2)).sum::<usize>()
    };
    (1..=MAX_WIDTH).min_by_key(|&width| cost(width)).unwrap_or(1)
}

/// Prompt tokens of a batch such that time is well spent and the cache of the
/// answers stays within bounds.
fn token_limit(decoder: &Decoder, longest: usize, answers: usize, sampling: &Sampling) -> usize {
    let (tokens, bytes) = match decoder.device().is_gpu() {
        true => (GPU_BATCH_TOKENS, GPU_CACHE_BYTES),
        false => (CPU_BATCH_TOKENS, CPU_CACHE_BYTES),
    };
    let config = decoder.config();
    let heads = config.num_hidden_layers * config.num_key_value_heads;
    let position = 2 * 4 * (heads * config.head_dim) as usize;
    let logits = 4 * 4 * config.vocab_size as usize;
    let lane = longest + answers * sampling.max_completion_tokens;
    let prompts = bytes / (lane * position + answers * logits);
    tokens.min(prompts.max(1) * longest)
}

impl<'a> Batch<'a> {
    fn of(prompts: &[(&'a [u32], Vec<Place>)], width: usize) -> Self {
        let lanes = prompts.iter().enumerate().flat_map(|(prompt, (_, places))| {
            places.chunks(width).map(move |places| Lane { prompt, places: places.to_vec() })
        });
        Batch {
            lanes: lanes.collect(),
            prompts: prompts.iter().map(|(prompt, _)| *prompt).collect(),
            width,
        }
    }
}

/// Answer all batches, on as many threads as the policy is set to.
fn run(policy: &Policy, batches: &[Batch], sampling: &Sampling) -> Result<Vec<Draft>, PolicyError> {
    let (ensemble, ends) = (Ensemble::of(&[policy]), policy.generation.end_tokens());
    let threads = if policy.device().is_gpu() { 1 } else { policy.threads.min(batches.len()) };
    let next = AtomicUsize::new(0);
    let work = |ensemble: &Ensemble| -> Result<Vec<Draft>, PolicyError> {
        let _guard = tch::no_grad_guard();
        let mut drafts = Vec::new();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            drafts.extend(answer(ensemble, batch, sampling, ends)?);
        }
        Ok(drafts)
    };
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let ensemble = ensemble.share();
                scope.spawn(move || work(&ensemble))
            })
            .collect();
        let mut drafts = work(&ensemble)?;
        for other in others {
            drafts.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(drafts)
    })
}

/// Answer one batch.
fn answer(
    ensemble: &Ensemble,
    batch: &Batch,
    sampling: &Sampling,
    ends: &[u32],
) -> Result<Vec<Draft>, PolicyError> {
    let device = ensemble.decoder().device().torch();
    let (mut cache, states) = read_prompts(ensemble, batch);
    let mut lanes: Vec<Vec<Option<Draft>>> =
        batch.lanes.iter().map(|lane| lane.drafts(batch.width)).collect();
    let mut done = Vec::new();
    let mut logits = ensemble.logits(&states); // [lanes, vocabulary]
    for step in 0..sampling.max_completion_tokens {
        let last = step + 1 == sampling.max_completion_tokens;
        let units = units(&lanes, step as u64);
        let units =
            Tensor::f_from_slice(&units)?.f_to_device(device)?.f_view([logits.size()[0], -1])?;
        let (tokens, scores) = draw(&logits, sampling, &units);
        let (mut tokens, scores) = (tokens.view([-1]), scores.view([-1])); // [lanes · width]
        record(&mut lanes, &tokens, &scores, ends, last)?;
        let alive: Vec<i64> =
            (0..lanes.len()).filter(|&lane| grows(&lanes[lane])).map(|lane| lane as i64).collect();
        if alive.is_empty() {
            break;
        }
        if 2 * alive.len() <= lanes.len() {
            let kept = Tensor::from_slice(&alive).to_device(device);
            tokens = tokens.view([lanes.len() as i64, -1]).index_select(0, &kept).view([-1]);
            cache.select(&kept);
            let (live, ended): (Vec<_>, Vec<_>) = lanes.into_iter().partition(|lane| grows(lane));
            lanes = live;
            done.extend(ended);
        }
        let positions = cache.positions();
        cache.advance();
        let rows = tokens.size()[0];
        let mixture = ensemble.mixture(&[Segment { member: 0, rows, kept: rows }]);
        let input = Input { tokens: &tokens, positions: &positions, keep: None, mixture: &mixture };
        let states = ensemble.forward(&input, &mut cache);
        logits = ensemble.logits(&states); // [lanes · width, vocabulary]
    }
    done.extend(lanes);
    Ok(done.into_iter().flatten().flatten().collect())
}

/// Read the prompts: the cache that answers continue, and the hidden states
/// `[lanes, hidden]` from which their first tokens are drawn.
fn read_prompts(ensemble: &Ensemble, batch: &Batch) -> (KvCache, Tensor) {
    let decoder = ensemble.decoder();
    let device = decoder.device().torch();
    let (count, length) = (batch.prompts.len(), batch.prompts[0].len());
    let mut tokens = vec![0_i64; count * length];
    for (row, prompt) in tokens.chunks_mut(length).zip(&batch.prompts) {
        row.iter_mut().zip(prompt.iter()).for_each(|(to, &from)| *to = i64::from(from));
    }
    let upload = |numbers: &[i64]| Tensor::from_slice(numbers).to_device(device);
    let lengths: Vec<i64> = batch.prompts.iter().map(|prompt| prompt.len() as i64).collect();
    let lasts: Vec<i64> =
        lengths.iter().enumerate().map(|(row, last)| (row * length) as i64 + last - 1).collect();
    let lanes: Vec<i64> = batch.lanes.iter().map(|lane| lane.prompt as i64).collect();
    let (count, length) = (count as i64, length as i64);
    let positions = Tensor::arange(length, (Kind::Int64, device)).repeat([count]);
    let group = decoder.group();
    let among = SelfAttention::causal(count, length, group, decoder.parameters().buffer());
    let mut reader = PromptReader::new(count, among);
    let mixture = ensemble.mixture(&[Segment { member: 0, rows: count * length, kept: count }]);
    let input = Input {
        tokens: &upload(&tokens),
        positions: &positions,
        keep: Some(&upload(&lasts)),
        mixture: &mixture,
    };
    let states = ensemble.forward(&input, &mut reader);
    let lanes = upload(&lanes);
    let cache = KvCache::new(reader, &lanes, &upload(&lengths), batch.width as i64, group);
    (cache, states.index_select(0, &lanes))
}

impl Lane {
    fn drafts(&self, width: usize) -> Vec<Option<Draft>> {
        let draft =
            |&place: &Place| Draft { place, tokens: Vec::new(), logprobs: Vec::new(), stop: None };
        (0..width).map(|row| self.places.get(row).map(draft)).collect()
    }
}

/// Whether an answer of the lane goes on.
fn grows(lane: &[Option<Draft>]) -> bool {
    lane.iter().flatten().any(|draft| draft.stop.is_none())
}

/// One number in `[0, 1)` per row: that of token `step` of the row's sample.
fn units(lanes: &[Vec<Option<Draft>>], step: u64) -> Vec<f32> {
    let of =
        |draft: &Option<Draft>| draft.as_ref().map_or(0.0, |draft| unit(draft.place.seed.at(step)));
    lanes.iter().flatten().map(of).collect()
}

/// Add the tokens of a step to the drafts that still grow.
fn record(
    lanes: &mut [Vec<Option<Draft>>],
    tokens: &Tensor,
    scores: &Tensor,
    ends: &[u32],
    last: bool,
) -> Result<(), PolicyError> {
    let (tokens, scores) = (Vec::<i64>::try_from(tokens)?, Vec::<f32>::try_from(scores)?);
    for (draft, (token, score)) in lanes.iter_mut().flatten().zip(tokens.into_iter().zip(scores)) {
        let Some(draft) = draft.as_mut().filter(|draft| draft.stop.is_none()) else { continue };
        if !score.is_finite() {
            return Err(PolicyError::Diverged);
        }
        draft.tokens.push(token as u32);
        draft.logprobs.push(score);
        if ends.contains(&(token as u32)) {
            draft.stop = Some(StopReason::EndOfText);
        } else if last {
            draft.stop = Some(StopReason::Length);
        }
    }
    Ok(())
}

fn finish(policy: &Policy, draft: Draft) -> Result<Completion, PolicyError> {
    let text = policy.tokenizer.decode(&draft.tokens)?;
    let stop = draft.stop.unwrap_or(StopReason::Length);
    Ok(Completion { tokens: draft.tokens, logprobs: draft.logprobs, text, stop })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::attention::SelfAttention;
    use super::super::sampler::log_probabilities;
    use super::*;
    use crate::config::PolicyConfig;
    use crate::policy::Device;

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
        Sampling { temperature: 1.0, top_p: 1.0, top_k: 0, max_completion_tokens: 20 }
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
        let scores = log_probabilities(&logits, sampling, Some(&chosen));
        Vec::try_from(scores.gather(1, &chosen.unsqueeze(1), false).view([-1])).unwrap()
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
        for (temperature, top_k, top_p) in
            [(1.0, 0, 1.0), (0.7, 5, 1.0), (1.3, 0, 0.8), (1.0, 10, 0.9)]
        {
            let sampling = Sampling { temperature, top_p, top_k, ..sampling() };
            let answers = policy.generate(&requests, &sampling).unwrap();
            for (request, answers) in requests.iter().zip(&answers) {
                assert_eq!(answers.len(), request.seeds.len());
                for answer in answers {
                    let scores = score(&policy, &request.prompt, &answer.tokens, &sampling);
                    let worst = scores
                        .iter()
                        .zip(&answer.logprobs)
                        .map(|(a, b)| (a - b).abs())
                        .fold(0.0, f32::max);
                    assert!(worst < 1e-4, "{worst}");
                }
            }
        }
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
