//! An environment: tasks to start, and episodes to resume.

use std::sync::Arc;

use super::bindings::exports::troupe::plugin::environment::GuestIndices;
use super::component::Plugin;
use super::conversion::{self, TextLimit};
use super::description::EnvironmentDescription;
use super::episode::{EnvironmentState, LiveEpisode};
use super::error::PluginError;
use super::failure::{Identity, PluginFailure};
use super::instance::Instance;
use super::setting::Settings;
use super::task::Task;
use crate::seed::Seed;

/// An environment of a loaded plugin. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct EnvironmentPlugin {
    pub(super) shared: Arc<Environment>,
}

#[derive(Debug)]
pub(super) struct Environment {
    pub(super) plugin: Plugin,
    pub(super) identity: Identity,
    description: EnvironmentDescription,
}

impl EnvironmentPlugin {
    /// The environment that the plugin brings, if it brings one.
    pub fn of(plugin: &Plugin) -> Result<Option<Self>, PluginError> {
        let Some(indices) = plugin.environment_indices() else { return Ok(None) };
        let limit = TextLimit { text_kib: plugin.limits().text_kib };
        let (mut instance, wasm) = plugin.instantiate(&plugin.unnamed(), Seed::new(0))?;
        let described = instance
            .call("describe", 0, |store| indices.load(&mut *store, &wasm)?.call_describe(store))?;
        let description = conversion::environment_description(described, limit)
            .map_err(|cause| instance.condemn("describe", cause))?;
        description.check().map_err(|reason| PluginError::Description {
            file: plugin.file().to_owned(),
            kind: "environment",
            reason,
        })?;
        let identity = Identity::new(&description.name, &description.version);
        let shared = Environment { plugin: plugin.clone(), identity, description };
        Ok(Some(EnvironmentPlugin { shared: Arc::new(shared) }))
    }

    /// What it is.
    pub fn description(&self) -> &EnvironmentDescription {
        &self.shared.description
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.description().name
    }

    /// The file that brings it.
    pub fn plugin(&self) -> &Plugin {
        &self.shared.plugin
    }

    /// The user's `[environment]` table, checked and completed.
    pub fn configure(&self, table: &toml::Table) -> Result<Settings, PluginError> {
        Settings::resolve(&self.description().settings, table).map_err(|error| {
            PluginError::Setting { kind: "environment", plugin: self.name().to_owned(), error }
        })
    }

    /// Every word of its observations and actions under these settings; none
    /// when the language is open-ended.
    pub fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, PluginFailure> {
        let limit = self.text_limit();
        let (mut instance, wasm) = self.instantiate(Seed::new(0))?;
        let answer = instance.call("vocabulary", 0, |store| {
            let guest = self.indices().load(&mut *store, &wasm)?;
            guest.call_vocabulary(store, &conversion::environment_configured(settings))
        })?;
        answer
            .map_err(|problem| conversion::environment_problem(problem, limit))
            .and_then(conversion::words)
            .map_err(|cause| instance.condemn("vocabulary", cause))
    }

    /// Begins a task.
    pub fn start(&self, task: &Task) -> Result<LiveEpisode, PluginFailure> {
        LiveEpisode::start(self, Arc::new(task.clone()))
    }

    /// Goes on from a state, in a fresh instance: from what the guest saved,
    /// or, if it saved nothing, by replaying the actions.
    pub fn resume(&self, state: &EnvironmentState) -> Result<LiveEpisode, PluginFailure> {
        LiveEpisode::resume(self, state)
    }

    pub(super) fn text_limit(&self) -> TextLimit {
        TextLimit { text_kib: self.shared.plugin.limits().text_kib }
    }

    pub(super) fn instantiate(
        &self,
        seed: Seed,
    ) -> Result<(Instance, wasmtime::component::Instance), PluginFailure> {
        self.shared.plugin.instantiate(&self.shared.identity, seed)
    }

    pub(super) fn indices(&self) -> &GuestIndices {
        // An environment is made from a plugin that has them, in `of`.
        self.shared.plugin.environment_indices().expect("the plugin exports an environment")
    }
}
