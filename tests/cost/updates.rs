//! An update.

use std::sync::Arc;

use pretend_cuda::{Card, Costs};
use troupe_core::config::TrainConfig;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Sample, StopReason};
use troupe_model::{Policy, Sampling};
use troupe_trainer::{CreditedSample, Member, Trainer, update_together};

/// Groups, answers of each, and tokens of prompts and answers.
const GROUPS: usize = 4;
const BRANCHES: usize = 8;
const PROMPT: usize = 64;
const ANSWER: usize = 64;

/// Tokens that go through a policy: a group's prompt once.
pub const TOKENS: u64 = (GROUPS * (PROMPT + BRANCHES * ANSWER)) as u64;

fn samples() -> Vec<Sample> {
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
    (0..GROUPS).flat_map(|group| (0..BRANCHES).map(move |branch| sample(group, branch))).collect()
}

/// What an update of all weights costs, in kernels and in bytes at its peak beside those that are
/// there before and after.
pub fn update(card: Card, policy: &Policy, config: &TrainConfig) -> (Costs, u64) {
    let mut policy = policy.duplicate().unwrap();
    let samples = samples();
    let rows: Vec<CreditedSample> = samples
        .iter()
        .map(|sample| CreditedSample {
            sample,
            advantage: Some(sample.branch as f32 - 3.5),
            weight: 1.0,
        })
        .collect();
    let all: Vec<&Sample> = samples.iter().collect();
    let mut trainer = Trainer::new(&policy, config).unwrap();
    card.forget();
    let before = card.memory(0).current;
    let member =
        Member { trainer: &mut trainer, policy: &mut policy, rows: &rows, samples: &all, seed: Seed::new(1) };
    update_together(vec![member], &Sampling::plain(ANSWER).into()).unwrap();
    (card.costs(), card.memory(0).peak - before)
}
