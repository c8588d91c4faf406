//! An interpreter: known by its language. Its programs are run by the sandbox.

use super::component::Plugin;
use super::conversion::{self, TextLimit};
use super::description::InterpreterDescription;
use super::error::PluginError;
use crate::seed::Seed;

/// An interpreter of a loaded plugin. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct InterpreterPlugin {
    plugin: Plugin,
    description: InterpreterDescription,
}

impl InterpreterPlugin {
    /// The interpreter that the plugin brings, if it brings one.
    pub fn of(plugin: &Plugin) -> Result<Option<Self>, PluginError> {
        let Some(indices) = plugin.interpreter_indices() else { return Ok(None) };
        let limit = TextLimit { text_kib: plugin.limits().text_kib };
        let (mut instance, wasm) = plugin.instantiate(&plugin.unnamed(), Seed::new(0))?;
        let described = instance
            .call("describe", 0, |store| indices.load(&mut *store, &wasm)?.call_describe(store))?;
        let description = conversion::interpreter_description(described, limit)
            .map_err(|cause| instance.condemn("describe", cause))?;
        super::description::check_interpreter(&description).map_err(|reason| {
            PluginError::Description { file: plugin.file().to_owned(), kind: "interpreter", reason }
        })?;
        Ok(Some(InterpreterPlugin { plugin: plugin.clone(), description }))
    }

    /// What it is.
    pub fn description(&self) -> &InterpreterDescription {
        &self.description
    }

    /// Its language, which is what it goes by.
    pub fn name(&self) -> &str {
        &self.description.language
    }

    /// The file that brings it.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }
}
