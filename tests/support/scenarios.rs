//! Environments and workflows, configured by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_guests::plugin::{
    Briefing, EnvironmentPlugin, LiveSession, PluginFailure, Role, Seat, Split, Task,
    WorkflowPlugin,
};
use troupe_guests::scenario::{Environment, Scenario, offered_tools};

/// A training task of an environment with these settings, for one player.
pub fn task(environment: &EnvironmentPlugin, settings: &str, seed: u32) -> Task {
    let settings = environment.settings(&settings.parse().unwrap()).unwrap();
    let (settings, seats) = (settings.configured().to_vec(), vec![Seat::new("player")]);
    Task { split: Split::Train, seed, settings, seats, entry: None }
}

/// An environment and a workflow with these settings.
pub fn scenario(
    environment: &EnvironmentPlugin,
    environment_settings: &str,
    workflow: &WorkflowPlugin,
    workflow_settings: &str,
) -> Scenario {
    let environment_settings = environment.settings(&environment_settings.parse().unwrap());
    let environment_settings = environment_settings.unwrap();
    let environment_configuration = environment.configure(&environment_settings).unwrap();
    let workflow_settings = workflow.settings(&workflow_settings.parse().unwrap()).unwrap();
    let kinds = &environment.description().actions;
    let workflow_configuration = workflow.configure(&workflow_settings, kinds).unwrap();
    Scenario {
        family: environment.name().to_owned(),
        environment: Environment::Component(environment.clone()),
        environment_settings,
        max_turns: environment_configuration.max_turns as usize,
        max_turns_of: BTreeMap::new(),
        environment_configuration,
        workflow: workflow.clone(),
        workflow_settings,
        workflow_configuration,
        records: None,
        tools: offered_tools(workflow),
        actions_per_answer: 8,
        keeps_hints: false,
    }
}

/// A session of a scenario's workflow, not begun.
pub fn session(scenario: &Scenario) -> Result<LiveSession, PluginFailure> {
    let roles: Arc<[Role]> = scenario.roles().into();
    let description = scenario.environment.description();
    scenario.workflow.start(
        &roles,
        &Briefing {
            environment: description.name.clone(),
            rules: vec![(None, "There are no rules.".to_owned())],
            actions: description.actions.clone(),
            settings: scenario.workflow_settings.configured().to_vec(),
            max_turns: scenario.max_turns as u32,
            tools: scenario.tools.clone(),
            revealed: None,
        },
    )
}
