//! `policies.<name>.learns`, `[policies.<name>.preference]` and `[policies.<name>.value]`: policies
//! that play no role and learn to judge those that do.

use std::path::{Path, PathBuf};

use super::check::require;
use super::table::{above, choices, table};
use super::{
    Config, ConfigError, CreditStep, Objective, PolicyConfig, SamplingScheme, Store, TrainConfig,
};
use crate::error::suggestion;

choices! {
    /// What a policy learns.
    pub enum Learns {
        /// To play its roles.
        Role,
        /// Which of two episodes of a task was the better one (SWEET-RL, arXiv 2503.15478); it plays
        /// no role.
        Preference,
        /// What states and answers are worth (ArCHer, arXiv 2402.19446); it plays no role.
        Value,
    }
}

choices! {
    /// What a critic's log-probability of an answer is compared with.
    pub enum Against {
        /// What the critic gave it at the start of the run, having read the same (SWEET-RL,
        /// equation 3): what the critic has learned.
        Start,
        /// What the policy drew it with, which has not read the hint (SWEET-RL's code).
        Policy,
    }
}

choices! {
    /// How advantages are read off a critic of values.
    pub enum Reading {
        /// min(Q₁, Q₂) − min(V₁, V₂) (ArCHer, arXiv 2402.19446, section 3.3).
        Difference,
        /// Σ (γλ)^l·δ with δ = r + γ·V(s′) − V(s) along the episode, V the lesser of both (GAE,
        /// arXiv 1506.02438, equation 16).
        Gae,
    }
}

table! {
    /// A critic that is a language model itself: an answer is as good as the critic finds it
    /// likely. It learns from pairs of a task's best episode and each that was worth less.
    pub struct PreferenceCriticConfig {
        /// Whether it reads what only critics may see in front of each prompt.
        pub hint: bool = true;
        /// How surely the better episode is to be told from the worse one.
        pub beta: f64 = 0.1, above(0.0, 1000.0);
        /// Passes over the pairs of a step.
        pub epochs: usize = 1, 1..=10_000;
        /// Pairs per optimizer step.
        pub minibatch_pairs: usize = 8, 1..=1_000_000;
        /// What the critic's log-probability of an answer is compared with to judge it.
        pub against: Against = Against::Start;
        /// Folder of what the critic was at the start, for one that does not learn any more.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub start: Option<PathBuf> = None;
    }
}

table! {
    /// A critic with a network of its own: two estimates of what a state is worth, and two of what
    /// an answer to it is, the lesser of which counts.
    pub struct ValueCriticConfig {
        /// Whether it reads what only critics may see in front of each prompt.
        pub hint: bool = false;
        /// What a reward is worth one turn of its seat earlier.
        pub discount: f64 = 0.95, 0.0..=1.0;
        /// How far the moving copy, which says what comes later, follows at every update; 1: there
        /// is none.
        pub mixing: f64 = 0.1, above(0.0, 1.0);
        /// Optimizer steps of the critic in a training step.
        pub updates: usize = 50, 1..=100_000;
        /// Answers per optimizer step.
        pub minibatch_samples: usize = 256, 1..=1_000_000;
        /// Training steps at first in which it learns alone, and those that it judges do not.
        pub warmup_steps: usize = 10, 0..=1_000_000_000;
        /// Training steps whose answers it learns from, this one among them.
        pub replay_steps: usize = 1, 1..=1_000_000;
        /// States of these steps that are answered anew in every step, without an environment: the
        /// critic says what the answers are worth, and the policies learn from them. With 0 they
        /// learn from what was played.
        pub asked_again: usize = 0, 0..=1_000_000;
        /// How advantages are read off it.
        pub reading: Reading = Reading::Difference;
        /// The λ of `reading = "gae"`.
        pub lambda: f64 = 0.95, 0.0..=1.0;
    }
}

impl PreferenceCriticConfig {
    /// How such a critic is trained, where others are trained like that.
    pub(super) fn training(&self, train: TrainConfig) -> TrainConfig {
        TrainConfig {
            objective: Objective::Preference,
            beta: self.beta,
            epochs: self.epochs,
            kl_coefficient: 0.0,
            entropy_coefficient: 0.0,
            ..train
        }
    }
}

impl PolicyConfig {
    /// Whether it judges others, and plays no role.
    pub fn is_critic(&self) -> bool {
        self.learns != Learns::Role
    }

    /// Whether it is compared with what it was at the start, of which nothing is known.
    fn lacks_a_start(&self) -> bool {
        let preference = self.preference.clone().unwrap_or_default();
        preference.against == Against::Start && preference.start.is_none()
    }

    /// Where what a critic is compared with lies, if it does not learn any more.
    pub fn start(&self) -> Option<&Path> {
        self.preference.as_ref()?.start.as_deref()
    }

    /// Whether it reads what only critics may see.
    pub fn reads_hints(&self) -> bool {
        match self.learns {
            Learns::Role => false,
            Learns::Preference => self.preference.clone().unwrap_or_default().hint,
            Learns::Value => self.value.clone().unwrap_or_default().hint,
        }
    }
}

impl Config {
    /// The critics, by name.
    pub fn critics(&self) -> impl Iterator<Item = (&String, &PolicyConfig)> {
        self.policies.iter().filter(|(_, policy)| policy.is_critic())
    }

    /// Whether a policy judges others.
    pub fn is_critic(&self, policy: &str) -> bool {
        self.policies.get(policy).is_some_and(PolicyConfig::is_critic)
    }

    /// Whether it does so by a network of its own.
    pub fn is_value_critic(&self, policy: &str) -> bool {
        self.policies.get(policy).is_some_and(|policy| policy.learns == Learns::Value)
    }

    /// How many earlier steps' answers something learns from.
    pub fn replayed_steps(&self) -> usize {
        let of_critic = |policy: &PolicyConfig| {
            let value = policy.value.as_ref();
            value.map_or(1, |value| value.replay_steps)
        };
        let critics = self.policies.values().map(of_critic).max().unwrap_or(1);
        critics.max(self.rollout.replay_steps) - 1
    }

    /// Whether what only critics may see is kept with every request.
    pub fn keeps_hints(&self) -> bool {
        self.critics().any(|(_, critic)| critic.reads_hints())
    }

    pub(super) fn check_critics(&self) -> Result<(), ConfigError> {
        for (name, policy) in &self.policies {
            self.check_critic(name, policy)?;
        }
        let judges = self.advantage.then.iter().filter_map(|step| match step {
            CreditStep::Judge(policy) => Some(policy),
            _ => None,
        });
        for judge in judges {
            let critics: Vec<&str> = self.critics().map(|(name, _)| name.as_str()).collect();
            let suggestion = suggestion(judge, critics);
            require(
                self.policies.get(judge).is_some_and(PolicyConfig::is_critic),
                "advantage.then",
                &format!(
                    "`judge:{judge}` names no critic{suggestion}; a critic is a policy with \
                     policies.{judge}.learns = \"preference\" or \"value\""
                ),
            )?;
        }
        self.check_replay()?;
        let judges = || self.advantage.then.iter().any(CreditStep::is_judged);
        require(
            self.rollout.refill == 0 || !judges(),
            "rollout.refill",
            "which tasks teach something is known when a critic has judged their answers; set it \
             to 0",
        )?;
        let names: Vec<&str> = self.critics().map(|(name, _)| name.as_str()).collect();
        let distant = self.policies.iter().find(|(_, policy)| policy.tinker.is_some());
        require(
            distant.is_none() || self.critics().next().is_none(),
            &format!("policies.{}.tinker", distant.map_or("", |(name, _)| name)),
            "critics judge policies whose weights are here; leave them out, or train it here",
        )?;
        let one_value = self.critics().filter(|(_, p)| p.learns == Learns::Value).count() < 2;
        require(
            one_value,
            &format!("policies.{}.learns", names.last().unwrap_or(&"")),
            "a run has one critic of values; leave the other out",
        )
    }

    /// Whether what is learned from again counts as what it is.
    fn check_replay(&self) -> Result<(), ConfigError> {
        require(
            self.replayed_steps() == 0 || self.rollout.store == Store::All,
            "rollout.store",
            "answers of earlier steps are learned from again, and a run that is resumed reads them \
             from its tables; leave it at \"all\"",
        )?;
        require(
            self.rollout.replay_steps == 1 || self.train.objective != Objective::Preference,
            "rollout.replay_steps",
            "what earlier policies said is to be weighed, and train.objective = \"preference\" \
             weighs no answers; leave it out, or train otherwise",
        )?;
        require(
            self.rollout.replay_steps == 1 || self.train.importance.weighs(),
            "rollout.replay_steps",
            "what earlier policies said is likelier or less likely today; set train.importance = \
             \"truncate\" or \"mask\" to weigh it",
        )
    }

    fn check_critic(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let key = |setting: &str| format!("policies.{name}.{setting}");
        for (is_there, of, setting) in [
            (policy.preference.is_some(), Learns::Preference, "preference"),
            (policy.value.is_some(), Learns::Value, "value"),
        ] {
            require(
                !is_there || policy.learns == of,
                &key(setting),
                &format!("it is for critics; set policies.{name}.learns = \"{setting}\" as well"),
            )?;
        }
        if !policy.is_critic() {
            return Ok(());
        }
        require(
            !policy.is_served() && policy.snapshot_of.is_none(),
            &key("learns"),
            "a critic has its weights here; leave out `remote`, `sampler`, `tinker` and \
             `snapshot_of`",
        )?;
        let players = self.roles.entries().find(|(_, role)| role.policy.as_deref() == Some(name));
        require(
            players.is_none() && name != "shared",
            &key("learns"),
            "a critic plays no role, and this policy is given one; name another",
        )?;
        let trains = self.trains(name);
        match policy.learns {
            Learns::Role => Ok(()),
            Learns::Preference if !trains && policy.lacks_a_start() => require(
                false,
                &key("preference.start"),
                "a critic that does not learn is what it is compared with; name the policy that it \
                 once began as, or set against = \"policy\"",
            ),
            Learns::Preference if trains && policy.start().is_some() => require(
                false,
                &key("preference.start"),
                "a critic that learns is compared with what it is as the run begins; leave it out",
            ),
            Learns::Preference => require(
                !trains || self.rollout.scheme.keeps_episodes_apart(),
                &key("learns"),
                "it learns from whole episodes of a task; set rollout.scheme = \"trajectory\", or \
                 train = false for a critic that has learned",
            ),
            Learns::Value => {
                self.check_value_critic(name, policy)?;
                self.check_warmup(name, policy)
            }
        }
    }

    /// The policies wait for a critic whose verdicts they learn from, and for no other.
    fn check_warmup(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let value = policy.value.clone().unwrap_or_default();
        require(
            value.warmup_steps == 0 || self.is_asked(name),
            &format!("policies.{name}.value.warmup_steps"),
            &format!(
                "the policies would wait for a critic that nobody asks; add \"judge:{name}\" to \
                 advantage.then, or set it to 0"
            ),
        )
    }

    /// Whether a critic's verdicts take the place of advantages.
    pub(super) fn is_asked(&self, critic: &str) -> bool {
        let judges =
            |step: &CreditStep| matches!(step, CreditStep::Judge(judge) if judge == critic);
        self.advantage.then.iter().any(judges)
    }

    /// Whether tasks teach somebody nothing if too few or too many of their episodes are solved.
    fn leaves_tasks_out(&self) -> bool {
        let advantage = &self.advantage;
        let all = (advantage.least_solved, advantage.most_solved);
        let of_roles = advantage.roles.keys().map(|role| advantage.band_of(role));
        of_roles.chain([all]).any(|band| band != (0.0, 1.0))
    }

    fn check_value_critic(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let value = policy.value.clone().unwrap_or_default();
        let key = |setting: &str| format!("policies.{name}.value.{setting}");
        let scheme = self.rollout.scheme;
        require(
            self.trains(name),
            &format!("policies.{name}.train"),
            "a critic of values begins every run with heads that find everything worth 0, and from \
             one that does not learn nobody would learn anything; leave it out, and let no other \
             policy be an adapter over it",
        )?;
        require(
            scheme.keeps_episodes_apart() || scheme == SamplingScheme::Tree,
            &key("discount"),
            "it adds up what comes after an answer, and here several things do, or all of it is \
             part of what the answer is worth already; set rollout.scheme = \"trajectory\" or \
             \"tree\"",
        )?;
        require(
            value.replay_steps == 1 || value.asked_again > 0,
            &key("replay_steps"),
            "what a state is worth is learned from answers of the policies as they are; set \
             asked_again to the number of states to ask again",
        )?;
        require(
            value.asked_again == 0 || self.is_asked(name),
            &key("asked_again"),
            &format!(
                "only the critic knows what such answers are worth; add \"judge:{name}\" to \
                 advantage.then"
            ),
        )?;
        require(
            value.asked_again == 0 || self.rollout.replay_steps == 1,
            &key("asked_again"),
            "then nothing is learned from what was played; leave out rollout.replay_steps",
        )?;
        require(
            value.asked_again == 0 || !self.leaves_tasks_out(),
            &key("asked_again"),
            "answers that are not played are of no task that could be solved; leave out \
             least_solved and most_solved (`advantage`, `advantage.roles`), or set asked_again = 0",
        )?;
        require(
            value.asked_again == 0 || value.reading == Reading::Difference,
            &key("reading"),
            "answers that are not played have no rewards to add up; set reading = \"difference\", \
             or asked_again = 0",
        )?;
        require(
            value.reading != Reading::Gae || scheme.keeps_episodes_apart(),
            &key("reading"),
            "\"gae\" adds up what comes along whole episodes; set rollout.scheme = \"trajectory\"",
        )?;
        require(
            value.reading == Reading::Gae || value.lambda == ValueCriticConfig::default().lambda,
            &key("lambda"),
            "it is the λ of reading = \"gae\"",
        )
    }
}
