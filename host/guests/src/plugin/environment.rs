//! An environment: tasks to start, and episodes to resume.

use std::sync::Arc;

use plugin_sdk::environment::{Configuration, Description, Task};
use plugin_sdk::rendering::Rendering;

use super::bindings::exports::troupe::plugin::environment::{Guest, GuestIndices};
use super::component::Plugin;
use super::episode::{EnvironmentState, LiveEpisode};
use super::error::PluginError;
use super::failure::{Cause, Identity, PluginFailure};
use super::instance::Instance;
use super::kept::{Kept, Used};
use super::preset::Presets;
use super::setting::Settings;
use troupe_core::config::Audience;
use troupe_core::seed::Seed;

/// An environment of a loaded plugin. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct EnvironmentPlugin {
    pub(super) shared: Arc<LoadedEnvironment>,
}

#[derive(Debug)]
pub(super) struct LoadedEnvironment {
    pub(super) plugin: Plugin,
    pub(super) identity: Identity,
    description: Description,
    presets: Presets,
    pub(super) kept: Kept<Guest>,
}

impl EnvironmentPlugin {
    /// The environment in a plugin, if there is one.
    ///
    /// # Errors
    /// If the plugin's description is wrong, or it needs what it was not granted.
    pub fn of(plugin: &Plugin) -> Result<Option<Self>, PluginError> {
        let Some(indices) = &plugin.loaded.environment else { return Ok(None) };
        let description = plugin.describe(
            "environment",
            |store, wasm| indices.load(&mut *store, wasm)?.call_describe(store),
            Description::check,
        )?;
        plugin.check_needs(&description.needs)?;
        let presets = Presets::of(description.presets(), &description.settings);
        let presets = presets.map_err(|reason| PluginError::Description {
            file: plugin.file().to_owned(),
            kind: "environment",
            reason,
        })?;
        let identity = Identity::new(&description.name, &description.version);
        let kept = Kept::new(description.is_reusable());
        let shared =
            LoadedEnvironment { plugin: plugin.clone(), identity, description, presets, kept };
        Ok(Some(EnvironmentPlugin { shared: Arc::new(shared) }))
    }

    /// Its description of itself.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.description().name
    }

    /// The component that it is part of.
    pub fn plugin(&self) -> &Plugin {
        &self.shared.plugin
    }

    /// The user's `[environment]` table, checked and completed: from the preset
    /// that it names, and otherwise with defaults.
    ///
    /// # Errors
    /// If the environment has no such setting or preset, or a value does not fit.
    pub fn settings(&self, table: &toml::Table) -> Result<Settings, PluginError> {
        self.settings_for(Audience::Words, table)
    }

    /// The same where language models read what the environment says, if it has a
    /// preset for them: below what the user says.
    ///
    /// # Errors
    /// If the environment has no such setting or preset, or a value does not fit.
    pub fn settings_for(
        &self,
        audience: Audience,
        table: &toml::Table,
    ) -> Result<Settings, PluginError> {
        let declared = &self.description().settings;
        self.shared.presets.resolve(declared, audience, table).map_err(|error| {
            PluginError::Setting { kind: "environment", plugin: self.name().to_owned(), error }
        })
    }

    /// What follows from the settings: turns, seats, kinds of action.
    ///
    /// # Errors
    /// If the environment does not accept the settings, or fails.
    pub fn configure(&self, settings: &Settings) -> Result<Configuration, PluginFailure> {
        let (mut instance, wasm) = self.instantiate(Seed::new(0))?;
        instance.ask(
            "configure",
            0,
            |store| {
                let guest = self.indices().load(&mut *store, &wasm)?;
                guest.call_configure(store, settings.configured())
            },
            |configuration, _| configuration.check().map_err(Cause::invalid),
        )
    }

    /// Asks one instance twice for its description and configuration: the answers should be equal.
    ///
    /// # Errors
    /// If a call fails, or it does not accept the settings.
    pub fn questioned_twice(
        &self,
        settings: &Settings,
    ) -> Result<[(Description, Configuration); 2], PluginFailure> {
        let (mut instance, wasm) = self.instantiate(Seed::new(0))?;
        let mut question = || {
            let description = instance.call("describe", 0, |store| {
                self.indices().load(&mut *store, &wasm)?.call_describe(store)
            })?;
            let configuration = instance.ask(
                "configure",
                0,
                |store| {
                    let guest = self.indices().load(&mut *store, &wasm)?;
                    guest.call_configure(store, settings.configured())
                },
                |configuration: &Configuration, _| configuration.check().map_err(Cause::invalid),
            )?;
            Ok((description, configuration))
        };
        Ok([question()?, question()?])
    }

    /// Begins a task.
    ///
    /// # Errors
    /// If the environment fails.
    pub fn start(&self, task: &Task) -> Result<LiveEpisode, PluginFailure> {
        LiveEpisode::start(self, Arc::new(task.clone()))
    }

    /// Resumes a state in another instance: from what the guest saved, or, if it saved nothing, by
    /// replaying the actions.
    ///
    /// # Errors
    /// If the environment fails.
    pub fn resume(&self, state: &EnvironmentState) -> Result<LiveEpisode, PluginFailure> {
        LiveEpisode::resume(self, state)
    }

    /// Draws a state; nothing if the environment does not draw, or the state was
    /// not saved by the guest.
    ///
    /// # Errors
    /// If drawing fails.
    pub fn render(&self, state: &EnvironmentState) -> Result<Option<Rendering>, PluginFailure> {
        let loaded = &self.shared.plugin.loaded;
        let (Some(indices), Some(saved)) = (&loaded.rendering, state.saved()) else {
            return Ok(None);
        };
        let (mut instance, wasm) = self.instantiate(Seed::new(0))?;
        let rendering = instance.ask(
            "render",
            state.moves().len(),
            |store| indices.load(&mut *store, &wasm)?.call_render(store, saved),
            |rendering: &Rendering, _| rendering.check().map_err(Cause::invalid),
        )?;
        Ok(Some(rendering))
    }

    /// A failure of a call of this environment, for the cause given.
    pub fn failed(&self, call: &'static str, cause: Cause) -> PluginFailure {
        PluginFailure::new(&self.shared.identity, call, cause)
    }

    fn instantiate(
        &self,
        seed: Seed,
    ) -> Result<(Instance, wasmtime::component::Instance), PluginFailure> {
        self.shared.plugin.instantiate(&self.shared.identity, seed)
    }

    /// An instance for an episode.
    pub(super) fn instance(&self, seed: Seed) -> Result<Used<Guest>, PluginFailure> {
        self.shared.kept.instance(seed, || {
            let (mut instance, wasm) = self.instantiate(seed)?;
            let load = |store: &mut _| self.indices().load(store, &wasm);
            let guest = instance.call("instantiate", 0, load)?;
            Ok((instance, guest))
        })
    }

    fn indices(&self) -> &GuestIndices {
        // An environment is made from a plugin that has them, in `of`.
        self.shared.plugin.loaded.environment.as_ref().expect("the plugin exports an environment")
    }
}
