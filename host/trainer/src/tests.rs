//! The trainer as a whole.

mod careful;
mod confined;
mod distant;
mod gradients;
mod parts;
mod scoring;
mod state;
mod together;

use std::sync::Arc;

use tch::{Kind, Tensor};

use super::*;
use crate::ranks::Ranks;
use troupe_core::config::{Choice, LoraConfig, LossAggregation, PolicyConfig, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Sample, StopReason};
use troupe_model::{Device, Policy, Request, Sampling, SamplingByRole};

pub(crate) fn policy(seed: u64) -> Policy {
    let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
    Policy::random(&PolicyConfig::default(), &words, Seed::new(seed), Device::cpu()).unwrap()
}

pub(crate) fn sampling() -> Sampling {
    Sampling::plain(6)
}

pub(crate) fn by_role() -> SamplingByRole {
    sampling().into()
}

fn prompt(seed: Seed, length: usize) -> Arc<[u32]> {
    (0..length as u64).map(|i| 4 + seed.at(i).index(30) as u32).collect()
}

/// `groups` prompts of different lengths with four answers each.
pub(crate) fn samples(policy: &Policy, groups: u64, sampling: &Sampling) -> Vec<Sample> {
    let requests: Vec<Request> = (0..groups)
        .map(|group| {
            let seed = Seed::new(group);
            let seeds = (0..4).map(|branch| seed.named("branch").at(branch)).collect();
            Request { prompt: prompt(seed, 5 + seed.index(9)), seeds }
        })
        .collect();
    let answers = policy.generate(&requests, sampling).unwrap();
    let sample = |(task, branch, prompt, completion)| Sample {
        policy: "solo".to_owned(),
        prompt,
        completion,
        ..troupe_core::example::sample(task, 0, 0, "solver", branch)
    };
    let grouped = requests.iter().zip(answers).enumerate();
    grouped
        .flat_map(|(task, (request, answers))| {
            let prompt = request.prompt.clone();
            answers
                .into_iter()
                .enumerate()
                .map(move |(branch, answer)| (task, branch, prompt.clone(), answer))
        })
        .map(sample)
        .collect()
}

fn rows(samples: &[Sample]) -> Vec<CreditedSample<'_>> {
    let advantage = |sample: &Sample| sample.branch as f32 - 1.5;
    samples
        .iter()
        .map(|sample| CreditedSample { sample, advantage: Some(advantage(sample)), weight: 1.0 })
        .collect()
}

pub(crate) fn config() -> TrainConfig {
    TrainConfig { warmup_steps: 0, ..TrainConfig::default() }
}

fn weights(policy: &Policy) -> Vec<f32> {
    Vec::try_from(policy.trainable().buffer()).unwrap()
}

/// Largest difference relative to the largest weight.
fn distance(left: &Policy, right: &Policy) -> f32 {
    weights(left).iter().zip(weights(right)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

pub(crate) fn logprobs(policy: &Policy, samples: &[&Sample], sampling: &Sampling) -> Vec<Vec<f32>> {
    rescore(&Ranks::alone(), &[(policy, samples.to_vec())], &sampling.clone().into(), 16_384)
        .unwrap()
        .remove(0)
}

/// Two adapters over one base, moved off their start so that they differ.
fn adapters(base: &Policy) -> [Policy; 2] {
    let config = LoraConfig { rank: 4, ..LoraConfig::default() };
    [1, 2].map(|seed| {
        let policy = base.adapt(&config, Seed::new(seed)).unwrap();
        for (slot, mut tensor) in policy.trainable().tensors() {
            let wave = Tensor::arange(tensor.numel() as i64, (Kind::Float, tch::Device::Cpu));
            tensor.copy_(&(((wave + seed as f64) * 0.7).sin() * 0.05).view(slot.shape()));
        }
        policy
    })
}

/// A checkpoint whose head is not its embedding.
fn untied(seed: u64) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    policy(seed).save(folder.path()).unwrap();
    let (path, file) = (folder.path().join("config.json"), folder.path().join("model.safetensors"));
    let mut tensors = troupe_model::read_tensors(&file).unwrap();
    let head = tensors["model.embed_tokens.weight"].copy() * 0.5;
    tensors.insert("lm_head.weight".to_owned(), head);
    troupe_model::write_tensors(&file, tensors).unwrap();
    let config = std::fs::read_to_string(&path).unwrap();
    let config = config.replace("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
    std::fs::write(&path, config).unwrap();
    Policy::load(folder.path(), Device::cpu()).unwrap()
}

#[test]
fn checkpointing_changes_memory_and_no_gradient() {
    let [adapted, _] = adapters(&policy(17));
    for start in [policy(17), untied(17), adapted] {
        let samples = samples(&start, 12, &sampling());
        let run = |gradient_checkpointing| {
            let mut policy = start.duplicate().unwrap();
            // Without momentum or scaling, the weights are the gradient.
            let config = TrainConfig { gradient_checkpointing, epsilon: 1e3, ..config() };
            let mut trainer = Trainer::new(&policy, &config).unwrap();
            let metrics =
                trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
            (policy, metrics)
        };
        let ((kept, left), (again, right)) = (run(Choice::Off), run(Choice::On));
        assert!(distance(&kept, &start) > 0.0);
        assert!(distance(&kept, &again) <= 1e-5 * distance(&kept, &start));
        assert!((left.gradient_norm / right.gradient_norm - 1.0).abs() < 1e-5);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let run = |threads| {
        let mut policy = policy(3);
        policy.set_threads(threads);
        let samples = samples(&policy, 120, &sampling());
        let mut trainer =
            Trainer::new(&policy, &TrainConfig { minibatch_samples: 100, ..config() }).unwrap();
        let metrics =
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
        (policy.digest().unwrap(), metrics)
    };
    assert_eq!(run(1), run(1));
    assert_eq!(run(1), run(3));
}

#[test]
fn the_size_of_micro_batches_changes_nothing() {
    for loss_aggregation in [
        LossAggregation::TokenMean,
        LossAggregation::SampleMeanTokenMean,
        LossAggregation::SampleMeanTokenSum,
    ] {
        let run = |microbatch_tokens| {
            let mut policy = policy(4);
            let samples = samples(&policy, 20, &sampling());
            let config = TrainConfig {
                microbatch_tokens,
                loss_aggregation,
                kl_coefficient: 0.1,
                ..config()
            };
            let mut trainer = Trainer::new(&policy, &config).unwrap();
            for step in 0..3 {
                trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(step)).unwrap();
            }
            policy
        };
        let (whole, cut) = (run(16_384), run(40));
        assert!(distance(&whole, &cut) < 1e-4, "{}", distance(&whole, &cut));
        assert!(distance(&whole, &policy(4)) > 1e-3);
    }
}

#[test]
fn answers_with_positive_advantage_become_likelier() {
    let mut policy = policy(5);
    let samples = samples(&policy, 16, &sampling());
    let all: Vec<&Sample> = samples.iter().collect();
    let config = TrainConfig { entropy_coefficient: 0.0, kl_coefficient: 0.01, ..config() };
    let mut trainer = Trainer::new(&policy, &config).unwrap();
    let before = logprobs(&policy, &all, &sampling());
    let mut metrics = UpdateMetrics::default();
    for step in 0..4 {
        metrics =
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(step)).unwrap();
    }
    let after = logprobs(&policy, &all, &sampling());
    let gain: f32 = rows(&samples)
        .iter()
        .zip(before.iter().zip(&after))
        .map(|(row, (before, after))| {
            row.advantage.unwrap() * (after.iter().sum::<f32>() - before.iter().sum::<f32>())
        })
        .sum();
    assert!(gain > 1.0, "{gain}");
    assert!(
        metrics.kl > 0.0 && metrics.movement > 0.0 && metrics.clip_high_share > 0.0,
        "{metrics:?}"
    );
    assert_eq!((metrics.samples, metrics.optimizer_steps, metrics.skipped_steps), (64, 1, 0));
}

#[test]
fn the_first_update_reports_no_mismatch() {
    let mut policy = policy(6);
    let sampling = Sampling { temperature: 0.8, top_p: 0.9, ..sampling() };
    let samples = samples(&policy, 10, &sampling);
    let mut trainer = Trainer::new(&policy, &config()).unwrap();
    let metrics = trainer
        .update(&mut policy, &rows(&samples), &sampling.clone().into(), Seed::new(1))
        .unwrap();
    assert!(metrics.largest_logprob_difference < 1e-4 && metrics.mismatch < 1e-6, "{metrics:?}");
    assert_eq!((metrics.clip_low_share, metrics.clip_high_share), (0.0, 0.0));
    let answers: usize = samples.iter().map(|sample| sample.completion.tokens.len()).sum();
    let prompts: usize = samples.iter().step_by(4).map(|sample| sample.prompt.len()).sum();
    assert_eq!(metrics.tokens, answers + prompts);
}

#[test]
fn movement_is_that_of_all_steps_and_never_below_zero() {
    for minibatch_samples in [0, 16] {
        let mut policy = policy(20);
        // So few that all of them are measured.
        let samples = samples(&policy, 8, &sampling());
        let all: Vec<&Sample> = samples.iter().collect();
        let before = logprobs(&policy, &all, &sampling());
        let mut trainer =
            Trainer::new(&policy, &TrainConfig { minibatch_samples, ..config() }).unwrap();
        let metrics =
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
        let after = logprobs(&policy, &all, &sampling());
        let pairs = before.iter().flatten().zip(after.iter().flatten());
        let k3 = |(before, after): (&f32, &f32)| {
            let difference = f64::from(after - before);
            difference.exp() - difference - 1.0
        };
        let tokens = before.iter().flatten().count() as f64;
        let expected = pairs.map(k3).sum::<f64>() / tokens;
        assert!(metrics.moved && (metrics.movement / expected - 1.0).abs() < 1e-3, "{metrics:?}");
    }
    let mut policy = policy(20);
    let samples = samples(&policy, 16, &sampling());
    let still = TrainConfig { max_gradient_norm: 0.0, ..config() };
    let mut trainer = Trainer::new(&policy, &still).unwrap();
    let metrics = trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
    assert_eq!((metrics.movement, metrics.moved, metrics.compared), (0.0, false, 64));
    assert_eq!(metrics.optimizer_steps, 1, "it believes to have made a step");
}

#[test]
fn a_policy_is_measured_on_all_its_answers_and_not_on_those_it_learns_from() {
    let policy = policy(21);
    let samples = samples(&policy, 16, &sampling());
    let all: Vec<&Sample> = samples.iter().collect();
    let config = TrainConfig { kl_coefficient: 0.1, ..config() };
    let measure = |kept: usize| {
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let mut copy = policy.duplicate().unwrap();
        let (rows, seed) = (&rows(&samples)[..kept], Seed::new(1));
        let samples = &all[..];
        let member = Member { trainer: &mut trainer, policy: &mut copy, rows, samples, seed };
        update_together(vec![member], &by_role()).unwrap().remove(0)
    };
    let (few, none, every) = (measure(4), measure(0), measure(64));
    assert!(every.entropy > 1.0);
    for metrics in [few, none] {
        assert_eq!(metrics.entropy, every.entropy);
        assert_eq!(metrics.mismatch, every.mismatch);
    }
}

#[test]
fn the_rate_that_suits_a_policy_depends_on_what_it_could_lose() {
    let large = PolicyConfig {
        hidden_size: 512,
        layers: 6,
        intermediate_size: 1536,
        ..PolicyConfig::default()
    };
    let large = Policy::random(&large, &[], Seed::new(1), Device::cpu()).unwrap();
    let [small, _] = adapters(&policy(1));
    let [adapter, _] = adapters(&large);
    let rates = [&policy(1), &small, &adapter, &large].map(suitable_rate);
    assert_eq!(rates, [1e-3, 1e-3, 2e-4, 2e-5]);
    let destroyed = [&policy(1), &small, &adapter, &large].map(|policy| destroys(policy, 1e-3));
    assert_eq!(destroyed, [false, false, false, true]);
    assert_eq!(Trainer::new(&large, &config()).unwrap().config.learning_rate, 2e-5);
}

#[test]
fn the_entropy_bonus_raises_entropy() {
    let run = |entropy_coefficient| {
        let mut policy = policy(7);
        let samples = samples(&policy, 10, &sampling());
        let flat: Vec<CreditedSample> = samples
            .iter()
            .map(|sample| CreditedSample { sample, advantage: None, weight: 1.0 })
            .collect();
        let mut trainer =
            Trainer::new(&policy, &TrainConfig { entropy_coefficient, ..config() }).unwrap();
        let entropies: Vec<f64> = (0..3)
            .map(|step| {
                trainer.update(&mut policy, &flat, &by_role(), Seed::new(step)).unwrap().entropy
            })
            .collect();
        entropies[2] - entropies[0]
    };
    assert!(run(0.0).abs() < 1e-5);
    assert!(run(0.1) > 0.0);
}

#[test]
fn a_small_policy_learns_answers_by_heart() {
    let mut policy = policy(8);
    let examples: Vec<Example> = (0..4)
        .map(|index| Example {
            prompt: prompt(Seed::new(index), 6),
            answer: vec![5 + index as u32, 9, 5 + index as u32, 2],
        })
        .collect();
    let config = TrainConfig {
        learning_rate: 1e-2,
        weight_decay: 0.01,
        decay: troupe_core::config::Decay::Constant,
        ..config()
    };
    let mut trainer = Trainer::new(&policy, &config).unwrap();
    let losses: Vec<f64> =
        (0..60).map(|_| trainer.imitate(&mut policy, &examples).unwrap().loss).collect();
    assert!(losses[0] > 2.5 && losses[59] < 0.05, "{losses:?}");
    let requests: Vec<Request> = examples
        .iter()
        .map(|example| Request { prompt: example.prompt.clone(), seeds: vec![Seed::new(0)] })
        .collect();
    let answers = policy.generate(&requests, &Sampling::greedy(8)).unwrap();
    for (example, answers) in examples.iter().zip(answers) {
        assert_eq!(example.answer, answers[0].tokens);
    }
}

#[test]
fn weights_of_16_bits_learn_through_their_copy_in_32() {
    let folder = tempfile::tempdir().unwrap();
    policy(8).save(folder.path()).unwrap();
    let path = folder.path().join("config.json");
    let config_json = std::fs::read_to_string(&path).unwrap().replace("float32", "bfloat16");
    std::fs::write(path, config_json).unwrap();
    let mut policy = Policy::load(folder.path(), Device::cpu()).unwrap();
    let example = Example { prompt: prompt(Seed::new(1), 6), answer: vec![5, 9, 7, 2] };
    let mut trainer = Trainer::new(&policy, &config()).unwrap();
    let before = trainer.imitate(&mut policy, std::slice::from_ref(&example)).unwrap().loss;
    for _ in 0..30 {
        trainer.imitate(&mut policy, std::slice::from_ref(&example)).unwrap();
    }
    trainer.save(folder.path()).unwrap();
    policy.save(folder.path()).unwrap();
    let mut resumed = Policy::load(folder.path(), Device::cpu()).unwrap();
    let mut copy = Trainer::new(&resumed, &config()).unwrap();
    copy.load(folder.path()).unwrap();
    let after = trainer.imitate(&mut policy, std::slice::from_ref(&example)).unwrap();
    assert!(before > 2.5 && after.loss < 0.5, "{before} {after:?}");
    assert_eq!(copy.imitate(&mut resumed, &[example]).unwrap(), after);
    assert_eq!(policy.digest().unwrap(), resumed.digest().unwrap());
}

#[test]
fn rows_that_cannot_be_learned_from_are_refused() {
    let mut policy = policy(1);
    let samples = samples(&policy, 1, &sampling());
    let mut trainer = Trainer::new(&policy, &config()).unwrap();
    let mut refuse = |change: &dyn Fn(&mut Sample, &mut f32, &mut Sampling)| {
        let (mut sample, mut advantage, mut sampling) = (samples[0].clone(), 1.0, sampling());
        change(&mut sample, &mut advantage, &mut sampling);
        let rows = [CreditedSample { sample: &sample, advantage: Some(advantage), weight: 1.0 }];
        trainer.update(&mut policy, &rows, &sampling.into(), Seed::new(0)).unwrap_err().to_string()
    };
    assert!(
        refuse(&|sample, _, _| sample.completion.logprobs.push(0.0)).contains("log-probabilities")
    );
    assert!(refuse(&|_, advantage, _| *advantage = f32::NAN).contains("advantage is NaN"));
    assert!(refuse(&|_, _, sampling| sampling.temperature = 0.0).contains("sample above 0"));
    let empty = Completion {
        tokens: vec![],
        logprobs: vec![],
        text: String::new(),
        stop: StopReason::Length,
        forced: vec![],
        usage: None,
    };
    assert!(refuse(&|sample, _, _| sample.completion = empty.clone()).contains("no tokens"));
    let none = trainer.update(&mut policy, &[], &by_role(), Seed::new(0)).unwrap();
    assert_eq!((none.samples, none.optimizer_steps), (0, 0));
}

#[test]
fn prompts_that_begin_alike_teach_together_what_they_teach_alone() {
    let start = policy(21);
    let beginning = prompt(Seed::new(99), 24);
    let mut samples = samples(&start, 9, &sampling());
    for sample in &mut samples {
        sample.prompt = beginning.iter().chain(&*sample.prompt).copied().collect();
    }
    // Two in three begin alike; one prompt is the beginning of others.
    for sample in samples.iter_mut().filter(|sample| sample.task % 3 == 0) {
        sample.prompt = match sample.task {
            0 => beginning.clone(),
            _ => sample.prompt[24..].into(),
        };
    }
    let run = |microbatch_tokens| {
        let mut policy = start.duplicate().unwrap();
        // Without momentum or scaling, the weights are the gradient.
        let config = TrainConfig { microbatch_tokens, epsilon: 1e3, ..config() };
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let metrics =
            trainer.update(&mut policy, &rows(&samples), &by_role(), Seed::new(1)).unwrap();
        (policy, metrics)
    };
    let ((together, joined), (apart, single)) = (run(16_384), run(1));
    assert!(distance(&together, &start) > 0.0);
    assert!(distance(&together, &apart) <= 1e-5 * distance(&together, &start));
    assert!((joined.entropy - single.entropy).abs() < 1e-6);
}
