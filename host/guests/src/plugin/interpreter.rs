//! An interpreter: known by its language. Its programs are run by the sandbox.

use plugin_sdk::interpreter::Description;

use super::component::Plugin;
use super::error::PluginError;

/// An interpreter of a loaded plugin. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct InterpreterPlugin {
    plugin: Plugin,
    description: Description,
}

impl InterpreterPlugin {
    /// The interpreter in a plugin, if there is one.
    ///
    /// # Errors
    /// If the plugin's description is wrong, or it needs what it was not granted.
    pub fn of(plugin: &Plugin) -> Result<Option<Self>, PluginError> {
        let Some(indices) = &plugin.loaded.interpreter else { return Ok(None) };
        let description = plugin.describe(
            "interpreter",
            |store, wasm| indices.load(&mut *store, wasm)?.call_describe(store),
            Description::check,
        )?;
        Ok(Some(InterpreterPlugin { plugin: plugin.clone(), description }))
    }

    /// Its description of itself.
    pub fn description(&self) -> &Description {
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
