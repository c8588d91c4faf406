//! A scenario as a configuration says it.

use std::sync::Arc;

use super::Scenario;
use super::environment::Environment;
use super::error::ScenarioError;
use super::tool;
use crate::foreign::ForeignEnvironment;
use crate::plugin::{
    EnvironmentConfiguration, PluginFailure, PluginLibrary, Settings, WorkflowPlugin,
};
use crate::records::Records;
use troupe_core::config::{Audience, Config, MixConfig, TasksConfig};

impl Scenario {
    /// The environment and the workflow of a family of tasks, with its settings.
    ///
    /// # Errors
    /// If one of them is not there or does not fit, refuses its settings, or has
    /// no records where it needs some.
    pub fn assemble(
        config: &Config,
        entry: &MixConfig,
        audience: Audience,
        library: &PluginLibrary,
    ) -> Result<Self, ScenarioError> {
        let foreign = ForeignEnvironment::of(&entry.settings, &config.plugins.limits)?;
        let environment = match foreign {
            Some(foreign) => Environment::Foreign(foreign),
            None => {
                let named = entry.environment.as_deref();
                Environment::Component(library.environment(named)?.clone())
            }
        };
        let (name, beside) = (entry.workflow.as_deref(), environment.file());
        let workflow = library.workflow_for(name, environment.description(), beside)?;
        let environment_settings = environment.settings_for(audience, &entry.settings)?;
        let environment_configuration = environment.configure(&environment_settings)?;
        let workflow_settings = workflow.settings_for(audience, &entry.workflow_settings)?;
        let workflow_configuration =
            workflow.configure(&workflow_settings, &environment.description().actions)?;
        let records = open_records(&entry.tasks, environment.name(), &environment_configuration)?;
        Ok(Scenario {
            max_turns: turns(config, &environment_configuration),
            family: entry.family.clone().unwrap_or_else(|| environment.name().to_owned()),
            environment_settings,
            environment_configuration,
            workflow_settings,
            workflow_configuration,
            records,
            tools: tool::offered(&workflow),
            environment,
            workflow,
            max_turns_of: config
                .roles
                .entries()
                .filter_map(|(role, entry)| Some((role.clone(), entry.max_turns?)))
                .collect(),
            actions_per_answer: config.plugins.limits.actions_per_answer,
            keeps_hints: config.keeps_hints(),
        })
    }

    /// The same with other settings of its environment, and what follows from them.
    ///
    /// # Errors
    /// If the environment does not accept the settings, or fails.
    pub fn with_settings(
        &self,
        environment_settings: Settings,
        config: &Config,
    ) -> Result<Self, PluginFailure> {
        let environment_configuration = self.environment.configure(&environment_settings)?;
        let max_turns = turns(config, &environment_configuration);
        Ok(Scenario { environment_settings, environment_configuration, max_turns, ..self.clone() })
    }

    /// The workflow that would play if it had been granted what it calls.
    pub fn passed_over(&self, library: &PluginLibrary) -> Option<WorkflowPlugin> {
        let environment = &self.environment;
        library.passed_over(&self.workflow, environment.description(), environment.file())
    }
}

/// Turns that a seat has, where its role has no limit of its own: those that are set, or as many as
/// the environment advises for its settings.
pub(super) fn turns(config: &Config, environment: &EnvironmentConfiguration) -> usize {
    match config.rollout.max_turns {
        0 => environment.max_turns as usize,
        turns => turns,
    }
}

/// The records of an environment, if it builds tasks from some.
pub(super) fn open_records(
    tasks: &TasksConfig,
    environment: &str,
    configuration: &EnvironmentConfiguration,
) -> Result<Option<Arc<Records>>, ScenarioError> {
    let name = || environment.to_owned();
    let needed = configuration.needs_records;
    match Records::open(tasks)? {
        None if needed => Err(ScenarioError::NoRecords { environment: name() }),
        Some(_) if !needed && !configuration.may_have_records() => {
            Err(ScenarioError::UselessRecords { environment: name() })
        }
        records => Ok(records.map(Arc::new)),
    }
}
