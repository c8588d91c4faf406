//! The families of tasks of a run: those of `[[mix]]`, or the one that the tables
//! `[plugins]`, `[environment]`, `[workflow]`, `[tasks]` and `[curriculum]` speak of.

use super::check::require;
use super::{
    BranchChoice, Config, ConfigError, CurriculumConfig, MixConfig, SamplingScheme, TasksConfig,
};

impl Config {
    /// Every family of tasks; one at least.
    pub fn families(&self) -> Vec<MixConfig> {
        if !self.mix.is_empty() {
            return self.mix.clone();
        }
        vec![MixConfig {
            family: None,
            environment: self.plugins.environment.clone(),
            workflow: self.plugins.workflow.clone(),
            weight: 1.0,
            settings: self.environment.clone(),
            workflow_settings: self.workflow.clone(),
            tasks: self.tasks.clone(),
            curriculum: self.curriculum.clone(),
        }]
    }

    /// The same configuration with these families in place of its own.
    #[must_use]
    pub fn with_families(mut self, families: Vec<MixConfig>) -> Self {
        if !self.mix.is_empty() {
            self.mix = families;
        } else if let [only] = &families[..] {
            self.plugins.environment.clone_from(&only.environment);
            self.plugins.workflow.clone_from(&only.workflow);
            self.environment.clone_from(&only.settings);
            self.workflow.clone_from(&only.workflow_settings);
        }
        self
    }

    pub(super) fn check_families(&self) -> Result<(), ConfigError> {
        let alone = [
            ("plugins.environment", "environment", self.plugins.environment.is_some()),
            ("plugins.workflow", "workflow", self.plugins.workflow.is_some()),
            ("environment", "settings", !self.environment.is_empty()),
            ("workflow", "workflow_settings", !self.workflow.is_empty()),
            ("tasks", "tasks", self.tasks != TasksConfig::default()),
            ("curriculum", "curriculum", self.curriculum != CurriculumConfig::default()),
        ];
        for (key, entry, is_set) in alone {
            let reason = format!("a run with [[mix]] has it in each entry, as `{entry}`");
            require(self.mix.is_empty() || !is_set, key, &reason)?;
        }
        let names: Vec<&str> = self.mix.iter().filter_map(name).collect();
        for (index, family) in self.mix.iter().enumerate() {
            let reason = format!(
                "entry {} has no name of its own; say `family` (or another one), so that its \
                 figures can be told from the others'",
                index + 1
            );
            let family_name = name(family);
            let alike = names.iter().filter(|name| Some(**name) == family_name).count();
            require(family_name.is_some() && alike == 1, "mix.family", &reason)?;
        }
        require(
            self.families().iter().any(|family| family.weight > 0.0),
            "mix.weight",
            "it is 0 everywhere, so nothing would be learned from; give one entry at least a share",
        )?;
        self.families().iter().try_for_each(check_curriculum)?;
        let climbs = self.families().iter().any(|family| !family.curriculum.settings.is_empty());
        let chooses = self.rollout.branch_choice != BranchChoice::Random
            && matches!(self.rollout.scheme, SamplingScheme::Tree | SamplingScheme::Independent);
        require(
            !climbs || !chooses,
            "rollout.branch_choice",
            "a curriculum goes by the share of episodes that are solved, and those that go on from \
             the better branches are not what the policies do; leave it at \"random\"",
        )
    }
}

/// What a family is called, as far as the configuration says it.
pub(super) fn name(family: &MixConfig) -> Option<&str> {
    family.family.as_deref().or(family.environment.as_deref())
}

fn check_curriculum(family: &MixConfig) -> Result<(), ConfigError> {
    let curriculum = &family.curriculum;
    require(
        family.weight > 0.0 || curriculum.settings.is_empty(),
        "mix.curriculum",
        "its entry has weight 0, so its settings would follow nothing",
    )?;
    require(
        curriculum.lower_at < curriculum.raise_at,
        "curriculum.lower_at",
        "it must be below raise_at, or settings would go to and fro for ever",
    )?;
    for (name, ramp) in &curriculum.settings {
        let key = format!("curriculum.settings.{name}");
        require(ramp.from != ramp.to, &key, "it goes nowhere: `from` and `to` are the same")?;
        let steps = (ramp.to - ramp.from).abs() / ramp.step;
        require(steps <= 1000.0, &key, "its way has more than 1000 steps; make `step` larger")?;
    }
    Ok(())
}
