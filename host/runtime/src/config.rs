//! The configuration of a run: one file per table.
//!
//! Read once, checked once, never changed afterwards. What plugins and
//! policies say about their own settings is checked where they are loaded.

mod anchor;
mod device;
mod plugins;
mod policies;
mod remote;
mod roles;
mod rollout;
mod run;
mod sandbox;
mod train;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use device::DeviceChoice;
pub use plugins::{Limits, PluginsConfig};
pub use policies::{ChatConfig, Dtype, LoraConfig, PolicyConfig};
pub use remote::RemoteConfig;
pub use roles::Roles;
pub use rollout::{BranchChoice, RolloutConfig, SamplingScheme, Scheduling, ValidationConfig};
pub use run::{CheckpointConfig, RunConfig};
pub use sandbox::SandboxConfig;
pub use train::{
    AdvantageConfig, Choice, Decay, Estimator, GroupFilter, ImitationConfig, LossAggregation,
    Regularize, TrainConfig,
};

use crate::error::suggestion;

/// Everything a run depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which role is played by which policy.
    pub roles: Roles,
    /// Where the run lives.
    pub run: RunConfig,
    /// Which plugins it uses.
    pub plugins: PluginsConfig,
    /// Who may run model-written programs.
    pub sandbox: SandboxConfig,
    /// The environment's own settings, checked against its description.
    pub environment: toml::Table,
    /// The workflow's own settings, checked against its description.
    pub workflow: toml::Table,
    /// The policies by name.
    pub policies: BTreeMap<String, PolicyConfig>,
    /// How episodes are produced.
    pub rollout: RolloutConfig,
    /// How advantages come from rewards.
    pub advantage: AdvantageConfig,
    /// The warm start.
    pub imitation: ImitationConfig,
    /// The update.
    pub train: TrainConfig,
    /// Held-out tasks.
    pub validation: ValidationConfig,
    /// What is saved.
    pub checkpoint: CheckpointConfig,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the config `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// The text is not TOML.
    #[error("`{origin}` is not valid TOML: {reason}")]
    Malformed {
        /// The file or flag.
        origin: String,
        /// What the parser said.
        reason: String,
    },
    /// A key that does not exist.
    #[error("there is no setting `{key}`{suggestion}")]
    UnknownKey {
        /// The key with its table.
        key: String,
        /// The nearest right one.
        suggestion: String,
    },
    /// A value that cannot be.
    #[error("`{key}` cannot be used: {reason}")]
    Invalid {
        /// The key with its table.
        key: String,
        /// What is wrong and what would be right.
        reason: String,
    },
}

impl Config {
    /// Read a file, if any, and apply `key=value` overrides on top.
    pub fn load(path: Option<&Path>, overrides: &[String]) -> Result<Config, ConfigError> {
        let mut table = match path {
            None => toml::Table::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|reason| ConfigError::Unreadable { path: path.into(), reason })?;
                parse_table(&text, &path.display().to_string())?
            }
        };
        for text in overrides {
            apply_override(&mut table, text)?;
        }
        Config::from_table(table)
    }

    /// Check a parsed table.
    pub fn from_table(table: toml::Table) -> Result<Config, ConfigError> {
        let config: Config = serde_path_to_error::deserialize(toml::Value::Table(table))
            .map_err(|error| explain(&error.path().to_string(), &error.inner().to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Whether training changes the policy; one without a table is trained, a
    /// base of adapters is not, and neither is a remote one.
    pub fn trains(&self, policy: &str) -> bool {
        let settings = self.policies.get(policy);
        settings.is_none_or(|settings| settings.train && settings.remote.is_none())
            && !self.is_base(policy)
    }

    /// Whether other policies are adapters over this one.
    pub fn is_base(&self, policy: &str) -> bool {
        self.policies.values().any(|other| other.base.as_deref() == Some(policy))
    }

    /// Whether a policy begins as random weights: its own, or its base's.
    pub fn is_random(&self, policy: &str) -> bool {
        let Some(settings) = self.policies.get(policy) else { return true };
        match &settings.base {
            Some(base) => self.policies.get(base).is_none_or(|base| base.path.is_none()),
            None => settings.path.is_none() && settings.remote.is_none(),
        }
    }

    /// The configuration as a file that reproduces it.
    pub fn to_toml(&self) -> String {
        // Every field is a string, number, flag, list or table, which TOML can write.
        toml::to_string_pretty(self).unwrap_or_default()
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.check_rollout()?;
        self.check_training()?;
        for (name, policy) in &self.policies {
            self.check_adapter(name, policy)?;
            let sizes = [policy.hidden_size, policy.layers, policy.heads, policy.key_value_heads];
            let even_head = policy.head_size > 0 && policy.head_size % 2 == 0;
            require(
                sizes.iter().all(|&size| size > 0) && even_head && policy.intermediate_size > 0,
                &format!("policies.{name}"),
                "sizes must be at least 1, and head_size even",
            )?;
            require(
                policy.heads % policy.key_value_heads == 0,
                &format!("policies.{name}.key_value_heads"),
                "it must divide `heads`",
            )?;
            let Some(remote) = &policy.remote else { continue };
            let weights = policy.path.is_some() || policy.base.is_some() || self.is_base(name);
            require(
                !weights,
                &format!("policies.{name}"),
                "a remote policy has no weights here, so no `path` and no `base`, and is the base \
                 of none; it is loaded here or asked there, not both",
            )?;
            remote.check(&format!("policies.{name}.remote"))?;
        }
        Ok(())
    }

    fn check_adapter(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let Some(base) = &policy.base else {
            return require(
                policy.lora.is_none(),
                &format!("policies.{name}.lora"),
                "an adapter needs a base; name another policy in `base`",
            );
        };
        let key = format!("policies.{name}.base");
        let suggestion = suggestion(base, self.policies.keys().map(String::as_str));
        let known = self.policies.get(base);
        require(
            known.is_some(),
            &key,
            &format!("there is no table [policies.{base}]{suggestion}"),
        )?;
        require(
            known.is_none_or(|base| base.base.is_none()),
            &key,
            &format!("`{base}` is an adapter itself; name the policy it is an adapter over"),
        )?;
        require(
            policy.path.is_none(),
            &format!("policies.{name}.path"),
            "an adapter's weights are named in `lora.path`, its base's in the base's table",
        )
    }

    fn check_rollout(&self) -> Result<(), ConfigError> {
        let rollout = &self.rollout;
        let compares = !matches!(self.advantage.estimator, Estimator::Naive);
        let by_trajectory = matches!(self.advantage.estimator, Estimator::Grpo | Estimator::DrGrpo);
        let top_p = rollout.top_p > 0.0 && rollout.top_p <= 1.0;
        require(rollout.tasks_per_step > 0, "rollout.tasks_per_step", "it must be at least 1")?;
        require(rollout.branches > 0, "rollout.branches", "it must be at least 1")?;
        require(
            rollout.branches > 1 || !compares,
            "rollout.branches",
            "a group of one has no advantage, so nothing would be learned; use 2 or more",
        )?;
        require(
            !by_trajectory || rollout.sampling == SamplingScheme::Trajectory,
            "advantage.estimator",
            "`grpo` and `dr-grpo` compare whole trajectories; set rollout.sampling = \"trajectory\"",
        )?;
        require(
            self.advantage.estimator != Estimator::AtGrpo
                || rollout.sampling == SamplingScheme::Tree,
            "advantage.estimator",
            "`at-grpo` compares answers to one state, and independent trajectories share none but \
             the first; set rollout.sampling = \"tree\", or the estimator to `grpo` or `dr-grpo`",
        )?;
        require(
            rollout.max_completion_tokens > 0,
            "rollout.max_completion_tokens",
            "it must be at least 1",
        )?;
        require(
            rollout.temperature > 0.0 && rollout.temperature.is_finite(),
            "rollout.temperature",
            "it must be above 0, as training needs samples that differ",
        )?;
        require(top_p, "rollout.top_p", "it must be above 0 and at most 1")?;
        require(
            (0.0..=1.0).contains(&rollout.min_p),
            "rollout.min_p",
            "it must be between 0 and 1",
        )?;
        require(
            rollout.repetition_penalty > 0.0 && rollout.repetition_penalty.is_finite(),
            "rollout.repetition_penalty",
            "it must be above 0",
        )?;
        require(
            rollout.stop.iter().all(|stop| !stop.is_empty()),
            "rollout.stop",
            "an empty text would end every answer at once",
        )?;
        require(
            rollout.cache_gib >= 0.0 && rollout.cache_gib.is_finite(),
            "rollout.cache_gib",
            "it must be 0 or more",
        )?;
        require(
            rollout.branch_temperature > 0.0,
            "rollout.branch_temperature",
            "it must be above 0",
        )?;
        require(self.validation.tasks > 0, "validation.tasks", "it must be at least 1")?;
        require(
            self.validation.tasks_during_training > 0,
            "validation.tasks_during_training",
            "it must be at least 1",
        )
    }

    fn check_training(&self) -> Result<(), ConfigError> {
        let (train, imitation) = (&self.train, &self.imitation);
        let share = |value: f64| (0.0..=1.0).contains(&value);
        require(
            train.learning_rate >= 0.0 && train.learning_rate.is_finite(),
            "train.learning_rate",
            "it must be above 0, or 0 for one that suits the policy",
        )?;
        require(train.epochs > 0, "train.epochs", "it must be at least 1")?;
        require(train.microbatch_tokens > 0, "train.microbatch_tokens", "it must be at least 1")?;
        require(
            train.clip_low > 0.0 && train.clip_low < 1.0 && train.clip_high > 0.0,
            "train.clip_low",
            "clipping needs 0 < clip_low < 1 and clip_high > 0",
        )?;
        require(
            share(self.advantage.filter_ratio),
            "advantage.filter_ratio",
            "it is a share between 0 and 1",
        )?;
        require(
            share(imitation.success) && imitation.ceiling > imitation.success,
            "imitation.ceiling",
            "it must be above imitation.success, which is a share between 0 and 1",
        )?;
        require(
            imitation.every > 0 && imitation.answers_per_role > 0 && imitation.tasks > 0,
            "imitation",
            "`every`, `answers_per_role` and `tasks` must be at least 1",
        )?;
        require(self.checkpoint.every > 0, "checkpoint.every", "it must be at least 1")?;
        require(self.checkpoint.keep > 0, "checkpoint.keep", "it must be at least 1")
    }
}

fn require(holds: bool, key: &str, reason: &str) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Invalid { key: key.to_owned(), reason: reason.to_owned() })
}

fn parse_table(text: &str, origin: &str) -> Result<toml::Table, ConfigError> {
    text.parse().map_err(|error: toml::de::Error| ConfigError::Malformed {
        origin: origin.to_owned(),
        reason: error.to_string().trim().to_owned(),
    })
}

/// Put `a.b.c=value` into the table. A value that is not TOML is a string, so
/// that words need no quotes inside the shell's.
fn apply_override(table: &mut toml::Table, text: &str) -> Result<(), ConfigError> {
    let malformed = |reason: &str| ConfigError::Malformed {
        origin: format!("--set {text}"),
        reason: reason.to_owned(),
    };
    let (key, value) = text.split_once('=').ok_or_else(|| malformed("write key=value"))?;
    let value = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut path: Vec<&str> = key.trim().split('.').collect();
    let last = path.pop().filter(|last| !last.is_empty());
    let last = last.ok_or_else(|| malformed("the key is empty"))?;
    let mut table = table;
    for part in path {
        let entry =
            table.entry(part.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        // `--set roles.planner=p` replaces `roles = "shared"`.
        if entry.is_str() {
            *entry = toml::Value::Table(toml::Table::new());
        }
        table = entry.as_table_mut().ok_or_else(|| malformed("the key is not a table"))?;
    }
    table.insert(last.to_owned(), value);
    Ok(())
}

/// Serde's message about an unknown field, turned into the nearest right key.
fn explain(path: &str, message: &str) -> ConfigError {
    let message = message.trim();
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field")
        && let Some(field) = quoted.next()
    {
        let table = path.rsplit_once('.').map_or("", |(table, _)| table);
        let key = if table.is_empty() { field.to_owned() } else { format!("{table}.{field}") };
        let candidates: Vec<&str> = quoted.collect();
        return ConfigError::UnknownKey { key, suggestion: suggestion(field, candidates) };
    }
    ConfigError::Invalid { key: path.to_owned(), reason: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(overrides: &[&str]) -> String {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        Config::load(None, &overrides).unwrap_err().to_string()
    }

    #[test]
    fn a_resolved_config_reads_back_as_itself() {
        let overrides = ["roles.planner=p", "policies.p.layers=3", "environment.walls=5"];
        let config = Config::load(None, &overrides.map(String::from)).unwrap();
        assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
        let default = Config::default();
        assert_eq!(Config::from_table(default.to_toml().parse().unwrap()).unwrap(), default);
    }

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest_right_one() {
        assert_eq!(
            message(&["rollout.tempature=1"]),
            "there is no setting `rollout.tempature`; did you mean `temperature`?"
        );
        assert_eq!(
            message(&["rolout.branches=1"]),
            "there is no setting `rolout`; did you mean `rollout`?"
        );
    }

    #[test]
    fn values_that_cannot_be_are_refused_by_name() {
        assert_eq!(
            message(&["rollout.branches=0"]),
            "`rollout.branches` cannot be used: it must be at least 1"
        );
        assert!(message(&["rollout.branches=1"]).contains("group of one"));
        assert!(message(&["advantage.estimator=grpo"]).contains("sampling = \"trajectory\""));
        let trajectory = message(&["rollout.sampling=trajectory"]);
        assert!(trajectory.contains("set rollout.sampling = \"tree\""), "{trajectory}");
        assert!(
            message(&["rollout.sampling=bush"]).starts_with("`rollout.sampling` cannot be used")
        );
        assert!(message(&["train.steps=many"]).starts_with("`train.steps` cannot be used"));
        assert!(message(&["nonsense"]).contains("write key=value"));
    }

    #[test]
    fn overrides_take_words_and_numbers_and_lists() {
        let overrides =
            ["rollout.sampling=trajectory", "advantage.estimator=grpo", "plugins.files=[\"a\"]"];
        let config = Config::load(None, &overrides.map(String::from)).unwrap();
        assert_eq!(config.advantage.estimator, Estimator::Grpo);
        assert_eq!(config.plugins.files, [PathBuf::from("a")]);
    }
}
