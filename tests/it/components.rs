//! Where the tests find components: what `cargo xtask plugins` built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use troupe::config::Limits;
use troupe::plugin::{
    Briefing, EnvironmentPlugin, Grants, LiveSession, PluginFailure, PluginLibrary, Role, Seat,
    Split, Task, WorkflowPlugin,
};
use troupe::rollout::{Stage, offered_tools};

/// The folder of components.
pub fn folder() -> PathBuf {
    let beside_host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(beside_host.clone(), PathBuf::from);
    [target, beside_host]
        .map(|target| target.join("plugins"))
        .into_iter()
        .find(|folder| folder.is_dir())
        .expect("components are built; run `cargo xtask plugins` first")
}

/// The library of these plugins and fixtures.
pub fn library(names: &[&str]) -> PluginLibrary {
    library_within(names, &Limits::default())
}

/// The library under limits of the test's choice.
pub fn library_within(names: &[&str], limits: &Limits) -> PluginLibrary {
    let files: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    PluginLibrary::load(&files, &[folder(), folder().join("fixtures")], limits, Grants::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A training task of an environment with these settings, for one player.
pub fn task(environment: &EnvironmentPlugin, settings: &str, seed: u32) -> Task {
    let settings = environment.settings(&settings.parse().unwrap()).unwrap();
    let (settings, seats) = (settings.configured().to_vec(), vec![Seat::new("player")]);
    Task { split: Split::Train, seed, settings, seats, entry: None }
}

/// An environment and a workflow with these settings.
pub fn stage(
    environment: &EnvironmentPlugin,
    environment_settings: &str,
    workflow: &WorkflowPlugin,
    workflow_settings: &str,
) -> Stage {
    let environment_settings = environment.settings(&environment_settings.parse().unwrap());
    let environment_settings = environment_settings.unwrap();
    let environment_configuration = environment.configure(&environment_settings).unwrap();
    let workflow_settings = workflow.settings(&workflow_settings.parse().unwrap()).unwrap();
    let kinds = &environment.description().actions;
    let workflow_configuration = workflow.configure(&workflow_settings, kinds).unwrap();
    Stage {
        environment: environment.clone(),
        environment_settings,
        max_turns: environment_configuration.max_turns as usize,
        environment_configuration,
        workflow: workflow.clone(),
        workflow_settings,
        workflow_configuration,
        tools: offered_tools(workflow),
        actions_per_answer: 8,
    }
}

/// A session of a stage's workflow, not begun.
pub fn session(stage: &Stage) -> Result<LiveSession, PluginFailure> {
    let roles: Arc<[Role]> = stage.roles().into();
    let description = stage.environment.description();
    stage.workflow.start(
        &roles,
        &Briefing {
            environment: description.name.clone(),
            rules: vec![(None, "There are no rules.".to_owned())],
            actions: description.actions.clone(),
            settings: stage.workflow_settings.configured().to_vec(),
            max_turns: stage.max_turns as u32,
            tools: stage.tools.clone(),
            revealed: None,
        },
    )
}
