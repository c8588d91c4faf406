//! `[rollout]` and `[validation]`: how episodes are produced.

use std::path::PathBuf;

use super::table::{above, choices, table};
use super::{Allowed, CreditStep};

choices! {
    /// Which answers are drawn in a step, and which of them episodes go on from.
    pub enum SamplingScheme {
        /// K completions at every state, each tried in its own fork; one is kept
        /// (AT-GRPO, arXiv 2510.11062, section 4).
        Tree,
        /// K independent episodes of every task (the GRPO baselines).
        Trajectory,
        /// K completions at the first state of a role that trains, and an episode from each on
        /// (MHGPO, arXiv 2506.02718).
        ForkOnFirst,
        /// The same at the first state of a role that is drawn for every task (MHGPO).
        RoundRobin,
        /// K completions at every state, each played to the end with one answer to every later
        /// question, so that what it is worth now is all that it leads to; one is kept (MHGPO).
        Independent,
        /// K completions at every state, and an episode from each on (MALT, arXiv 2412.01928).
        Exhaustive,
        /// As `trajectory`, and every answer is drawn from the role's policy or from a snapshot of
        /// it, with equal probability (AgentRL, arXiv 2510.04206). Snapshots' answers are not
        /// learned from.
        CrossPolicy,
    }
}

impl SamplingScheme {
    /// Whether everything that counts is played to the end of its episode.
    pub fn plays_whole_episodes(self) -> bool {
        !matches!(self, SamplingScheme::Tree | SamplingScheme::Independent)
    }

    /// Whether no two episodes have an answer in common that is learned from.
    pub fn keeps_episodes_apart(self) -> bool {
        use SamplingScheme::{CrossPolicy, ForkOnFirst, Trajectory};
        matches!(self, Trajectory | ForkOnFirst | CrossPolicy)
    }

    /// Whether every state of a role that trains is answered K times.
    pub fn branches_everywhere(self) -> bool {
        use SamplingScheme::{Exhaustive, Independent, Tree};
        matches!(self, Tree | Independent | Exhaustive)
    }

    /// Whether K is the number of independent episodes of a task.
    pub fn repeats_tasks(self) -> bool {
        matches!(self, SamplingScheme::Trajectory | SamplingScheme::CrossPolicy)
    }
}

choices! {
    /// How a step's answers are dealt out among states.
    pub enum Allocation {
        /// Every state is given as many.
        Even,
        /// Two at least; more where answers to states like it (same role, same turn) differed more
        /// in the steps before, for as many tokens as if every state were given `branches`
        /// (Neyman's allocation). What `branches = "adaptive"` stands for.
        Adaptive,
    }
}

choices! {
    /// Which completion of a group the episode goes on from.
    pub enum BranchChoice {
        /// The one with the highest reward; ties are broken by seed.
        Greedy,
        /// Any, with equal probability.
        Random,
        /// With probability proportional to exp(reward / `branch_temperature`).
        Softmax,
    }
}

choices! {
    /// What generation and plugins do while the other works.
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
}

choices! {
    /// Which answers of a step are kept on disk.
    pub enum Store {
        /// All of them.
        All,
        /// Those that their episodes went on from.
        Kept,
        /// None.
        None,
    }
}

table! {
    /// Training rollouts.
    pub struct RolloutConfig {
        /// Tasks per training step.
        pub tasks_per_step: usize = 64, 1..=65_536;
        /// How often a step draws further tasks in place of those whose answers were all worth
        /// the same, so that there is as much to learn from in every step.
        pub refill: usize = 0, 0..=64;
        /// Completions per state, or episodes per task: the K of GRPO.
        pub branches: usize = 4, 1..=1024;
        /// How the answers of a step are dealt out among states, where every state is answered
        /// several times; roles with a number of their own keep it.
        pub allocation: Allocation = Allocation::Even;
        /// Turns per role after which an episode is truncated; 0 takes the environment's advice.
        pub max_turns: usize = 0, 0..=10_000;
        /// Tokens per completion, the end-of-text token included.
        pub max_completion_tokens: usize = 8, 1..=1_048_576;
        /// Tokens of thinking (between `<think>` and `</think>`) in a completion, after which
        /// `</think>` is put there; it is not learned from. 0 sets no bound.
        pub thinking_budget: usize = 0, 0..=1_048_576;
        /// Softmax temperature of sampling.
        pub temperature: f64 = 1.0, above(0.0, 100.0);
        /// Nucleus: keep the smallest set of tokens with at least this probability; 1 keeps all.
        pub top_p: f64 = 1.0, above(0.0, 1.0);
        /// Keep this many of the likeliest tokens; 0 keeps all.
        pub top_k: usize = 0, 0..=1_000_000;
        /// Leave out tokens with less than this share of the likeliest token's probability; 0 keeps all.
        pub min_p: f64 = 0.0, 0.0..=1.0;
        /// Makes tokens that were said before less likely; 1 changes nothing.
        pub repetition_penalty: f64 = 1.0, above(0.0, 100.0);
        /// Texts that end a completion; they are not part of its text.
        pub stop: Vec<String> = Vec::new();
        /// The rule that answers are drawn under; without one, any text may be said.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub allowed: Option<Allowed> = None;
        /// Whether all answers are waited for before any is played.
        pub scheduling: Scheduling = Scheduling::Auto;
        /// With 1, the answers of a step may be drawn while the step before is learned from, by
        /// the policies as they were until then; where servers draw them
        /// (`policies.<name>.sampler`).
        pub staleness: usize = 0, 0..=1;
        /// Steps whose answers are learned from, this one among them. What earlier policies drew
        /// is weighed by `train.importance`.
        pub replay_steps: usize = 1, 1..=10_000;
        /// Memory for keys and values in GiB; 0 takes a part of what is free.
        pub cache_gib: f64 = 0.0, 0.0..=65_536.0;
        /// Which answers are drawn, and which of them episodes go on from.
        pub scheme: SamplingScheme = SamplingScheme::Tree;
        /// Episodes that `exhaustive` sampling may make of one task; where K branches would be
        /// more, one answer is drawn.
        pub max_episodes: usize = 64, 1..=65_536;
        /// Which completion the episode goes on from, where it goes on from one.
        pub branch_choice: BranchChoice = BranchChoice::Random;
        /// Temperature of the `softmax` branch choice, in units of reward.
        pub branch_temperature: f64 = 0.25, above(0.0, 1e12);
        /// Which answers of each step are written to the run's `table/`, with all that was known
        /// of them, so that `host advantage` and others can compute with them again.
        pub store: Store = Store::All;
        /// Runs whose stored answers are learned from, a table in every step, in the place of answers
        /// of one's own; after the last table comes the first again. Set by `--from-tables`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub tables: Vec<PathBuf> = Vec::new();
        /// What a run's tables may come to, in MiB; later steps are then not kept, unless their
        /// answers are learned from again.
        pub store_mib: usize = 1024, 1..=1_000_000_000;
        /// Share of void episodes in a step, or in a validation, above which the run stops.
        pub max_void_share: f64 = 0.5, 0.0..=1.0;
    }
}

table! {
    /// Tasks that are not trained on.
    pub struct ValidationConfig {
        /// Tasks of the test split for the figures before and after training.
        pub tasks: usize = 512, 1..=1_000_000;
        /// Tasks of the validation split, which say how training goes and which
        /// checkpoint is the best.
        pub tasks_during_training: usize = 256, 1..=1_000_000;
        /// Validate every so many steps; 0 validates only before the first and after the last.
        pub every: usize = 20, 0..=1_000_000_000;
        /// Also validate by sampling, not only greedily.
        pub sampled: bool = true;
        /// Sampled episodes of each test task, before and after training; with several, the
        /// figures say how often one of them solves it, and what most of them say.
        pub samples: usize = 1, 1..=1024;
        /// Softmax temperature of sampled episodes, in the place of the rollout's and of roles'
        /// own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub temperature: Option<f64> = None, above(0.0, 100.0);
        /// Nucleus of sampled episodes, in the place of the rollout's and of roles' own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub top_p: Option<f64> = None, above(0.0, 1.0);
        /// Likeliest tokens kept in sampled episodes, in the place of the rollout's.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub top_k: Option<usize> = None, 0..=1_000_000;
        /// Least share of the likeliest token's probability in sampled episodes, in the place of
        /// the rollout's.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub min_p: Option<f64> = None, 0.0..=1.0;
        /// Whether a run ends with what each role is good for: test tasks once more with the role
        /// played by its policy as it began, by one that has learned nothing, and by the expert.
        /// The first checkpoint is kept for it.
        pub knock_out: KnockOut = KnockOut::Auto;
    }
}

choices! {
    /// Whether a run ends with what each role is good for.
    pub enum KnockOut {
        /// If it can be told by a twentieth of the answers that training drew, and the first
        /// checkpoint is no larger than 64 MiB.
        Auto,
        /// On as many tasks as there are between steps, whatever that costs.
        Always,
        /// Not.
        Never,
    }
}

/// How it is written in `branches`, too.
const ADAPTIVE: &str = "adaptive";
/// States are given at most so many times the answers that they are given on average.
const MOST: usize = 4;
/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

impl RolloutConfig {
    /// Answers to a state, at most.
    pub fn most_branches(&self) -> usize {
        match self.allocation {
            Allocation::Even => self.branches,
            Allocation::Adaptive => MOST * self.branches,
        }
    }

    /// Memory for keys and values in bytes.
    pub fn cache_bytes(&self) -> usize {
        (self.cache_gib * GIB) as usize
    }
}

/// `branches = "adaptive"` is `allocation = "adaptive"`, and with that groups of all sizes are to
/// count as much, by the advantages that critics find where they are asked.
pub(super) fn write_out_adaptive(table: &mut toml::Table) {
    let Some(rollout) = table.get_mut("rollout").and_then(toml::Value::as_table_mut) else {
        return;
    };
    let is_adaptive =
        |value: Option<&toml::Value>| value.and_then(toml::Value::as_str) == Some(ADAPTIVE);
    if is_adaptive(rollout.get("branches")) {
        rollout.remove("branches");
        rollout.insert("allocation".to_owned(), ADAPTIVE.into());
    }
    if !is_adaptive(rollout.get("allocation")) {
        return;
    }
    let advantage = table.entry("advantage").or_insert_with(|| toml::Table::new().into());
    let Some(advantage) = advantage.as_table_mut() else { return };
    let then = advantage.entry("then").or_insert_with(|| toml::Value::Array(Vec::new()));
    let Some(then) = then.as_array_mut() else { return };
    let step = toml::Value::String(CreditStep::StateMean.to_string());
    if !then.contains(&step) {
        let is_judged = |step: &toml::Value| {
            let step = step.as_str().and_then(|word| word.parse::<CreditStep>().ok());
            step.is_some_and(|step| step.is_judged())
        };
        // What a critic finds takes the place of all advantages before.
        let place = then.iter().rposition(is_judged).map_or(0, |last| last + 1);
        then.insert(place, step);
    }
}
