//! The configuration of a run: one file per table.
//!
//! Read once, checked once, never changed afterwards. What plugins and
//! policies say about their own settings is checked where they are loaded.

mod advantage;
mod allowed;
mod anchor;
mod audience;
mod changes;
mod check;
mod comparison;
mod credit;
mod critic;
mod curriculum;
mod device;
mod ensemble;
mod explanation;
mod family;
mod grantee;
mod mix;
mod former;
mod idle;
mod overrides;
mod plugins;
mod policies;
mod remote;
mod retrieval;
mod roles;
mod rollout;
mod run;
mod sampler;
mod sandbox;
mod table;
mod tasks;
mod tinker;
mod train;
mod lookup;
mod schema;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use advantage::{AdvantageConfig, GroupFilter, RoleAdvantageConfig};
pub use allowed::Allowed;
pub use audience::Audience;
pub use changes::{Change, changes};
pub use comparison::{Comparison, Estimator, Same, Scale, Unit, Worth};
pub use credit::CreditStep;
pub use critic::{Against, Learns, PreferenceCriticConfig, Reading, ValueCriticConfig};
pub use curriculum::{CurriculumConfig, RampConfig};
pub use device::DeviceChoice;
pub use ensemble::{EnsembleBy, EnsembleConfig};
pub use grantee::Grantee;
pub use idle::IdleSetting;
pub use mix::MixConfig;
pub use plugins::{Limits, PluginsConfig};
pub use policies::{ChatConfig, Dtype, DtypeChoice, LoraConfig, PolicyConfig};
pub use remote::RemoteConfig;
pub use retrieval::RetrievalConfig;
pub use roles::{RoleConfig, Roles};
pub use rollout::{
    Allocation, BranchChoice, KnockOut, RolloutConfig, SamplingScheme, Scheduling, Store,
    ValidationConfig,
};
pub use run::{CheckpointConfig, RunConfig};
pub use sampler::{EngineKind, SamplerConfig};
pub use sandbox::SandboxConfig;
pub use table::Setting;
pub use tasks::TasksConfig;
pub use tinker::{ReductionChoice, TinkerConfig, UNBOUNDED_NORM};
pub use train::{
    AnchorChoice, Budget, Choice, Decay, ImitationConfig, Importance, LossAggregation, Objective,
    Regularize, TrainConfig,
};

use self::audience::{lay_correction_under, lay_defaults_under, lay_plain_drawing_under};
use self::explanation::explain;
pub use self::former::rename_in_json;
pub use self::overrides::apply_override;
use self::overrides::{lay_over, parse_table};
use self::table::table;

use crate::error::{Coded, ExitCode};
use crate::installation::shipped;

/// The table of policies that have none of their own.
const DEFAULT_POLICY: &str = "default";

table! {
    /// Everything a run depends on.
    pub struct Config {
        /// Which role is played by which policy.
        pub roles: Roles = Roles::Shared;
        /// Where the run lives.
        pub run: RunConfig = RunConfig::default();
        /// Which plugins it uses.
        pub plugins: PluginsConfig = PluginsConfig::default();
        /// Who may run model-written programs.
        pub sandbox: SandboxConfig = SandboxConfig::default();
        /// What plugins may search.
        pub retrieval: RetrievalConfig = RetrievalConfig::default();
        /// The environment's own settings; `host plugin inspect` shows them.
        pub environment: toml::Table = toml::Table::new();
        /// The workflow's own settings; `host plugin inspect` shows them.
        pub workflow: toml::Table = toml::Table::new();
        /// Records that tasks are built from.
        pub tasks: TasksConfig = TasksConfig::default();
        /// How the environment's settings follow success.
        pub curriculum: CurriculumConfig = CurriculumConfig::default();
        /// Several kinds of tasks in one run.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub mix: Vec<MixConfig> = Vec::new();
        /// The policies by name. One called `default` is what those are that `roles` implies and
        /// that have no table.
        pub policies: BTreeMap<String, PolicyConfig> = BTreeMap::new();
        /// How episodes are produced.
        pub rollout: RolloutConfig = RolloutConfig::default();
        /// How advantages come from rewards.
        pub advantage: AdvantageConfig = AdvantageConfig::default();
        /// The warm start.
        pub imitation: ImitationConfig = ImitationConfig::default();
        /// The update.
        pub train: TrainConfig = TrainConfig::default();
        /// Held-out tasks.
        pub validation: ValidationConfig = ValidationConfig::default();
        /// What is saved.
        pub checkpoint: CheckpointConfig = CheckpointConfig::default();
    }
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

impl Coded for ConfigError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

impl Config {
    /// Reads a file, if any, and applies `key=value` overrides on top.
    ///
    /// # Errors
    /// If the file cannot be read, or a setting is wrong.
    pub fn load(path: Option<&Path>, overrides: &[String]) -> Result<Config, ConfigError> {
        Config::layered(path.as_slice(), overrides)
    }

    /// Reads files, each overriding those before it, and applies `key=value` overrides on top.
    ///
    /// # Errors
    /// If a file cannot be read, or a setting is wrong.
    pub fn layered(
        paths: &[impl AsRef<Path>],
        overrides: &[String],
    ) -> Result<Config, ConfigError> {
        Config::noted(paths, overrides, &mut |_| {})
    }

    /// The same, and `note` hears of settings that were renamed.
    ///
    /// # Errors
    /// If a file cannot be read, or a setting is wrong.
    pub fn noted(
        paths: &[impl AsRef<Path>],
        overrides: &[String],
        note: &mut impl FnMut(&str),
    ) -> Result<Config, ConfigError> {
        let mut table = toml::Table::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let path = &shipped(path);
            let text = std::fs::read_to_string(path)
                .map_err(|reason| ConfigError::Unreadable { path: path.into(), reason })?;
            let mut layer = parse_table(&text, &path.display().to_string())?;
            former::rename(&mut layer, note);
            lay_over(&mut table, layer);
        }
        for text in overrides {
            apply_override(&mut table, text)?;
            former::rename(&mut table, note);
        }
        if Config::read(table.clone())?.over_tinker().next().is_some() {
            lay_plain_drawing_under(&mut table)?;
            lay_correction_under(&mut table)?;
        }
        if Config::read(table.clone())?.audience() == Audience::Language {
            lay_defaults_under(&mut table)?;
        }
        if Config::read(table.clone())?.policies.values().any(|policy| policy.sampler.is_some()) {
            lay_correction_under(&mut table)?;
        }
        let mut config = Config::from_table(table)?;
        config.retrieval.corpus.iter_mut().for_each(|file| *file = shipped(file));
        Ok(config)
    }

    /// The same with one more `key=value` override.
    ///
    /// # Errors
    /// If the setting does not exist or does not fit the others.
    pub fn with(&self, text: &str) -> Result<Config, ConfigError> {
        let mut table = parse_table(&self.to_toml(), "the configuration")?;
        apply_override(&mut table, text)?;
        former::rename(&mut table, &mut |_| {});
        Config::from_table(table)
    }

    /// Checks a parsed table.
    ///
    /// # Errors
    /// If a setting does not exist, is out of range or contradicts another.
    pub fn from_table(table: toml::Table) -> Result<Config, ConfigError> {
        let config = Config::read(table)?;
        config.check()?;
        Ok(config)
    }

    fn read(mut table: toml::Table) -> Result<Config, ConfigError> {
        rollout::write_out_adaptive(&mut table);
        let given = toml::Value::Table(table);
        serde_path_to_error::deserialize(given.clone())
            .map_err(|error| explain(&given, &error.path().to_string(), &error.inner().to_string()))
    }

    /// Whether training changes the policy; one without a table is trained, a
    /// base of adapters is not, and neither is a remote one, a snapshot, or several policies in
    /// the place of one and what these are.
    pub fn trains(&self, policy: &str) -> bool {
        let trains = |settings: &PolicyConfig| {
            settings.train
                && settings.remote.is_none()
                && settings.snapshot_of.is_none()
                && settings.ensemble.is_none()
        };
        self.policies.get(policy).is_none_or(trains)
            && !self.is_base(policy)
            && !self.is_member(policy)
    }

    /// The same, with a table for each policy that `roles` implies: `[policies.default]`'s if it has
    /// none of its own. `names` are the workflow's roles.
    #[must_use]
    pub fn with_implied_policies(mut self, names: &[String]) -> Config {
        let Some(default) = self.policies.get(DEFAULT_POLICY).cloned() else { return self };
        let policies = names.iter().filter_map(|name| self.roles.policy_of(name));
        let implied = policies.filter(|policy| self.roles.may_imply(policy)).map(str::to_owned);
        let implied: Vec<String> = implied.collect();
        let is_needed = self.is_base(DEFAULT_POLICY)
            || names.iter().any(|name| self.roles.policy_of(name) == Some(DEFAULT_POLICY));
        for policy in implied {
            self.policies.entry(policy).or_insert_with(|| default.clone());
        }
        if !is_needed {
            self.policies.remove(DEFAULT_POLICY);
        }
        self
    }

    /// The table of the policy that plays a role: its own, or `[policies.default]` if it is implied.
    fn policy_for(&self, role: &str) -> Option<&PolicyConfig> {
        let name = self.roles.policy_of(role)?;
        let implied = || self.policies.get(DEFAULT_POLICY).filter(|_| self.roles.may_imply(name));
        self.policies.get(name).or_else(implied)
    }

    /// How a policy is trained, with a learning rate of its own if it has one.
    pub fn training_of(&self, policy: &str) -> TrainConfig {
        let own = self.policies.get(policy);
        let own_rate = own.and_then(|settings| settings.learning_rate);
        let learning_rate = own_rate.unwrap_or(self.train.learning_rate);
        let max_gradient_norm = self.gradient_norm_of(policy);
        let train = TrainConfig { learning_rate, max_gradient_norm, ..self.train.clone() };
        match own.filter(|settings| settings.learns == Learns::Preference) {
            Some(critic) => critic.preference.clone().unwrap_or_default().training(train),
            None => train,
        }
    }

    /// The policy that this one is an earlier state of, if it is one.
    pub fn source_of(&self, policy: &str) -> Option<&str> {
        self.policies.get(policy)?.snapshot_of.as_deref()
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
            None => {
                settings.path.is_none()
                    && settings.remote.is_none()
                    && settings.tinker.is_none()
                    && settings.ensemble.is_none()
            }
        }
    }

    /// The configuration as a file that reproduces it.
    pub fn to_toml(&self) -> String {
        // Every field is a string, number, flag, list or table, which TOML can write.
        toml::to_string_pretty(self).unwrap_or_default()
    }
}
