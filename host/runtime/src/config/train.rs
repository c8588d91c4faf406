//! `[advantage]`, `[train]` and `[imitation]`: what is learned from the samples.

use serde::{Deserialize, Serialize};

/// How advantages come from rewards. Formulas: `advantage.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Groups of one (task, role, turn) state.
    AtGrpo,
    /// Groups of one task's trajectories.
    Grpo,
    /// As `grpo`, without dividing by the spread.
    DrGrpo,
    /// All of a task's samples in one group.
    Naive,
}

/// Which groups are left out of the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupFilter {
    /// Those whose rewards are all equal, as they carry no gradient.
    ZeroVariance,
    /// The share `filter_ratio` with the smallest spread.
    Std,
    /// The share `filter_ratio` with the lowest mean.
    Mean,
    /// None.
    Off,
}

/// `[advantage]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdvantageConfig {
    /// The estimator.
    pub estimator: Estimator,
    /// Weight of the team reward: r = α·team + local.
    pub alpha: f64,
    /// Which groups are left out.
    pub filter: GroupFilter,
    /// Share of groups that `std` and `mean` leave out.
    pub filter_ratio: f64,
}

impl Default for AdvantageConfig {
    fn default() -> Self {
        AdvantageConfig {
            estimator: Estimator::AtGrpo,
            alpha: 1.0,
            filter: GroupFilter::ZeroVariance,
            filter_ratio: 0.25,
        }
    }
}

/// How token losses become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossAggregation {
    /// Mean over all tokens of the mini-batch (DAPO).
    TokenMean,
    /// Mean over samples of the mean over a sample's tokens (GRPO).
    SampleMeanTokenMean,
    /// Mean over samples of the sum over a sample's tokens (Dr. GRPO).
    SampleMeanTokenSum,
}

/// Whose answers entropy bonus and KL penalty act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regularize {
    /// All that were sampled.
    All,
    /// Those of groups that were kept.
    Kept,
}

/// How the learning rate goes down after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// Not at all.
    Constant,
    /// On a line.
    Linear,
    /// On half a cosine.
    Cosine,
}

/// Something that costs speed and saves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// On if memory would not suffice without it.
    #[default]
    Auto,
    /// On.
    On,
    /// Off.
    Off,
}

/// `[train]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Training steps: one rollout and one update each.
    pub steps: usize,
    /// Peak learning rate; 0 takes 1e-3 for tiny policies (below ten million
    /// parameters), 2e-4 for adapters over larger ones, and 2e-5 for all weights
    /// of a larger one.
    pub learning_rate: f64,
    /// Steps over which the learning rate rises from 0.
    pub warmup_steps: usize,
    /// How the learning rate goes down.
    pub decay: Decay,
    /// Share of the peak learning rate that is left at the last step.
    pub final_learning_rate_share: f64,
    /// AdamW's β₁.
    pub beta1: f64,
    /// AdamW's β₂.
    pub beta2: f64,
    /// AdamW's ε.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Gradients are scaled down to this L2 norm.
    pub max_gradient_norm: f64,
    /// Stop the run when an update moves a policy further than this, in nats
    /// per token (`movement` in docs/metrics.md); 0 never stops it.
    pub max_movement: f64,
    /// The ratio may fall to 1 − `clip_low`.
    pub clip_low: f64,
    /// The ratio may rise to 1 + `clip_high`.
    pub clip_high: f64,
    /// Weight of the entropy bonus, in nats per token.
    pub entropy_coefficient: f64,
    /// Weight of the KL penalty to the policy at the start of training; 0 keeps no reference.
    pub kl_coefficient: f64,
    /// Whose answers the two act on. An answer of a group that was left out has
    /// advantage 0 then, and counts in the means of `loss_aggregation`.
    pub regularize: Regularize,
    /// Passes over the samples of a step.
    pub epochs: usize,
    /// Samples per optimizer step; 0 takes all of them in one.
    pub minibatch_samples: usize,
    /// Tokens per forward and backward pass; bounds memory, not the result.
    pub microbatch_tokens: usize,
    /// Whether a layer's activations are dropped and computed again when its
    /// gradient is: about a third slower, and far less memory per token.
    pub gradient_checkpointing: Choice,
    /// Whether the optimizer's state is kept in the CPU's memory, and steps
    /// are made there. Changes nothing where policies are on the CPU.
    pub offload_optimizer: Choice,
    /// How token losses become one number.
    pub loss_aggregation: LossAggregation,
}

impl TrainConfig {
    /// Whether an answer that was compared with nothing is learned from, too.
    pub fn regularizes_all(&self) -> bool {
        let regularizes = self.entropy_coefficient != 0.0 || self.kl_coefficient != 0.0;
        regularizes && self.regularize == Regularize::All
    }
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            steps: 100,
            learning_rate: 0.0,
            warmup_steps: 5,
            decay: Decay::Linear,
            final_learning_rate_share: 0.1,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-8,
            weight_decay: 0.0,
            max_gradient_norm: 1.0,
            max_movement: 1.0,
            clip_low: 0.2,
            clip_high: 0.28,
            entropy_coefficient: 0.02,
            kl_coefficient: 0.0,
            regularize: Regularize::All,
            epochs: 1,
            minibatch_samples: 128,
            microbatch_tokens: 16_384,
            gradient_checkpointing: Choice::Auto,
            offload_optimizer: Choice::Auto,
            loss_aggregation: LossAggregation::TokenMean,
        }
    }
}

/// `[imitation]`: the warm start on the environment's demonstrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ImitationConfig {
    /// Whether `host train` begins with it; policies loaded from `path` skip it.
    pub enabled: bool,
    /// Stop when this share of validation tasks is solved greedily.
    pub success: f64,
    /// Go back and learn more slowly when one interval overshoots this share.
    pub ceiling: f64,
    /// Give up after this many optimizer steps.
    pub max_steps: usize,
    /// Demonstrated answers per role and optimizer step.
    pub answers_per_role: usize,
    /// Peak learning rate.
    pub learning_rate: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Steps over which the learning rate rises from 0.
    pub warmup_steps: usize,
    /// Share of demonstrated turns at which the episode goes on from a random
    /// earlier answer instead of the expert's, so that mistakes are seen too.
    pub exploration: f64,
    /// Measure success every so many steps.
    pub every: usize,
    /// Tasks to measure it on.
    pub tasks: usize,
}

impl Default for ImitationConfig {
    fn default() -> Self {
        ImitationConfig {
            enabled: true,
            success: 0.2,
            ceiling: 0.4,
            max_steps: 1000,
            answers_per_role: 32,
            learning_rate: 3e-3,
            weight_decay: 0.01,
            warmup_steps: 20,
            exploration: 0.3,
            every: 5,
            tasks: 128,
        }
    }
}
