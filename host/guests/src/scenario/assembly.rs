//! A scenario as a configuration says it.

use std::sync::Arc;

use super::Scenario;
use super::environment::Environment;
use super::error::ScenarioError;
use super::tool;
use crate::foreign::ForeignEnvironment;
use crate::plugin::{EnvironmentConfiguration, PluginLibrary, WorkflowPlugin};
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
        let max_turns = match config.rollout.max_turns {
            0 => environment_configuration.max_turns as usize,
            turns => turns,
        };
        Ok(Scenario {
            family: entry.family.clone().unwrap_or_else(|| environment.name().to_owned()),
            environment_settings,
            environment_configuration,
            workflow_settings,
            workflow_configuration,
            records,
            tools: tool::offered(&workflow),
            environment,
            workflow,
            max_turns,
            max_turns_of: config
                .roles
                .entries()
                .filter_map(|(role, entry)| Some((role.clone(), entry.max_turns?)))
                .collect(),
            actions_per_answer: config.plugins.limits.actions_per_answer,
            keeps_hints: config.keeps_hints(),
        })
    }

    /// The workflow that would play if it had been granted what it calls.
    pub fn passed_over(&self, library: &PluginLibrary) -> Option<WorkflowPlugin> {
        let environment = &self.environment;
        library.passed_over(&self.workflow, environment.description(), environment.file())
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
