//! An update.

use std::sync::Arc;

use pretend_cuda::{Card, Costs};
use troupe_core::config::TrainConfig;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Sample, StopReason};
use troupe_model::{Policy, Sampling};
use troupe_trainer::{CreditedSample, Trainer};

use crate::shape::Shape;

/// Groups, answers of each, and tokens of prompts and answers.
const GROUPS: usize = 4;
pub const BRANCHES: usize = 8;
pub const PROMPT: usize = 64;
pub const ANSWER: usize = 64;

/// Tokens that go through a policy: a group's prompt once.
pub const TOKENS: u64 = (GROUPS * (PROMPT + BRANCHES * ANSWER)) as u64;

pub fn samples(groups: usize) -> Vec<Sample> {
    let tokens = |seed: usize, count: usize| -> Vec<u32> {
        (0..count).map(|at| (4 + (11 * at + 29 * seed) % 400) as u32).collect()
    };
    let sample = |group: usize, branch: usize| {
        let prompt: Arc<[u32]> = tokens(group, PROMPT).into();
        let answer = tokens(100 + group * BRANCHES + branch, ANSWER);
        let completion = Completion {
            logprobs: vec![-6.0; answer.len()],
            tokens: answer,
            text: String::new(),
            stop: StopReason::Length,
            forced: Default::default(),
            usage: Default::default(),
        };
        Sample {
            policy: "solo".to_owned(),
            prompt,
            completion,
            ..troupe_core::example::sample(group, 0, 0, "solver", branch)
        }
    };
    (0..groups).flat_map(|group| (0..BRANCHES).map(move |branch| sample(group, branch))).collect()
}

pub fn credited(samples: &[Sample]) -> Vec<CreditedSample<'_>> {
    let credit = |sample: &Sample| sample.branch as f32 - 3.5;
    let row = |sample| CreditedSample { sample, advantage: Some(credit(sample)), weight: 1.0 };
    samples.iter().map(row).collect()
}

/// What an update of all weights costs.
pub fn update(card: Card, policy: &Policy, config: &TrainConfig) -> Costs {
    let mut policy = policy.duplicate().unwrap();
    let samples = samples(GROUPS);
    let rows = credited(&samples);
    let mut trainer = Trainer::new(&policy, config).unwrap();
    card.forget();
    trainer.update(&mut policy, &rows, &Sampling::plain(ANSWER).into(), Seed::new(1)).unwrap();
    card.costs()
}

/// What the products of a layer multiply over a forward and a backward pass, 6·N·tokens (arXiv
/// 2001.08361, section 2.1).
pub fn over_least(shape: &Shape, layer: &Costs) -> f64 {
    let products = layer.of("aten::mm").flops + layer.of("aten::addmm").flops;
    products as f64 / (6 * shape.layer_weights() * TOKENS) as f64
}
