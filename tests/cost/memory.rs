//! The plan of memory, held against what was taken: a model with the proportions of Qwen3-1.7B,
//! part by part.

use std::sync::Arc;

use pretend_cuda::Card;
use troupe_core::config::{Choice, LoraConfig, RolloutConfig, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, Request, Sampling};
use troupe_trainer::{Base, Load, Machine, Member, Plan, Trainer, update_together};

use crate::shape::Shape;
use crate::updates::{ANSWER, BRANCHES, PROMPT, credited, samples};
use crate::{alone, device};

const GROUPS: usize = 8;
const LAYERS: i64 = 4;
/// Two groups are a pass.
const PASS: usize = 1200;

/// What was taken at most, beside what was there before.
fn peak(card: Card, work: impl FnOnce()) -> u64 {
    card.forget();
    let before = card.memory(0).current;
    work();
    card.memory(0).peak - before
}

/// No more than was planned, and no less than nine tenths.
fn assert_planned(part: &str, planned: u64, taken: u64) {
    let share = taken as f64 / planned as f64;
    assert!((0.9..=1.001).contains(&share), "{part}: {planned} planned, {taken} taken");
}

fn draw(policy: &Policy) {
    let request = |prompt: usize| {
        let words: Arc<[u32]> =
            (0..PROMPT).map(|at| (4 + (7 * at + 13 * prompt) % 400) as u32).collect();
        Request { prompt: words, seeds: (0..BRANCHES as u64).map(Seed::new).collect() }
    };
    let requests: Vec<Request> = (0..GROUPS).map(request).collect();
    policy.generate(&requests, &Sampling::plain(ANSWER)).unwrap();
}

fn learn(policies: &mut [Policy], trainers: &mut [Trainer]) {
    let samples = samples(GROUPS);
    let (rows, all) = (credited(&samples), samples.iter().collect::<Vec<&Sample>>());
    let members = policies.iter_mut().zip(trainers).map(|(policy, trainer)| Member {
        trainer,
        policy,
        rows: &rows,
        samples: &all,
        seed: Seed::new(1),
    });
    update_together(members.collect(), &Sampling::plain(ANSWER).into()).unwrap();
}

fn plan(policies: &[Policy], train: &TrainConfig) -> Plan {
    let rollout = RolloutConfig {
        branches: BRANCHES,
        max_completion_tokens: ANSWER,
        cache_gib: 1.0,
        ..RolloutConfig::default()
    };
    let members: Vec<(&Policy, bool)> = policies.iter().map(|policy| (policy, true)).collect();
    let groups = (GROUPS * policies.len()) as u64;
    let (prompt, asked) = (PROMPT as u64, GROUPS as u64);
    let load = Load { prompt, groups, asked, examined: 0, roles: 1, critics: 0 };
    let (memory, host_memory) = (Some(1 << 34), Some(1 << 34));
    let machine = Machine { gpu: true, threads: 1, memory, host_memory, program: 0, world: 1 };
    Plan::of(&Base::of_policies(&members), train, &rollout, &load, &machine).unwrap()
}

/// Two adapters over a base, or all of its weights.
fn team(adapters: bool) -> Vec<Policy> {
    let base = Shape::named("small").unwrap().policy(LAYERS, device());
    match adapters {
        false => vec![base],
        true => {
            [1, 2].map(|seed| base.adapt(&LoraConfig::default(), Seed::new(seed)).unwrap()).into()
        }
    }
}

#[test]
fn what_is_taken_is_planned_for_part_by_part() {
    let (card, _alone) = alone();
    for (adapters, checkpointing) in
        [(false, Choice::Off), (false, Choice::On), (true, Choice::Off), (true, Choice::On)]
    {
        let train = TrainConfig {
            gradient_checkpointing: checkpointing,
            offload_optimizer: Choice::Off,
            microbatch_tokens: PASS,
            warmup_steps: 0,
            ..TrainConfig::default()
        };
        let before = card.memory(0).current;
        let mut policies = team(adapters);
        let plan = plan(&policies, &train);
        assert_planned("weights", plan.weights, card.memory(0).current - before);
        assert_planned("rollout", plan.cached + plan.working, peak(card, || draw(&policies[0])));

        let before = card.memory(0).current;
        let mut trainers: Vec<Trainer> =
            policies.iter().map(|policy| Trainer::new(policy, &train).unwrap()).collect();
        learn(&mut policies, &mut trainers);
        assert_planned("optimizer", plan.optimizer, card.memory(0).current - before);
        let update = peak(card, || learn(&mut policies, &mut trainers));
        assert_planned("update", plan.gradients + plan.activations, update);
    }
}
