//! What an update reports.

use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;
use crate::caution::ATTEMPTS;
use crate::objective::Measured;
use crate::optimizer::Step;
use crate::ranks::{Ranks, RanksError};
use crate::sample::CreditedSample;

/// Figures of one [`crate::Trainer::update`]. Loss, clip shares and gradients
/// are those of what was learned from, over all mini-batches and epochs;
/// entropy, KL, mismatch and movement are means over the tokens of up to 256
/// of all the policy's answers, see `gauge`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateMetrics {
    /// Mean over the mini-batches of what was minimized.
    pub loss: f64,
    /// Entropy of the policy before the update, in nats per token; of one elsewhere what that is
    /// estimated at by the answers drawn, −log π.
    pub entropy: f64,
    /// KL divergence from the reference before the update, in nats per token;
    /// 0 without one.
    pub kl: f64,
    /// Share of tokens whose ratio was held up by `clip_low`.
    pub clip_low_share: f64,
    /// Share of tokens whose ratio was held down by `clip_high`.
    pub clip_high_share: f64,
    /// Mean of ρ − log ρ − 1 before the update, where ρ is a token's
    /// probability in training over that in sampling.
    pub mismatch: f64,
    /// Mean |log ρ| of these.
    #[serde(default)]
    pub mean_logprob_difference: f64,
    /// Largest |log ρ| of these.
    pub largest_logprob_difference: f64,
    /// Share of the tokens learned from whose importance weight the cap held, or that were left
    /// out for it.
    #[serde(default)]
    pub capped_share: f64,
    /// Mean of ρ − log ρ − 1, where ρ is a token's probability after the last optimizer step over
    /// that before the first: how far the policy moved. No token counts for more than 10 nats.
    pub movement: f64,
    /// How much less likely the update made answers with an advantage of 0 or more, in nats per
    /// token of those that are measured; nothing if none of these is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displacement: Option<f64>,
    /// How often the step was taken back because it moved the policy too far; all but the last
    /// time it was made again, with half the learning rate.
    #[serde(default, skip_serializing_if = "troupe_core::totals::is_zero")]
    pub taken_back: usize,
    /// How far the policy was moved when the step was taken back the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overshoot: Option<f64>,
    /// Whether any weight changed.
    pub moved: bool,
    /// Mean L2 norm of the gradients before clipping, skipped ones left out.
    pub gradient_norm: f64,
    /// Learning rate; of a step that was given up, where the next one begins.
    pub learning_rate: f64,
    /// Optimizer steps made.
    pub optimizer_steps: usize,
    /// Optimizer steps skipped because the gradient was not finite.
    pub skipped_steps: usize,
    /// Answers learned from.
    pub samples: usize,
    /// Those of them with an advantage other than 0.
    pub compared: usize,
    /// Prompt and answer tokens, a group's prompt counted once, times epochs.
    pub tokens: usize,
}

impl UpdateMetrics {
    /// Whether the step was given up: the policy is what it was.
    pub fn is_given_up(&self) -> bool {
        self.taken_back == ATTEMPTS
    }
}

/// Figures of one [`crate::Trainer::imitate`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImitationMetrics {
    /// Cross-entropy in nats per answer token, before the step.
    pub loss: f64,
    /// L2 norm of the gradient before clipping; 0 if it was not finite.
    pub gradient_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Whether the step was skipped because the gradient was not finite.
    pub skipped: bool,
    /// Prompt and answer tokens, equal prompts counted once.
    pub tokens: usize,
}

/// Figures as they come in.
pub(super) struct Tally {
    tokens: usize,
    learning_rate: f64,
    mini_batches: usize,
    total: Measured,
    norms: f64,
    steps: usize,
    skipped: usize,
}

impl Tally {
    pub(super) fn new(learning_rate: f64) -> Self {
        Tally {
            tokens: 0,
            learning_rate,
            mini_batches: 0,
            total: Measured::default(),
            norms: 0.0,
            steps: 0,
            skipped: 0,
        }
    }

    /// A mini-batch was measured.
    pub(super) fn add(&mut self, measured: &Measured, bundles: &[&Bundle]) {
        self.mini_batches += 1;
        self.total.add(measured);
        self.tokens += bundles.iter().map(|bundle| bundle.tokens()).sum::<usize>();
    }

    /// Take in what the other ranks have measured of their shares of the mini-batches.
    pub(super) fn add_up(&mut self, ranks: &Ranks) -> Result<(), RanksError> {
        let mut numbers = self.total.numbers();
        ranks.sum(&mut numbers)?;
        self.total = Measured::of(numbers);
        Ok(())
    }

    /// The optimizer had its turn.
    pub(super) fn stepped(&mut self, step: Step) {
        match step {
            Step::Made { gradient_norm } => {
                self.norms += gradient_norm;
                self.steps += 1;
            }
            Step::Skipped => self.skipped += 1,
        }
    }

    /// What the optimizer's part in learning from `rows` was.
    pub(super) fn update_metrics(&self, rows: &[CreditedSample]) -> UpdateMetrics {
        let total = &self.total;
        let per_token = |sum: f64| sum / total.tokens.max(1.0);
        UpdateMetrics {
            loss: total.loss / self.mini_batches.max(1) as f64,
            clip_low_share: per_token(total.clipped_low),
            clip_high_share: per_token(total.clipped_high),
            capped_share: per_token(total.capped),
            gradient_norm: self.norms / self.steps.max(1) as f64,
            learning_rate: self.learning_rate,
            optimizer_steps: self.steps,
            skipped_steps: self.skipped,
            samples: rows.len(),
            compared: rows.iter().filter(|row| row.advantage.is_some_and(|a| a != 0.0)).count(),
            tokens: self.tokens,
            ..UpdateMetrics::default()
        }
    }

    pub(super) fn imitation_metrics(&self) -> ImitationMetrics {
        ImitationMetrics {
            loss: self.total.loss,
            gradient_norm: self.norms,
            learning_rate: self.learning_rate,
            skipped: self.skipped > 0,
            tokens: self.tokens,
        }
    }
}
