//! A workflow: sessions to start and to resume.

use std::sync::Arc;

use plugin_sdk::environment::Description as EnvironmentDescription;
use plugin_sdk::types::ActionKind;
use plugin_sdk::workflow::{Briefing, Configuration, Description, Role};

use super::bindings::exports::troupe::plugin::workflow::{Guest, GuestIndices};
use super::component::Plugin;
use super::error::PluginError;
use super::failure::{Cause, Identity, PluginFailure};
use super::grants::{Right, grant_flag};
use super::instance::Instance;
use super::kept::{Kept, Used};
use super::preset::Presets;
use super::session::{LiveSession, SessionState};
use super::setting::Settings;
use troupe_core::config::Audience;
use troupe_core::seed::Seed;

/// A workflow has no task, so there is only one source of chance for all.
const CHANCE: Seed = Seed::new(0);

/// A workflow of a loaded plugin. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct WorkflowPlugin {
    pub(super) shared: Arc<Workflow>,
}

#[derive(Debug)]
pub(super) struct Workflow {
    plugin: Plugin,
    identity: Identity,
    description: Description,
    presets: Presets,
    pub(super) kept: Kept<Guest>,
}

impl WorkflowPlugin {
    /// The workflow in a plugin, if there is one.
    ///
    /// # Errors
    /// If the plugin's description is wrong, or it needs what it was not granted.
    pub fn of(plugin: &Plugin) -> Result<Option<Self>, PluginError> {
        let Some(indices) = &plugin.loaded.workflow else { return Ok(None) };
        let description = plugin.describe(
            "workflow",
            |store, wasm| indices.load(&mut *store, wasm)?.call_describe(store),
            Description::check,
        )?;
        plugin.check_needs(&description.needs)?;
        let presets = Presets::of(description.presets(), &description.settings);
        let presets = presets.map_err(|reason| PluginError::Description {
            file: plugin.file().to_owned(),
            kind: "workflow",
            reason,
        })?;
        let identity = Identity::new(&description.name, &description.version);
        let kept = Kept::new(description.is_reusable());
        let shared = Workflow { plugin: plugin.clone(), identity, description, presets, kept };
        Ok(Some(WorkflowPlugin { shared: Arc::new(shared) }))
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

    /// The rights that its tools need and that it was not granted.
    pub fn lacks(&self) -> Vec<Right> {
        let rights = self.description().tools().filter_map(Right::for_tool);
        rights.filter(|right| !self.plugin().granted().has(*right)).collect()
    }

    /// The flag that grants it [what it lacks](Self::lacks), if it lacks something.
    pub fn grant_flag(&self) -> Option<String> {
        let lacks = self.lacks();
        (!lacks.is_empty()).then(|| grant_flag(&self.plugin().stem(), &lacks))
    }

    /// The user's `[workflow]` table, checked and completed: from the preset that it names, and
    /// otherwise with defaults.
    ///
    /// # Errors
    /// If the workflow has no such setting or preset, or a value does not fit.
    pub fn settings(&self, table: &toml::Table) -> Result<Settings, PluginError> {
        self.settings_for(Audience::Words, table)
    }

    /// The same where language models read what roles are told, if it has a preset for them:
    /// below what the user says.
    ///
    /// # Errors
    /// If the workflow has no such setting or preset, or a value does not fit.
    pub fn settings_for(
        &self,
        audience: Audience,
        table: &toml::Table,
    ) -> Result<Settings, PluginError> {
        let declared = &self.description().settings;
        self.shared.presets.resolve(declared, audience, table).map_err(|error| {
            PluginError::Setting { kind: "workflow", plugin: self.name().to_owned(), error }
        })
    }

    /// Checks that the environment understands every kind of action that the workflow sends.
    ///
    /// # Errors
    /// If there is a kind of action that the environment does not know.
    pub fn check_fit(&self, environment: &EnvironmentDescription) -> Result<(), PluginError> {
        let understood = &environment.actions;
        let strange = |kind: &&String| understood.iter().all(|known| known.name != **kind);
        let Some(kind) = self.description().actions.iter().find(strange) else { return Ok(()) };
        let understood: Vec<String> =
            understood.iter().map(|kind| format!("`{}`", kind.name)).collect();
        Err(PluginError::Misfit {
            workflow: self.name().to_owned(),
            environment: environment.name.clone(),
            reason: format!(
                "it sends actions of the kind `{kind}`, but the environment understands only {}",
                understood.join(", ")
            ),
        })
    }

    /// What follows from the settings beside an environment with these kinds of action: the roles
    /// and their seats.
    ///
    /// # Errors
    /// If the workflow does not accept them, or fails.
    pub fn configure(
        &self,
        settings: &Settings,
        environment: &[ActionKind],
    ) -> Result<Configuration, PluginFailure> {
        let (mut instance, wasm) = self.instantiate()?;
        instance.ask(
            "configure",
            0,
            |store| {
                let guest = self.indices().load(&mut *store, &wasm)?;
                guest.call_configure(store, settings.configured(), environment)
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
        environment: &[ActionKind],
    ) -> Result<[(Description, Configuration); 2], PluginFailure> {
        let (mut instance, wasm) = self.instantiate()?;
        let mut question = || {
            let description = instance.call("describe", 0, |store| {
                self.indices().load(&mut *store, &wasm)?.call_describe(store)
            })?;
            let configuration = instance.ask(
                "configure",
                0,
                |store| {
                    let guest = self.indices().load(&mut *store, &wasm)?;
                    guest.call_configure(store, settings.configured(), environment)
                },
                |configuration: &Configuration, _| configuration.check().map_err(Cause::invalid),
            )?;
            Ok((description, configuration))
        };
        Ok([question()?, question()?])
    }

    /// Begins a session with these roles.
    ///
    /// # Errors
    /// If the workflow fails.
    pub fn start(
        &self,
        roles: &Arc<[Role]>,
        briefing: &Briefing,
    ) -> Result<LiveSession, PluginFailure> {
        LiveSession::start(self, roles.clone(), Arc::new(briefing.clone()))
    }

    /// Resumes a state in another instance: from what the guest saved, or, if it saved nothing, by
    /// replaying the events.
    ///
    /// # Errors
    /// If the workflow fails.
    pub fn resume(&self, state: &SessionState) -> Result<LiveSession, PluginFailure> {
        LiveSession::resume(self, state)
    }

    /// An invalid answer, found while carrying out the directives, such as
    /// a wait for answers when none is due.
    pub fn failure(&self, call: &'static str, message: impl Into<String>) -> PluginFailure {
        self.failed(call, Cause::invalid(message))
    }

    /// A failure of a call of this workflow, for the cause given.
    pub fn failed(&self, call: &'static str, cause: Cause) -> PluginFailure {
        PluginFailure::new(&self.shared.identity, call, cause)
    }

    /// An instance for a session.
    pub(super) fn instance(&self) -> Result<Used<Guest>, PluginFailure> {
        self.shared.kept.instance(CHANCE, || {
            let (mut instance, wasm) = self.instantiate()?;
            let load = |store: &mut _| self.indices().load(store, &wasm);
            let guest = instance.call("instantiate", 0, load)?;
            Ok((instance, guest))
        })
    }

    fn instantiate(&self) -> Result<(Instance, wasmtime::component::Instance), PluginFailure> {
        self.shared.plugin.instantiate(&self.shared.identity, CHANCE)
    }

    fn indices(&self) -> &GuestIndices {
        // A workflow is made from a plugin that has them, in `of`.
        self.shared.plugin.loaded.workflow.as_ref().expect("the plugin exports a workflow")
    }
}
