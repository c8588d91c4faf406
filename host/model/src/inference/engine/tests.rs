//! Answers must not depend on who shares their batch, and must be scored alike
//! by one forward pass.

use tch::{Kind, Tensor};

use super::super::distribution::log_probabilities;
use super::super::kv_cache::Layer;
use super::super::prefix_cache::ReadPrompt;
use super::*;
use crate::{Device, Input, Segment, SelfAttention};
use troupe_core::config::PolicyConfig;
use troupe_core::trajectory::StopReason;

pub(super) fn policy() -> Policy {
    let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
    Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu()).unwrap()
}

fn prompt(seed: u64, length: usize) -> Arc<[u32]> {
    (0..length as u64).map(|i| 4 + Seed::new(seed).at(i).index(30) as u32).collect()
}

pub(super) fn request(seed: u64, length: usize, answers: u64) -> Request {
    let seeds = (0..answers).map(|branch| Seed::new(seed).named("answer").at(branch)).collect();
    Request { prompt: prompt(seed, length), seeds }
}

pub(super) fn sampling() -> Sampling {
    Sampling::plain(20)
}

/// Log-probabilities of an answer by one forward pass over prompt and answer.
fn score(policy: &Policy, prompt: &[u32], answer: &[u32], sampling: &Sampling) -> Vec<f32> {
    let decoder = policy.decoder();
    let tokens: Vec<i64> = prompt.iter().chain(answer).map(|&token| token.into()).collect();
    let length = tokens.len() as i64;
    let mut attention = SelfAttention::causal(1, length, &decoder.masking());
    let positions = Tensor::arange(length, (Kind::Int64, tch::Device::Cpu));
    let shared_base = Policy::shared_base(&[policy]);
    let adapter_rows =
        shared_base.adapter_rows(&[Segment { member: 0, rows: length, kept: length }]);
    let tokens_tensor = Tensor::from_slice(&tokens);
    let input = Input {
        tokens: &tokens_tensor,
        positions: &positions,
        keep: None,
        adapter_rows: &adapter_rows,
    };
    let states = shared_base.forward(&input, &mut attention);
    let logits = decoder.logits(&states).narrow(0, prompt.len() as i64 - 1, answer.len() as i64);
    let chosen = Tensor::from_slice(&tokens[prompt.len()..]);
    let logits = penalized(logits, prompt, answer, sampling);
    let logprobs = log_probabilities(&logits, sampling, Some(&chosen));
    Vec::try_from(logprobs.gather(1, &chosen.unsqueeze(1), false).view([-1])).unwrap()
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

pub(super) fn largest_difference(
    policy: &Policy,
    requests: &[Request],
    answers: &[Vec<Completion>],
    sampling: &Sampling,
) -> f32 {
    let mut worst = 0.0_f32;
    for (request, answers) in requests.iter().zip(answers) {
        assert_eq!(answers.len(), request.seeds.len());
        for answer in answers {
            let logprobs = score(policy, &request.prompt, &answer.tokens, sampling);
            let differences = logprobs.iter().zip(&answer.logprobs).map(|(a, b)| (a - b).abs());
            worst = differences.fold(worst, f32::max);
        }
    }
    worst
}

pub(super) fn assert_same(left: &[Completion], right: &[Completion]) {
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

#[test]
fn a_thought_is_ended_at_its_budget_and_what_was_put_there_is_said_to_be() {
    let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
    let words = [&words[..], &["<think>".to_owned(), "</think>".to_owned()]].concat();
    let policy = Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu());
    let policy = policy.unwrap();
    let (begin, end) = (34, 35);
    // The prompt begins the thought; another one has ended it.
    let asked = |mark: u32| {
        let prompt = [&prompt(7, 9)[..], &[mark]].concat();
        Request { prompt: prompt.into(), ..request(7, 0, 6) }
    };
    let requests = [asked(begin), asked(end)];
    let mut put = 0;
    for cut in [sampling(), Sampling { top_k: 3, ..sampling() }, Sampling::greedy(20)] {
        let sampling = Sampling { thinking_budget: 4, ..cut };
        let answers = policy.generate(&requests, &sampling).unwrap();
        for answer in &answers[0] {
            let thought = answer.tokens.iter().take_while(|&&token| token != end).count();
            let ended = answer.stop == StopReason::EndOfText && thought == answer.tokens.len();
            assert!(thought <= 4 || ended && thought <= 5, "{answer:?}");
            assert!(answer.forced.iter().all(|&place| answer.tokens[place] == end));
            put += answer.forced.len();
        }
        assert!(answers[1].iter().all(|a| a.forced.is_empty() || a.tokens.contains(&begin)));
        if sampling.temperature > 0.0 {
            let worst = largest_difference(&policy, &requests, &answers, &sampling);
            assert!(worst < 1e-4, "{worst}: the trainer scores what was put there alike");
        }
    }
    assert!(put > 0, "a random policy does not end its thoughts by itself");
    let thoughtless = Sampling { thinking_budget: 4, ..sampling() };
    let refused = self::policy().generate(&[request(1, 3, 1)], &thoughtless).unwrap_err();
    assert!(refused.to_string().contains("`</think>`"), "{refused}");
}

/// Engines whose batches hold few rows, so that answers join late.
fn narrow<'p>(policies: &[&'p Policy], rows: usize, sampling: &Sampling) -> Engine<'p> {
    let mut engine = Engine::new(policies, sampling.clone(), 1 << 30).unwrap();
    for base_group in &mut engine.base_groups {
        base_group.limits.rows = rows;
        base_group.limits.prompt_tokens = 60;
    }
    engine
}

pub(super) fn adapted(base: &Policy, seed: u64) -> Policy {
    let config = troupe_core::config::LoraConfig { rank: 4, ..Default::default() };
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
    let questions: Vec<Question> =
        (0..30).map(|i| (i as usize % 3, request(i, 10 + i as usize % 19, 1 + i % 5))).collect();
    for rows in [1, 7, 40, 1000] {
        let mut engine = narrow(&policies, rows, &sampling());
        assert_eq!(engine.base_groups.len(), 1);
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
            (i as usize % 2, Request { prompt: turn(&system, i, 5 + i as usize), seeds: seeds(i) })
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
    let known = |engine: &Engine, member, prompt: &Arc<[u32]>| {
        engine.base_groups[0].find(member, prompt).map(|prefix| prefix.tokens)
    };
    assert_eq!(known(&engine, 0, &second[0].1.prompt), Some(second[0].1.prompt.len() - 1));
    assert_eq!(known(&engine, 1, &turn(&system, 77, 9)), Some(100));

    // Who draws in another way beside it need not read them either, and says what it would alone.
    let greedy = Sampling::greedy(sampling().max_completion_tokens);
    let mut beside = engine.beside(greedy.clone()).unwrap();
    assert_eq!(known(&beside, 1, &second[1].1.prompt), Some(second[1].1.prompt.len() - 1));
    let answers = beside.generate(&second).unwrap();
    for ((policy, request), answers) in second.iter().zip(&answers) {
        let own = roles[*policy].generate(std::slice::from_ref(request), &greedy);
        assert_same(answers, &own.unwrap()[0]);
    }
    let third = Request { prompt: prompt(123, 90), seeds: seeds(5) };
    beside.generate(&[(0, third.clone())]).unwrap();
    assert_eq!(known(&engine, 0, &third.prompt), Some(89));
}

#[test]
fn the_cache_takes_no_more_than_it_may_however_long_one_known_beginning_is() {
    let policy = policy();
    let long = request(1, 400, 1);
    let grown = long.prompt.iter().copied().chain(prompt(2, 20).iter().copied()).collect();
    let grown = Request { prompt: grown, seeds: request(2, 0, 1).seeds };
    let short = (0..40).map(|i| (0, request(100 + i, 8, 1)));
    let questions: Vec<Question> = [(0, grown)].into_iter().chain(short).collect();
    // Unpadded, all of them take 1,560 tokens; side by side, 41 prompts are as long as the longest.
    for limit in [2_000, 100] {
        let mut engine = Engine::new(&[&policy], sampling(), 1 << 30).unwrap();
        engine.generate(&[(0, long.clone())]).unwrap();
        engine.base_groups[0].limits.cache_tokens = limit;
        let tickets = engine.submit(&questions).unwrap();
        let (mut answers, mut most) = (BTreeMap::new(), 0_usize);
        while !engine.is_idle() {
            answers.extend(engine.advance().unwrap());
            let batch = engine.base_groups[0].batch.as_ref().unwrap();
            most = most.max(batch.cache_tokens());
        }
        // The long one is read whatever it takes, if nothing is beside it.
        assert!(most <= limit.max(400 + 20 + 20), "{most} of {limit}");
        for (ticket, (_, request)) in tickets.iter().zip(&questions) {
            let alone = policy.generate(std::slice::from_ref(request), &sampling()).unwrap();
            assert_same(&answers[ticket], &alone[0]);
        }
    }
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
            .map(|request| policy.generate(&[request], &sampling()).unwrap().remove(0).remove(0))
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
    let greedy =
        policy.generate(std::slice::from_ref(&request), &Sampling::greedy(6)).unwrap().remove(0);
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
    for endless in [usize::MAX, usize::MAX - 3, 1 << 63, (1 << 63) - 4] {
        let said = ask(prompt(1, 4), Sampling { max_completion_tokens: endless, ..sampling() });
        assert!(said.contains("leaves no room"), "{said}");
    }
    let hot = Sampling { temperature: -1.0, ..sampling() };
    assert!(ask(prompt(1, 4), hot).contains("`temperature` is -1"));
    assert!(policy.generate(&[], &sampling()).unwrap().is_empty());
}

#[test]
fn what_libtorch_cannot_read_is_an_error_and_leaves_nothing_open() {
    let policy = policy();
    let mut engine = Engine::new(&[&policy], sampling(), 1 << 30).unwrap();
    let long = prompt(1, 60);
    // Of a head with three numbers, which no policy has.
    let narrow = || Tensor::zeros([1, 40, 3], (Kind::Float, tch::Device::Cpu));
    let layers = vec![Layer { keys: narrow(), values: narrow() }];
    let read = ReadPrompt { member: 0, prompt: long[..40].into(), after: None, layers };
    engine.base_groups[0].keep(vec![read]);
    let alike = |seed: u64| -> Question {
        let prompt = long.iter().chain(prompt(seed, 10).iter()).copied().collect();
        (0, Request { prompt, seeds: vec![Seed::new(seed)] })
    };
    let questions = [alike(2), alike(3)];
    for error in [engine.submit(&questions).unwrap_err(), engine.generate(&questions).unwrap_err()]
    {
        assert!(matches!(error, PolicyError::Torch(_)), "{error}");
    }
    assert!(engine.is_idle());
    let tickets = engine.submit(&[(0, request(7, 5, 1))]).unwrap();
    let mut answered = Vec::new();
    while !engine.is_idle() {
        answered.extend(engine.advance().unwrap().into_iter().map(|(ticket, _)| ticket));
    }
    assert_eq!(answered, tickets);
}
