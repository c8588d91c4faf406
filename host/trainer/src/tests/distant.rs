//! Policies elsewhere learn what they would learn here.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::*;
use crate::bundle::{self, Bundle};
use crate::learner::Learner;
use crate::metrics::Tally;
use crate::objective::{Pull, Weighted};
use crate::{
    Descended, Distant, DistantError, DistantMember, DistantStep, DistantTrainer, Pulls,
    update_distant,
};
use troupe_core::config::{AnchorChoice, Importance, Objective};

/// A policy that is spoken to as if it were elsewhere. It knows what it is sent and nothing else.
#[derive(Debug)]
struct Elsewhere(Mutex<State>);

#[derive(Debug)]
struct State {
    policy: Policy,
    trainer: Trainer,
    first: Policy,
    kept: (Policy, Trainer),
    next: Option<(Policy, Trainer)>,
    /// Requests after which the server is started anew, if it is.
    restarts_after: Option<usize>,
    scored: usize,
}

impl Elsewhere {
    fn new(policy: &Policy, config: &TrainConfig) -> Self {
        // It is told the rate of every step.
        let plain = TrainConfig {
            objective: Objective::Reinforce,
            kl_coefficient: 0.0,
            warmup_steps: 0,
            ..config.clone()
        };
        let trainer = Trainer::new(policy, &plain).unwrap();
        let copy = || policy.duplicate().unwrap();
        Elsewhere(Mutex::new(State {
            policy: copy(),
            first: copy(),
            kept: (copy(), trainer.duplicate().unwrap()),
            next: None,
            trainer,
            restarts_after: None,
            scored: 0,
        }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self) {
        let mut state = self.state();
        state.kept = state.next.take().expect("it was kept");
    }
}

impl State {
    fn asked(&mut self) -> Result<(), DistantError> {
        self.scored += 1;
        match self.restarts_after.take_if(|after| self.scored > *after) {
            Some(_) => Err(DistantError(Box::new(io::Error::other("not loaded")))),
            None => Ok(()),
        }
    }

    fn go_back(&mut self) {
        self.policy = self.kept.0.duplicate().unwrap();
        self.trainer = self.kept.1.duplicate().unwrap();
    }
}

impl Distant for Elsewhere {
    fn score(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError> {
        let mut state = self.state();
        state.asked()?;
        Ok(logprobs(&state.policy, answers, &sampling()))
    }

    fn score_at_first(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError> {
        let mut state = self.state();
        state.asked()?;
        Ok(logprobs(&state.first, answers, &sampling()))
    }

    fn descend(
        &self,
        answers: &[&Sample],
        pulls: &Pulls,
        step: DistantStep,
    ) -> Result<Descended, DistantError> {
        let mut state = self.state();
        state.asked()?;
        let now = logprobs(&state.policy, answers, &sampling());
        let slopes: Vec<Vec<f32>> = match pulls {
            Pulls::Slopes { slopes, .. } => slopes.clone(),
            Pulls::Clipped { anchor, gains, bounds: (low, high) } => {
                let slope = |((now, anchor), gain): ((&f32, &f32), &f32)| {
                    let ratio = (now - anchor).exp();
                    let clipped = f64::from(ratio) < *low && *gain < 0.0
                        || f64::from(ratio) > *high && *gain > 0.0;
                    if clipped { 0.0 } else { ratio * gain }
                };
                let answer = |((now, anchor), gains): ((&Vec<f32>, &Vec<f32>), &Vec<f32>)| {
                    now.iter().zip(anchor).zip(gains).map(slope).collect()
                };
                now.iter().zip(anchor).zip(gains).map(answer).collect()
            }
        };
        let rows: Vec<CreditedSample> = (answers.iter())
            .map(|sample| CreditedSample { sample, advantage: None, weight: 1.0 })
            .collect();
        let by_role = by_role();
        let bundles = bundle::of_samples(answers.iter().copied(), &by_role, &[]);
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        let plain = TrainConfig { entropy_coefficient: 0.0, ..TrainConfig::default() };
        let pull = |slope: &f32| Pull { slope: f64::from(*slope), ..Pull::default() };
        let pulled = slopes.iter().map(|slopes| slopes.iter().map(pull).collect()).enumerate();
        let objective = Weighted::new(&plain, &by_role, &rows, &bundles).pulled(pulled);
        let State { policy, trainer, .. } = &mut *state;
        let learner = Learner { policy, reference: None, objective: &objective };
        let numbered: Vec<(usize, &Bundle)> = bundles.iter().map(|bundle| (0, *bundle)).collect();
        let gradient = trainer.gradients(&[learner], &numbered).unwrap().remove(0);
        let norm = gradient.buffer.norm().double_value(&[]);
        trainer.config.learning_rate = step.rate;
        let mut tally = Tally::new(step.rate);
        trainer.apply(policy, gradient, &mut tally).unwrap();
        Ok(Descended { logprobs: now, norm: Some(norm) })
    }

    fn keep(&self) -> Result<(), DistantError> {
        let mut state = self.state();
        state.asked()?;
        state.next = Some((state.policy.duplicate().unwrap(), state.trainer.duplicate().unwrap()));
        Ok(())
    }

    fn go_back(&self) -> Result<(), DistantError> {
        self.state().go_back();
        Ok(())
    }

    fn recovers(&self, error: &DistantError) -> Result<bool, DistantError> {
        let cause: &(dyn std::error::Error + 'static) = &*error.0;
        let known = cause.downcast_ref::<io::Error>().is_some();
        if known {
            self.state().go_back();
        }
        Ok(known)
    }
}

/// Two steps here and elsewhere; gives both, and what was reported.
fn both(config: &TrainConfig, restarts_after: Option<usize>) -> [(Policy, Vec<UpdateMetrics>); 2] {
    let [start, _] = adapters(&policy(11));
    let mut here = start.duplicate().unwrap();
    let mut trainer = Trainer::new(&here, config).unwrap();
    let there = Elsewhere::new(&start, config);
    there.state().restarts_after = restarts_after;
    let mut away = DistantTrainer::new(config);
    let (mut reported, mut reported_away) = (Vec::new(), Vec::new());
    for step in 0..2 {
        // Drawn by another policy, so that ratios are others than 1.
        let [_, other] = adapters(&policy(11));
        let samples = samples(&other, 5 + step, &sampling());
        let mut rows = rows(&samples);
        rows[3].advantage = None;
        rows[4].weight = 2.0;
        let seed = Seed::new(step);
        reported.push(trainer.update(&mut here, &rows, &by_role(), seed).unwrap());
        let all: Vec<&Sample> = samples.iter().collect();
        let (rows, samples) = (&rows[..], &all[..]);
        let mut member = DistantMember { trainer: &mut away, policy: &there, rows, samples, seed };
        reported_away.push(update_distant(&mut member, &by_role()).unwrap());
        there.settle();
    }
    let there = there.state().policy.duplicate().unwrap();
    [(here, reported), (there, reported_away)]
}

/// As far as what crosses says all: without a bonus for entropy. With ε at 1 a gradient's scale
/// shows in the weights.
fn crossing(objective: Objective) -> TrainConfig {
    TrainConfig {
        objective,
        entropy_coefficient: 0.0,
        learning_rate: 0.5,
        epsilon: 1.0,
        max_gradient_norm: 1e9,
        max_movement: 0.0,
        minibatch_samples: 8,
        epochs: 2,
        ..config()
    }
}

fn agree([(here, reported), (there, away)]: [(Policy, Vec<UpdateMetrics>); 2], what: &str) {
    let moved = distance(&here, &adapters(&policy(11))[0]);
    let apart = distance(&here, &there);
    assert!(moved > 1e-3 && apart < 3e-3 * moved, "{what}: {apart} of {moved}");
    for (here, away) in reported.iter().zip(&away) {
        for (name, one, other) in [
            ("loss", here.loss, away.loss),
            ("kl", here.kl, away.kl),
            ("mismatch", here.mismatch, away.mismatch),
            ("movement", here.movement, away.movement),
            ("gradient_norm", here.gradient_norm, away.gradient_norm),
            ("clip_low_share", here.clip_low_share, away.clip_low_share),
            ("clip_high_share", here.clip_high_share, away.clip_high_share),
            ("capped_share", here.capped_share, away.capped_share),
        ] {
            // A token whose ratio is next to its bound may be held by rounding alone.
            let near = (one - other).abs() <= 3e-3 * one.abs() + 1e-6;
            assert!(near, "{what}: {name} {one} and {other}");
        }
        assert_eq!(
            (here.samples, here.compared, here.tokens, here.optimizer_steps),
            (away.samples, away.compared, away.tokens, away.optimizer_steps)
        );
    }
}

#[test]
fn a_policy_elsewhere_learns_the_same_by_every_objective() {
    for objective in Objective::ALL {
        agree(both(&crossing(objective), None), &format!("{objective:?}"));
    }
}

#[test]
fn anchors_weights_penalties_and_bounds_cross_as_well() {
    let surrogate = || crossing(Objective::Surrogate);
    let rescored = |importance| TrainConfig {
        anchor: AnchorChoice::Rescored,
        importance,
        importance_cap: 1.1,
        ..surrogate()
    };
    for config in [
        rescored(Importance::None),
        rescored(Importance::Truncate),
        rescored(Importance::Mask),
        TrainConfig { minibatch_samples: 0, epochs: 1, ..rescored(Importance::Truncate) },
        TrainConfig { objective: Objective::Gspo, ..rescored(Importance::MaskAnswer) },
        TrainConfig { kl_coefficient: 0.3, ..surrogate() },
        TrainConfig { clip_dual: 1.5, ..surrogate() },
        TrainConfig { loss_aggregation: LossAggregation::SampleMeanTokenMean, ..surrogate() },
        TrainConfig {
            // Sums are some times as large as means.
            learning_rate: 0.05,
            loss_aggregation: LossAggregation::SampleMeanTokenSum,
            ..surrogate()
        },
        TrainConfig { regularize: troupe_core::config::Regularize::Kept, ..surrogate() },
    ] {
        agree(both(&config, None), &format!("{config:?}"));
    }
}

#[test]
fn a_step_elsewhere_that_goes_too_far_is_taken_back_there() {
    let config = TrainConfig { max_movement: 0.1, ..crossing(Objective::Surrogate) };
    let both = both(&config, None);
    assert!(both[0].1[0].taken_back > 0, "{:?}", both[0].1);
    assert_eq!(both[0].1[0].taken_back, both[1].1[0].taken_back);
    agree(both, "taken back");
}

#[test]
fn an_update_that_a_restart_interrupts_is_made_anew_from_what_was_kept() {
    // While it rises, a learning rate says how many updates were counted.
    let config = TrainConfig {
        kl_coefficient: 0.3,
        warmup_steps: 4,
        minibatch_samples: 0,
        ..crossing(Objective::Gspo)
    };
    for requests in 0..12 {
        agree(both(&config, Some(requests)), &format!("restarted after {requests} requests"));
    }
}
