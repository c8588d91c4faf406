//! `[rollout]` and `[validation]`: how episodes are produced.

use serde::{Deserialize, Serialize};

/// How the episodes of a step are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingScheme {
    /// K completions at every state, each tried in its own fork; one is kept
    /// (AT-GRPO, arXiv 2510.11062, section 4).
    Tree,
    /// K independent episodes of every task (the GRPO baselines).
    Trajectory,
}

/// Which completion of a group the episode goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BranchChoice {
    /// The one with the highest reward; ties are broken by seed.
    Greedy,
    /// Any, with equal probability.
    Random,
    /// With probability proportional to exp(reward / `branch_temperature`).
    Softmax,
}

/// What generation and plugins do while the other works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// `overlapped` on a GPU, `lock-step` on a CPU.
    Auto,
    /// All answers are generated, then all are played: the same batches every
    /// time, and so the same bits.
    LockStep,
    /// Answers are played as they come in, while others are generated. Who
    /// shares a batch depends on time, so sums may be rounded differently.
    Overlapped,
}

/// Training rollouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RolloutConfig {
    /// Tasks per training step.
    pub tasks_per_step: usize,
    /// Completions per state (tree) or episodes per task (trajectory): the K of GRPO.
    pub branches: usize,
    /// Turns per role after which an episode is truncated; 0 takes the environment's advice.
    pub max_turns: usize,
    /// Tokens per completion, the end-of-text token included.
    pub max_completion_tokens: usize,
    /// Softmax temperature of sampling.
    pub temperature: f64,
    /// Nucleus: keep the smallest set of tokens with at least this probability; 1 keeps all.
    pub top_p: f64,
    /// Keep this many of the likeliest tokens; 0 keeps all.
    pub top_k: usize,
    /// Leave out tokens with less than this share of the likeliest token's probability; 0 keeps all.
    pub min_p: f64,
    /// Makes tokens that were said before less likely; 1 changes nothing.
    pub repetition_penalty: f64,
    /// Texts that end a completion; they are not part of its text.
    pub stop: Vec<String>,
    /// Whether all answers are waited for before any is played.
    pub scheduling: Scheduling,
    /// Memory for keys and values in GiB; 0 takes a part of what is free.
    pub cache_gib: f64,
    /// Tree or trajectory sampling.
    pub sampling: SamplingScheme,
    /// Which completion the episode goes on from, in tree sampling.
    pub branch_choice: BranchChoice,
    /// Temperature of the `softmax` branch choice, in units of reward.
    pub branch_temperature: f64,
    /// Share of void episodes in a step, or in a validation, above which the run stops.
    pub max_void_share: f64,
}

impl Default for RolloutConfig {
    fn default() -> Self {
        RolloutConfig {
            tasks_per_step: 64,
            branches: 4,
            max_turns: 0,
            max_completion_tokens: 8,
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            stop: Vec::new(),
            scheduling: Scheduling::Auto,
            cache_gib: 0.0,
            sampling: SamplingScheme::Tree,
            branch_choice: BranchChoice::Random,
            branch_temperature: 0.25,
            max_void_share: 0.5,
        }
    }
}

/// Tasks that are not trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidationConfig {
    /// Tasks of the test split for the figures before and after training.
    pub tasks: usize,
    /// Tasks of the validation split, which say how training goes and which
    /// checkpoint is the best.
    pub tasks_during_training: usize,
    /// Validate every so many steps; 0 validates only before the first and after the last.
    pub every: usize,
    /// Also validate by sampling at the rollout's temperature, not only greedily.
    pub sampled: bool,
}

impl Default for ValidationConfig {
    fn default() -> Self {
        ValidationConfig { tasks: 512, tasks_during_training: 256, every: 20, sampled: true }
    }
}
