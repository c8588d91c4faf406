//! `[train]` and `[imitation]`: what is learned from the samples.

use super::table::{above, between, choices, table};

choices! {
    /// How token losses become one number.
    pub enum LossAggregation {
        /// Mean over all tokens of the mini-batch (DAPO).
        TokenMean,
        /// Mean over samples of the mean over a sample's tokens (GRPO).
        SampleMeanTokenMean,
        /// Mean over samples of the sum over a sample's tokens (Dr. GRPO).
        SampleMeanTokenSum,
    }
}

choices! {
    /// What an update maximizes.
    pub enum Objective {
        /// The clipped ratio of every token times its advantage (PPO, arXiv 1707.06347; bounds as
        /// in DAPO, arXiv 2503.14476).
        Surrogate,
        /// The same with one ratio for an answer, the geometric mean of its tokens' (GSPO, arXiv
        /// 2507.18071). Its bounds want to be close: 3e-4 and 4e-4.
        Gspo,
        /// The same with their product (M-GRPO, arXiv 2511.13288).
        MGrpo,
        /// The log-probability of every token, weighed by its clipped ratio and its advantage
        /// (CISPO, arXiv 2506.13585).
        Cispo,
        /// The log-probability of every token times its advantage.
        Reinforce,
        /// That of answers with a positive advantage (rejection sampling).
        Likelihood,
        /// That of all answers, weighed by exp(advantage / `beta`) (AWR, arXiv 1910.00177).
        WeightedLikelihood,
        /// That answers with a positive advantage are preferred to those with a negative one to the
        /// same prompt, as far as `beta` says (DPO, arXiv 2305.18290).
        Preference,
    }
}

impl Objective {
    /// Whether it takes the lesser of a clipped and an unclipped ratio (PPO).
    pub fn clips(self) -> bool {
        matches!(self, Objective::Surrogate | Objective::Gspo | Objective::MGrpo)
    }
}

choices! {
    /// Which probabilities ratios begin at.
    pub enum AnchorChoice {
        /// `rescored` for policies in bfloat16, and with another `importance` than `none`; else
        /// `sampled`.
        Auto,
        /// Those that answers were drawn with.
        Sampled,
        /// Those that the trainer gives them before the update: one more pass forwards, or none
        /// where all of a step's answers are one mini-batch.
        Rescored,
    }
}

choices! {
    /// What becomes of tokens to which the trainer gives another probability than the sampler.
    pub enum Importance {
        /// `truncate` for policies in bfloat16 with a rescored anchor, else `none`.
        Auto,
        /// Nothing.
        None,
        /// They are weighed by the ratio, `importance_cap` at most.
        Truncate,
        /// They are weighed by it, and left out if it is above the cap or below one over it.
        Mask,
        /// They are weighed by it, and left out with their whole answer if the geometric mean of
        /// its ratios is.
        MaskAnswer,
    }
}

impl Importance {
    /// Whether tokens are weighed.
    pub fn weighs(self) -> bool {
        !matches!(self, Importance::Auto | Importance::None)
    }
}

choices! {
    /// Whose answers entropy bonus and KL penalty act on.
    pub enum Regularize {
        /// All that were sampled.
        All,
        /// Those of groups that were kept.
        Kept,
    }
}

choices! {
    /// How the learning rate goes down after the warm-up.
    pub enum Decay {
        /// Not at all.
        Constant,
        /// On a line.
        Linear,
        /// On half a cosine.
        Cosine,
    }
}

choices! {
    /// Something that costs speed and saves memory.
    pub enum Choice {
        /// On if memory would not suffice without it.
        Auto,
        /// On.
        On,
        /// Off.
        Off,
    }
}

table! {
    /// `[train.budget]`: what a run may spend on training before it ends.
    pub struct Budget {
        /// Tokens of the answers drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub completion_tokens: Option<u64> = None, 1..=1_000_000_000_000_000;
        /// Answers drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub samples: Option<u64> = None, 1..=1_000_000_000_000_000;
        /// Wall-clock seconds, validation and checkpoints included; how far a run comes in them
        /// depends on the machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub seconds: Option<f64> = None, above(0.0, 1e9);
    }
}

impl Budget {
    /// The share that is spent, by now perhaps more than 1; of several limits, that which is
    /// nearest. Nothing without a limit.
    pub fn share_spent(&self, completion_tokens: u64, samples: u64, seconds: f64) -> Option<f64> {
        let of = |spent: u64, limit: Option<u64>| limit.map(|limit| spent as f64 / limit as f64);
        [
            of(completion_tokens, self.completion_tokens),
            of(samples, self.samples),
            self.seconds.map(|limit| seconds / limit),
        ]
        .into_iter()
        .flatten()
        .reduce(f64::max)
    }
}

table! {
    /// `[train]`.
    pub struct TrainConfig {
        /// Training steps: one rollout and one update each. With a budget, that says how many.
        pub steps: usize = 100, 0..=1_000_000_000;
        /// What the run may spend; the first limit that is met ends it, and the learning rate
        /// goes down with what is spent.
        pub budget: Budget = Budget::default();
        /// Peak learning rate; 0 takes 1e-3 for tiny policies (below ten million
        /// parameters), 2e-4 for adapters over larger ones, and 2e-5 for all weights
        /// of a larger one.
        pub learning_rate: f64 = 0.0, 0.0..=1.0;
        /// Steps over which the learning rate rises from 0.
        pub warmup_steps: usize = 5, 0..=1_000_000_000;
        /// How the learning rate goes down.
        pub decay: Decay = Decay::Linear;
        /// Share of the peak learning rate that is left at the last step.
        pub final_learning_rate_share: f64 = 0.1, 0.0..=1.0;
        /// AdamW's β₁.
        pub beta1: f64 = 0.9, 0.0..1.0;
        /// AdamW's β₂.
        pub beta2: f64 = 0.98, 0.0..1.0;
        /// AdamW's ε.
        pub epsilon: f64 = 1e-8, above(0.0, 1.0);
        /// Decoupled weight decay.
        pub weight_decay: f64 = 0.0, 0.0..=1.0;
        /// Gradients are scaled down to this L2 norm. Beside a policy over Tinker's protocol 1e9,
        /// which is the default there, is 1 for policies that are trained here.
        pub max_gradient_norm: f64 = 1.0, above(0.0, 1e12);
        /// An update that moves a policy further than this, in nats per token (`movement` in
        /// docs/metrics.md), is taken back and made again at half its learning rate, three times at
        /// most; later ones begin at the rate that passed, which rises again where updates use
        /// less than a quarter of this. Five in a row that were given up stop the run. 0 lets
        /// everything pass.
        pub max_movement: f64 = 0.1, 0.0..=1e12;
        /// Steps after which it is measured how much answers still say of their prompts
        /// (`information` in docs/metrics.md); 0: never.
        pub information_every: usize = 10, 0..=1_000_000_000;
        /// What an update maximizes.
        pub objective: Objective = Objective::Surrogate;
        /// What `weighted-likelihood` divides advantages by, and how strongly `preference` prefers;
        /// 0 takes 1 for the first and 0.1 for the second.
        pub beta: f64 = 0.0, 0.0..=1e6;
        /// Which probabilities ratios begin at.
        pub anchor: AnchorChoice = AnchorChoice::Auto;
        /// What becomes of tokens whose probability in training is another than in sampling;
        /// needs a rescored anchor.
        pub importance: Importance = Importance::Auto;
        /// The largest ratio of the two.
        pub importance_cap: f64 = 2.0, 1.0..=1e6;
        /// The ratio may fall to 1 − `clip_low`; `cispo` has no such bound.
        pub clip_low: f64 = 0.2, between(0.0, 1.0);
        /// The ratio may rise to 1 + `clip_high`.
        pub clip_high: f64 = 0.28, above(0.0, 1e6);
        /// What a ratio counts for at most where the advantage is negative (PPO's dual clip, arXiv
        /// 1912.09729), above 1 + `clip_high`; 0 sets no such bound.
        pub clip_dual: f64 = 0.0, 0.0..=1e6;
        /// Weight of the entropy bonus, in nats per token.
        pub entropy_coefficient: f64 = 0.02, 0.0..=100.0;
        /// Weight of the KL penalty to the policy at the start of training; 0 keeps no reference.
        pub kl_coefficient: f64 = 0.0, 0.0..=100.0;
        /// Whose answers the two act on. With `all`, an answer of a group that was left out counts
        /// in the means of `loss_aggregation`, too.
        pub regularize: Regularize = Regularize::Kept;
        /// Passes over the samples of a step.
        pub epochs: usize = 1, 1..=1000;
        /// Samples per optimizer step; 0 takes all of them in one.
        pub minibatch_samples: usize = 128, 0..=1_000_000_000;
        /// Tokens per forward and backward pass; bounds memory, not the result.
        pub microbatch_tokens: usize = 16_384, 1..=16_777_216;
        /// Whether a layer's activations are dropped and computed again when its
        /// gradient is: about a third slower, and far less memory per token.
        pub gradient_checkpointing: Choice = Choice::Auto;
        /// Whether the optimizer's state is kept in the CPU's memory, and steps
        /// are made there. Changes nothing where policies are on the CPU.
        pub offload_optimizer: Choice = Choice::Auto;
        /// How token losses become one number.
        pub loss_aggregation: LossAggregation = LossAggregation::TokenMean;
    }
}

table! {
    /// `[imitation]`: the warm start on the environment's demonstrations.
    pub struct ImitationConfig {
        /// Whether `host train` begins with it; policies loaded from `path`, and adapters over
        /// them, skip it.
        pub enabled: bool = true;
        /// Whether those do not skip it.
        pub pretrained: bool = false;
        /// Stop when this share of validation tasks is solved greedily.
        pub success: f64 = 0.2, 0.0..=1.0;
        /// Stop also when this share of each role's answers on those tasks is accepted, however
        /// many are solved; 0: only by success.
        pub accepted: f64 = 0.0, 0.0..=1.0;
        /// Go back and learn more slowly when one interval overshoots this share.
        pub ceiling: f64 = 0.4, 0.0..=2.0;
        /// Give up after this many optimizer steps.
        pub max_steps: usize = 1000, 0..=1_000_000_000;
        /// Demonstrated answers per role and optimizer step.
        pub answers_per_role: usize = 32, 1..=65_536;
        /// Peak learning rate.
        pub learning_rate: f64 = 3e-3, above(0.0, 1.0);
        /// Weight decay.
        pub weight_decay: f64 = 0.01, 0.0..=1.0;
        /// Steps over which the learning rate rises from 0.
        pub warmup_steps: usize = 20, 0..=1_000_000_000;
        /// Share of demonstrated turns at which the episode goes on from a random
        /// earlier answer instead of the expert's, so that mistakes are seen too.
        pub exploration: f64 = 0.3, 0.0..=1.0;
        /// Measure success every so many steps.
        pub every: usize = 5, 1..=1_000_000_000;
        /// Tasks to measure it on.
        pub tasks: usize = 128, 1..=1_000_000;
    }
}

impl TrainConfig {
    /// Whether a policy is compared with what it was at the start.
    pub fn needs_reference(&self) -> bool {
        self.kl_coefficient != 0.0 || self.objective == Objective::Preference
    }

    /// `beta`, or what suits the objective.
    pub fn temper(&self) -> f64 {
        match (self.beta, self.objective) {
            (0.0, Objective::Preference) => 0.1,
            (0.0, _) => 1.0,
            (beta, _) => beta,
        }
    }

    /// Whether an answer that was compared with nothing is regularized, too.
    pub fn regularizes_all(&self) -> bool {
        self.regularizes() && self.regularize == Regularize::All
    }

    /// Whether there is an entropy bonus or a KL penalty.
    pub(super) fn regularizes(&self) -> bool {
        self.entropy_coefficient != 0.0 || self.kl_coefficient != 0.0
    }
}
