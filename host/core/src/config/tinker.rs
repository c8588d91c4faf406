//! `[policies.<name>.tinker]`: a policy that an engine elsewhere has, trains and draws from.

use std::path::PathBuf;

use super::check::require;
use super::remote::{RemoteConfig, check_url};
use super::table::{above, choices, table};
use super::{Config, ConfigError, KnockOut, PolicyConfig};

/// The largest norm of a gradient where nobody asks for one: none.
pub const UNBOUNDED_NORM: f64 = 1e9;

choices! {
    /// What a server makes of the losses of the answers that it is sent.
    pub enum ReductionChoice {
        /// What it is found to do.
        Probe,
        /// It sums over tokens and answers, as Tinker's documentation says.
        Sum,
        /// It takes the mean over an answer's tokens, its prompt's included, and the mean over the
        /// answers of a step.
        SequenceMean,
        /// It takes the mean over all tokens of a request.
        TokenMean,
    }
}

table! {
    /// A server that speaks Tinker's protocol, has the base, and trains a LoRA over it for this
    /// policy. It draws the answers and makes the updates; groups and advantages are made here.
    pub struct TinkerConfig {
        /// Where the server is, such as `http://127.0.0.1:8000`.
        pub url: String = String::new();
        /// What the base is called there.
        pub base: String = String::new();
        /// Folder with the base's `config.json`, tokenizer and chat template; weights that lie
        /// there are compared with what the server has.
        pub tokenizer: PathBuf = PathBuf::new();
        /// Folder that a checkpoint has of such a policy, whose state on the server is gone on from.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub path: Option<PathBuf> = None;
        /// Inner width of the LoRA; its alpha is the server's.
        pub rank: i64 = 16, 1..=16_384;
        /// Name of the environment variable that holds the key.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub api_key_env: Option<String> = None;
        /// What the server makes of the losses of several answers.
        pub reduction: ReductionChoice = ReductionChoice::Probe;
        /// How long one exchange may take, in seconds; what takes longer is asked after again.
        pub timeout_seconds: u64 = 45, 1..=86_400;
        /// How long a server that does not answer is asked again, in seconds.
        pub retry_seconds: u64 = 300, 0..=86_400;
        /// How long anything that the server has accepted may take, in seconds: some promises are
        /// never kept.
        pub patience_seconds: u64 = 1800, 1..=604_800;
        /// Prompts that are answered at a time.
        pub concurrency: usize = 64, 1..=1024;
        /// How far the log-probabilities of what draws may be from those of what is trained, in
        /// nats per token.
        pub tolerance: f64 = 0.05, above(0.0, 100.0);
    }
}

impl TinkerConfig {
    fn check(&self, table: &str) -> Result<(), ConfigError> {
        let key = |name: &str| format!("{table}.{name}");
        check_url(&self.url, &key("url"))?;
        require(
            !self.base.trim().is_empty(),
            &key("base"),
            "name the base as the server does; its `get_server_capabilities` lists them",
        )?;
        require(
            !self.tokenizer.as_os_str().is_empty(),
            &key("tokenizer"),
            "name the folder of the base's checkpoint, or of its tokenizer and `config.json`: \
             prompts are made here and cross as token ids",
        )?;
        // The same rule for the name of the variable, and the same words.
        let remote = RemoteConfig {
            url: self.url.clone(),
            api_key_env: self.api_key_env.clone(),
            ..RemoteConfig::default()
        };
        remote.check(table)
    }
}

impl Config {
    /// The policies that are trained over Tinker's protocol.
    pub fn over_tinker(&self) -> impl Iterator<Item = (&String, &TinkerConfig)> {
        self.policies.iter().filter_map(|(name, policy)| Some((name, policy.tinker.as_ref()?)))
    }

    /// Refuse what cannot be done with a policy whose weights are elsewhere.
    pub(super) fn check_tinker(
        &self,
        name: &str,
        policy: &PolicyConfig,
    ) -> Result<(), ConfigError> {
        let Some(tinker) = &policy.tinker else { return Ok(()) };
        let table = format!("policies.{name}.tinker");
        tinker.check(&table)?;
        let elsewhere = policy.path.is_some()
            || policy.base.is_some()
            || policy.lora.is_some()
            || policy.remote.is_some()
            || policy.sampler.is_some()
            || policy.dtype.is_some()
            || self.is_base(name);
        require(
            !elsewhere,
            &format!("policies.{name}"),
            "the server has its weights, draws its answers and trains it: leave out `path`, \
             `base`, `lora`, `dtype`, `remote` and `sampler`, and make it the base of none",
        )?;
        require(
            policy.train,
            &format!("policies.{name}.train"),
            "a policy over Tinker's protocol is there to be trained; ask one that is not by \
             `remote`",
        )?;
        let snapshot = |other: &PolicyConfig| other.snapshot_of.as_deref() == Some(name);
        require(
            !self.policies.values().any(snapshot),
            &table,
            "its earlier states cannot be asked: servers do not keep them as they were; leave out \
             the policy that is a snapshot of it",
        )?;
        self.check_drawn_over_tinker(name)?;
        self.check_trained_over_tinker(name)
    }

    /// The server's log-probabilities are those of its own distribution, uncut and unscaled.
    fn check_drawn_over_tinker(&self, name: &str) -> Result<(), ConfigError> {
        let rollout = &self.rollout;
        let reason = "a server scores answers under its own distribution, so that nothing else can \
                      be drawn from and learned from";
        for (key, plain, value) in [
            ("temperature", rollout.temperature == 1.0, "1.0"),
            ("top_p", rollout.top_p == 1.0, "1.0"),
            ("top_k", rollout.top_k == 0, "0"),
            ("min_p", rollout.min_p == 0.0, "0.0"),
            ("repetition_penalty", rollout.repetition_penalty == 1.0, "1.0"),
            ("stop", rollout.stop.is_empty(), "[]"),
        ] {
            let reason = format!("{reason} (the policy `{name}`); set rollout.{key} = {value}");
            require(plain, &format!("rollout.{key}"), &reason)?;
        }
        for (role, entry) in self.roles.entries() {
            let player = self.policy_for(role).zip(self.policies.get(name));
            let is_own = player.is_some_and(|(player, own)| std::ptr::eq(player, own));
            let reason = format!("{reason} (the policy `{name}`); leave it out");
            for (key, value) in [("temperature", entry.temperature), ("top_p", entry.top_p)] {
                let plain = value.is_none_or(|it| it == 1.0);
                require(!is_own || plain, &format!("roles.{role}.{key}"), &reason)?;
            }
        }
        require(
            rollout.staleness == 0,
            "rollout.staleness",
            &format!("servers do not keep the states that would answer (`{name}`); leave it out"),
        )
    }

    fn check_trained_over_tinker(&self, name: &str) -> Result<(), ConfigError> {
        require(
            self.train.entropy_coefficient == 0.0,
            "train.entropy_coefficient",
            &format!(
                "Tinker's protocol does not send the entropy of a distribution (the policy \
                 `{name}`); set it to 0"
            ),
        )?;
        let begins_at_a_state =
            self.policies.get(name).and_then(|it| it.tinker.as_ref()?.path.as_ref()).is_some();
        require(
            !(begins_at_a_state && self.train.needs_reference()),
            &format!("policies.{name}.tinker.path"),
            "the reference of a KL penalty or of `preference` is the base, which a policy that \
             begins elsewhere is not; leave one of them out",
        )?;
        require(
            !self.imitation.pretrained,
            "imitation.pretrained",
            &format!("a policy over Tinker's protocol has no warm start (`{name}`); leave it out"),
        )?;
        require(
            self.validation.knock_out != KnockOut::Always,
            "validation.knock_out",
            &format!(
                "servers do not keep what a policy over Tinker's protocol began as (`{name}`); \
                 leave it out"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{AnchorChoice, Config, Importance};

    const TINKER: [&str; 4] = [
        "policies.planner.tinker.url=http://127.0.0.1:8000",
        "policies.planner.tinker.base=Qwen/Qwen3-32B",
        "policies.planner.tinker.tokenizer=models/qwen3",
        "roles.planner=planner",
    ];

    fn load(more: &[&str]) -> Result<Config, String> {
        let all = TINKER.iter().chain(more).map(ToString::to_string);
        Config::load(None, &all.collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_policy_over_tinker_is_trained_and_reads_back_as_itself() {
        let config = load(&[]).unwrap();
        assert!(config.trains("planner") && !config.is_random("planner"));
        let train = &config.train;
        assert_eq!(
            (train.anchor, train.importance),
            (AnchorChoice::Rescored, Importance::Truncate)
        );
        assert_eq!((config.rollout.temperature, train.max_gradient_norm), (1.0, 1e9));
        assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
        let train = load(&["train.max_gradient_norm=0.5", "train.anchor=sampled"]).unwrap().train;
        assert_eq!((train.max_gradient_norm, train.anchor), (0.5, AnchorChoice::Sampled));
    }

    #[test]
    fn a_role_of_the_default_policy_is_drawn_as_plainly_as_one_of_a_policy_with_a_table() {
        let settings = [
            "policies.default.tinker.url=http://127.0.0.1:8000",
            "policies.default.tinker.base=Qwen/Qwen3-32B",
            "policies.default.tinker.tokenizer=models/qwen3",
            "roles.planner.temperature=0.7",
        ];
        let message = Config::load(None, &settings.map(str::to_owned)).unwrap_err().to_string();
        assert!(message.contains("roles.planner.temperature"), "{message}");
    }

    #[test]
    fn what_does_not_cross_the_wire_is_refused_by_name() {
        for (setting, named) in [
            ("policies.planner.tinker.url=127.0.0.1:8000", "tinker.url"),
            ("policies.planner.tinker.base=", "tinker.base"),
            ("policies.planner.tinker.tokenizer=", "tinker.tokenizer"),
            ("policies.planner.tinker.rank=0", "tinker.rank"),
            ("policies.planner.tinker.api_key_env=tml-secret", "tinker.api_key_env"),
            ("policies.planner.path=models/qwen3", "`path`"),
            ("policies.planner.train=false", "planner.train"),
            ("policies.old={ snapshot_of = \"planner\" }", "policies.planner.tinker"),
            ("rollout.temperature=0.7", "rollout.temperature"),
            ("rollout.top_k=20", "rollout.top_k"),
            ("rollout.stop=[\"x\"]", "rollout.stop"),
            ("rollout.staleness=1", "rollout.staleness"),
            ("rollout.thinking_budget=8", "rollout.thinking_budget"),
            ("roles.planner={ policy = \"planner\", top_p = 0.5 }", "roles.planner.top_p"),
            ("train.entropy_coefficient=0.01", "train.entropy_coefficient"),
            ("imitation.pretrained=true", "imitation.pretrained"),
            ("validation.knock_out=always", "validation.knock_out"),
        ] {
            let message = load(&[setting]).unwrap_err();
            assert!(message.contains(named) && !message.contains("secret"), "{setting}: {message}");
        }
    }
}
