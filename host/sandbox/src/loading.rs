//! The plugins that a configuration names, loaded, with the sandbox for those
//! that may use it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Sandbox, StartError};
use troupe_core::config::{Config, Grantee};
use troupe_core::error::{Coded, ExitCode};
use troupe_core::installation::plugin_folders;
use troupe_core::storage::{StorageError, digest_file};
use troupe_guests::plugin::{
    Grant, Grants, Plugin, PluginError, PluginLibrary, SandboxGrant, find_named, find_plugin,
};
use troupe_guests::retrieval::{Corpus, CorpusError};

/// Why the plugins cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A plugin cannot be loaded or does not fit.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The sandbox cannot be set up.
    #[error(transparent)]
    Sandbox(#[from] StartError),
    /// The corpus cannot be searched.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
}

impl Coded for LoadError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            LoadError::Plugin(error) => error.code(),
            LoadError::Sandbox(error) => error.code(),
            LoadError::Corpus(error) => error.code(),
        }
    }
}

/// Load the configuration's plugins; the sandbox and the corpus serve those they
/// are granted to.
///
/// # Errors
/// If a file is missing or unfit, or the sandbox or the corpus cannot be set up.
pub fn load_plugins(config: &Config) -> Result<(PluginLibrary, Sandbox), LoadError> {
    let plugins = &config.plugins;
    let sandbox = Sandbox::new(&config.sandbox, &plugins.path)?;
    let grant = SandboxGrant { runner: Arc::new(sandbox.clone()), limits: config.sandbox.limits };
    let corpus = Corpus::open(&config.retrieval)?.map(Arc::new);
    let grants = Grants {
        sandbox: Grant { what: Some(grant), to: config.sandbox.grant.clone() },
        retrieval: Grant { what: corpus, to: config.retrieval.grant.clone() },
        for_a_look: false,
    };
    let library = PluginLibrary::load(&plugins.files, &plugins.path, &plugins.limits, grants)?;
    for interpreter in library.interpreters() {
        sandbox.offer(Some(interpreter.name()), interpreter.plugin().file())?;
    }
    Ok((library, sandbox))
}

/// Write down which files were granted something: what has a name only is granted
/// to the plugin that has it now, and to no other that takes its place.
pub fn bind_grants(config: &mut Config, plugins: &[&Plugin]) {
    let file = |plugin: &&Plugin| (plugin.stem(), plugin.digest().to_owned());
    let files: Vec<(String, String)> = plugins.iter().map(file).collect();
    Grantee::bind(&mut config.sandbox.grant, &files);
    Grantee::bind(&mut config.retrieval.grant, &files);
}

/// SHA-256 of the interpreters that granted plugins can reach, by file name;
/// none if no plugin was granted the sandbox.
///
/// # Errors
/// If one that is there cannot be read.
pub fn interpreters(config: &Config) -> Result<BTreeMap<String, String>, StorageError> {
    let mut digests = BTreeMap::new();
    if config.sandbox.grant.is_empty() {
        return Ok(digests);
    }
    let folders: Vec<PathBuf> =
        config.plugins.path.iter().cloned().chain(plugin_folders()).collect();
    // What is not named is looked up when a program in that language is to be run.
    let standard = ["python", "javascript"].map(|language| find_named(language, &folders));
    let named = config.plugins.files.iter().chain(&config.sandbox.interpreters);
    for found in named.map(|name| find_plugin(name, &folders)).chain(standard) {
        let Ok(file) = found else { continue };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Entry::Vacant(unknown) = digests.entry(stem) {
            unknown.insert(digest_file(&file)?);
        }
    }
    Ok(digests)
}
