//! Updates of a policy whose weights are elsewhere.
//!
//! The same three steps for every objective: score, weigh, descend. The server scores the answers,
//! `objective::weigh` says here how much every token's log-probability pulls, and the server
//! descends on that: ∇L = Σ (∂L/∂log π)·∇log π. The clipped surrogate needs no score of its own
//! where servers have it. What has no such form (the entropy of a whole distribution) does not
//! cross.

mod update;

use std::fmt;

use crate::caution::Caution;
use crate::error::DistantError;
use crate::sample::CreditedSample;
use crate::schedule;
use troupe_core::config::{Objective, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;

pub use update::update_distant;

/// What is descended on: numbers for each token of each answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Pulls {
    /// Σ slope·log π, at answers whose log-probabilities are `now`.
    Slopes {
        /// log π as it was just scored.
        now: Vec<Vec<f32>>,
        /// ∂(−L)/∂log π.
        slopes: Vec<Vec<f32>>,
    },
    /// Σ min(r·gain, clip(r)·gain) with r = π / e^anchor (PPO, arXiv 1707.06347, equation 7).
    Clipped {
        /// Where ratios begin.
        anchor: Vec<Vec<f32>>,
        /// Advantages times what each token counts.
        gains: Vec<Vec<f32>>,
        /// The bounds of r.
        bounds: (f64, f64),
    },
}

/// An optimizer step: AdamW's settings, which go with every step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistantStep {
    /// Learning rate.
    pub rate: f64,
    /// β₁, β₂.
    pub betas: (f64, f64),
    /// ε.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// The largest norm of the gradient.
    pub norm: f64,
}

/// What a step came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Descended {
    /// log π of every token as the gradient was taken.
    pub logprobs: Vec<Vec<f32>>,
    /// L2 norm of the gradient, where that is known.
    pub norm: Option<f64>,
}

/// A policy whose weights are elsewhere.
pub trait Distant: fmt::Debug + Sync {
    /// Log-probabilities of the tokens of some answers, none of which is cut or scaled.
    ///
    /// # Errors
    /// If they cannot be had.
    fn score(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError>;

    /// The same under the policy as training began.
    ///
    /// # Errors
    /// If they cannot be had.
    fn score_at_first(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError>;

    /// One optimizer step on the sum over these answers.
    ///
    /// # Errors
    /// If it cannot be made; then the weights are what was kept, or are lost.
    fn descend(
        &self,
        answers: &[&Sample],
        pulls: &Pulls,
        step: DistantStep,
    ) -> Result<Descended, DistantError>;

    /// Keep weights and moments as they are: what is gone back to once the step is settled.
    ///
    /// # Errors
    /// If they cannot be kept.
    fn keep(&self) -> Result<(), DistantError>;

    /// Go back to what was kept and settled last, weights and moments.
    ///
    /// # Errors
    /// If that cannot be had.
    fn go_back(&self) -> Result<(), DistantError>;

    /// Whether, after this error, the policy stands again where it was kept last, so that what
    /// failed may be done anew.
    ///
    /// # Errors
    /// If it was to be brought back and could not be.
    fn recovers(&self, error: &DistantError) -> Result<bool, DistantError>;
}

/// What of a distant policy's training is here.
#[derive(Clone, Debug)]
pub struct DistantTrainer {
    config: TrainConfig,
    /// Updates made; the learning rate depends on it.
    step: usize,
    /// Factor on it since an update moved the policy too far.
    caution: Caution,
    /// Share of the run's budget that is spent, if it has one.
    spent: Option<f64>,
}

/// A distant policy in an update, and what it learns from.
pub struct DistantMember<'a> {
    /// What of its training is here.
    pub trainer: &'a mut DistantTrainer,
    /// The policy.
    pub policy: &'a dyn Distant,
    /// Those of its answers that it learns from.
    pub rows: &'a [CreditedSample<'a>],
    /// All its answers: what it is measured on.
    pub samples: &'a [&'a Sample],
    /// Decides the order of its mini-batches, and which answers are measured.
    pub seed: Seed,
}

impl DistantTrainer {
    /// Peak learning rate of an adapter over a language model.
    pub const SUITABLE_RATE: f64 = 2e-4;

    /// At its first update. A learning rate of 0 is the one that suits an adapter.
    pub fn new(config: &TrainConfig) -> Self {
        let mut config = config.clone();
        if config.learning_rate == 0.0 {
            config.learning_rate = DistantTrainer::SUITABLE_RATE;
        }
        DistantTrainer { config, step: 0, caution: Caution::default(), spent: None }
    }

    /// For a run with a budget: how much is spent.
    pub fn set_spent(&mut self, share: Option<f64>) {
        self.spent = share;
    }

    /// Updates made.
    pub fn step(&self) -> usize {
        self.step
    }

    /// How carefully the next one is made.
    pub fn caution(&self) -> Caution {
        self.caution
    }

    /// Go on after so many updates, so carefully.
    pub fn go_on(&mut self, step: usize, caution: Caution) {
        (self.step, self.caution) = (step, caution);
    }

    fn optimizer_step(&self, caution: Caution) -> DistantStep {
        let TrainConfig { beta1, beta2, epsilon, weight_decay, .. } = self.config;
        DistantStep {
            rate: caution.factor() * schedule::learning_rate(&self.config, self.step, self.spent),
            betas: (beta1, beta2),
            epsilon,
            weight_decay,
            norm: self.config.max_gradient_norm,
        }
    }

    /// Whether servers have the objective as it is.
    fn is_native(&self) -> bool {
        let TrainConfig { objective, clip_dual, kl_coefficient, .. } = self.config;
        objective == Objective::Surrogate && clip_dual == 0.0 && kl_coefficient == 0.0
    }
}
