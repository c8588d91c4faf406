//! Updates on a card.

use std::sync::Arc;

use troupe_core::config::{Choice, Objective, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Device, Policy, Sampling};
use troupe_trainer::{CreditedSample, Member, Trainer, UpdateMetrics, update_together};

use crate::models::{card, request, team};

/// The weights that a policy trains.
fn weights(policy: &Policy) -> Vec<f32> {
    let buffer = policy.trainable().buffer().to_device(tch::Device::Cpu);
    Vec::try_from(buffer.to_kind(tch::Kind::Float).view([-1])).unwrap()
}

/// Groups of answers that a policy drew.
fn samples(policy: &Policy, sampling: &Sampling) -> Vec<Sample> {
    let requests: Vec<_> = (0..7).map(|i| request(i, 6 + 4 * i as usize, 4)).collect();
    let answers = policy.generate(&requests, sampling).unwrap();
    let groups = requests.iter().zip(answers).enumerate();
    let of = |(task, (request, answers)): (usize, (&troupe_model::Request, Vec<_>))| {
        let prompt: Arc<[u32]> = request.prompt.clone();
        let sample = move |(branch, completion)| Sample {
            policy: "solo".to_owned(),
            prompt: prompt.clone(),
            completion,
            ..troupe_core::example::sample(task, 0, 0, "solver", branch)
        };
        answers.into_iter().enumerate().map(sample).collect::<Vec<_>>()
    };
    groups.flat_map(of).collect()
}

/// Two steps of both adapters of a team, or of all weights of its base; the weights then, and what
/// the last step measured.
fn trained(
    mut team: Vec<Policy>,
    all_weights: bool,
    config: &TrainConfig,
    drawn: &[Vec<Sample>],
) -> (Vec<Vec<f32>>, Vec<UpdateMetrics>) {
    let mut learners: Vec<Policy> =
        if all_weights { team.drain(2..).collect() } else { team.drain(..2).collect() };
    let mut trainers: Vec<Trainer> =
        learners.iter().map(|policy| Trainer::new(policy, config).unwrap()).collect();
    let mut metrics = Vec::new();
    for step in 0..2 {
        let rows: Vec<Vec<CreditedSample>> = drawn.iter().map(|all| rows(all)).collect();
        let samples: Vec<Vec<&Sample>> = drawn.iter().map(|all| all.iter().collect()).collect();
        let members = learners.iter_mut().zip(&mut trainers).zip(rows.iter().zip(&samples));
        let members = members.map(|((policy, trainer), (rows, samples))| Member {
            trainer,
            policy,
            rows,
            samples,
            seed: Seed::new(step),
        });
        metrics = update_together(members.collect(), &Sampling::plain(12).into()).unwrap();
    }
    (learners.iter().map(weights).collect(), metrics)
}

fn rows(samples: &[Sample]) -> Vec<CreditedSample<'_>> {
    let advantage = |sample: &Sample| sample.branch as f32 - 1.5;
    let row = |sample| CreditedSample { sample, advantage: Some(advantage(sample)), weight: 1.0 };
    samples.iter().map(row).collect()
}

/// What is trained on the card is what is trained on the CPU, but for the last digits. With this
/// epsilon the optimizer moves weights by their gradients.
fn same(name: &str, all_weights: bool, config: TrainConfig) {
    let config = TrainConfig { warmup_steps: 0, epsilon: 1e-2, minibatch_samples: 10, ..config };
    let there = team(name, Device::cpu());
    let drawn: Vec<Vec<Sample>> = (if all_weights { &there[2..] } else { &there[..2] })
        .iter()
        .map(|policy| samples(policy, &Sampling::plain(12)))
        .collect();
    let before: Vec<Vec<f32>> =
        (if all_weights { &there[2..] } else { &there[..2] }).iter().map(weights).collect();
    let (on_card, left) = trained(team(name, card()), all_weights, &config, &drawn);
    let (on_cpu, right) = trained(there, all_weights, &config, &drawn);
    for ((before, card), cpu) in before.iter().zip(&on_card).zip(&on_cpu) {
        let moved = distance(before, cpu);
        assert!(moved > 1e-5, "{name}: {moved}");
        let apart = distance(card, cpu);
        assert!(apart < 1e-2 * moved, "{name} {:?}: {apart} of {moved}", config.objective);
    }
    for (left, right) in left.iter().zip(&right) {
        assert!((left.loss - right.loss).abs() < 1e-4, "{left:?} {right:?}");
        assert!((left.gradient_norm / right.gradient_norm - 1.0).abs() < 1e-3);
        assert!((left.entropy - right.entropy).abs() < 1e-4);
        assert_eq!((left.tokens, left.optimizer_steps), (right.tokens, right.optimizer_steps));
    }
}

fn distance(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn every_objective_moves_a_team_as_on_the_cpu() {
    for objective in [
        Objective::Surrogate,
        Objective::Gspo,
        Objective::MGrpo,
        Objective::Cispo,
        Objective::Reinforce,
        Objective::Likelihood,
        Objective::WeightedLikelihood,
        Objective::Preference,
    ] {
        same(
            "llama3",
            false,
            TrainConfig { objective, kl_coefficient: 0.05, ..Default::default() },
        );
    }
}

#[test]
fn every_family_is_moved_as_on_the_cpu() {
    for name in ["qwen3", "qwen3-moe", "gemma3", "qwen3-window"] {
        for all_weights in [true, false] {
            same(
                name,
                all_weights,
                TrainConfig { entropy_coefficient: 0.01, ..Default::default() },
            );
        }
    }
}

#[test]
fn checkpointing_offloading_and_small_micro_batches_change_nothing() {
    for config in [
        TrainConfig { gradient_checkpointing: Choice::On, ..Default::default() },
        TrainConfig { offload_optimizer: Choice::On, ..Default::default() },
        TrainConfig { microbatch_tokens: 60, ..Default::default() },
        TrainConfig { max_movement: 0.0, ..Default::default() },
    ] {
        for all_weights in [true, false] {
            same("gemma3", all_weights, config.clone());
        }
    }
}
