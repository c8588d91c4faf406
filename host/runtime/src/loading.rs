//! The plugins that a configuration names, loaded, with the sandbox for those
//! that may use it.

use std::sync::Arc;

use crate::config::Config;
use crate::plugin::{Grants, PluginError, PluginLibrary, SandboxGrant};
use crate::sandbox::{Sandbox, StartError};

/// Why the plugins cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A plugin cannot be loaded or does not fit.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The sandbox cannot be set up.
    #[error(transparent)]
    Sandbox(#[from] StartError),
}

/// Load the configuration's plugins; the sandbox serves those it is granted to.
///
/// # Errors
/// If a file is missing or unfit, or the sandbox cannot be set up.
pub fn load_plugins(config: &Config) -> Result<(PluginLibrary, Sandbox), LoadError> {
    let plugins = &config.plugins;
    let sandbox = Sandbox::new(&config.sandbox, &plugins.path)?;
    let grant = SandboxGrant { runner: Arc::new(sandbox.clone()), limits: config.sandbox.limits };
    let grants = Grants { grant: Some(grant), plugins: config.sandbox.grant.clone() };
    let library = PluginLibrary::load(&plugins.files, &plugins.path, &plugins.limits, grants)?;
    for interpreter in library.interpreters() {
        sandbox.offer(Some(interpreter.name()), interpreter.plugin().file())?;
    }
    Ok((library, sandbox))
}
