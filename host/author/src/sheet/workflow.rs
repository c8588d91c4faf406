//! A workflow: who plays in it, and how a conversation goes.

use plugin_sdk::testing::kinds_beside;

use super::{Example, tried};
use troupe_core::config::{Audience, Config};
use troupe_guests::plugin::{PluginLibrary, Right, Role, WorkflowDescription, WorkflowPlugin};
use troupe_guests::scenario::Scenario;

/// A workflow.
#[derive(Debug)]
pub struct WorkflowSheet {
    /// What it says of itself.
    pub description: WorkflowDescription,
    /// Who plays, or why that cannot be said.
    pub roles: Result<Vec<Role>, String>,
    /// An episode in an environment that fits, played by its expert, or why there is none.
    pub example: Result<Example, String>,
    /// What that environment was granted.
    pub granted: Vec<Right>,
}

impl WorkflowSheet {
    /// What it says without an environment.
    pub(crate) fn untried(plugin: &WorkflowPlugin, config: &Config, reason: &str) -> Self {
        let description = plugin.description().clone();
        let settings = tried(plugin.settings_for(Audience::Language, &config.workflow));
        let configured = settings.and_then(|settings| {
            let kinds = kinds_beside(&description, settings.configured());
            tried(plugin.configure(&settings, &kinds))
        });
        let roles = configured.map(|configuration| configuration.roles);
        WorkflowSheet { description, roles, example: Err(reason.to_owned()), granted: Vec::new() }
    }

    /// Tries it out in the environment that the library has beside it.
    pub(crate) fn play(&mut self, library: &PluginLibrary, config: &Config) {
        let mut entry = config.families().swap_remove(0);
        entry.workflow = Some(self.description.name.clone());
        // What it imports it was granted, or else it would not be here.
        for offer in library.environments().iter().map(|one| one.plugin().offer()) {
            self.granted.extend(offer.sandbox.then_some(Right::Sandbox));
            self.granted.extend(offer.retrieval.then_some(Right::Retrieval));
        }
        let scenario = tried(Scenario::assemble(config, &entry, Audience::Language, library));
        self.example = scenario.and_then(|scenario| {
            self.roles = Ok(scenario.roles().to_vec());
            tried(Example::team(&scenario, 0))
        });
    }
}
