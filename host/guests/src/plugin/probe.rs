//! A guest for tests, written by hand: an interpreter whose `describe` does
//! what the test says.

use std::path::Path;

use super::component::Plugin;
use super::engine::PluginEngine;
use super::error::PluginError;
use super::grants::Grants;
use troupe_core::config::Limits;

/// Parts of the guest that a test may write itself, as WebAssembly text.
#[derive(Clone, Copy)]
pub(crate) struct Probe<'a> {
    /// What the component imports, and `canon lower`s to core functions.
    pub(super) imports: &'a str,
    /// What its core module gets: the `with` clauses of its instantiation.
    pub(super) with: &'a str,
    /// What the core module imports.
    pub(super) core_imports: &'a str,
    /// Instructions in front of `describe`'s own, which return the address of
    /// a sound description: 16.
    pub(super) describe: &'a str,
    /// What `run` executes. Its memory has one page at first.
    pub(super) run: &'a str,
}

impl<'a> Probe<'a> {
    /// A probe that executes these instructions when asked what it is.
    pub(crate) fn that(describe: &'a str) -> Self {
        Probe { imports: "", with: "", core_imports: "", describe, run: "unreachable" }
    }

    /// The component.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let text = TEMPLATE
            .replace("%imports", self.imports)
            .replace("%with", self.with)
            .replace("%core-imports", self.core_imports)
            .replace("%describe", self.describe)
            .replace("%run", self.run);
        wat::parse_str(&text).unwrap()
    }

    /// The component, loaded.
    pub(super) fn load(&self, limits: &Limits) -> Result<Plugin, PluginError> {
        load(&self.bytes(), limits)
    }
}

/// Loads a component, or what is none, from a file of its own.
pub(super) fn load(bytes: &[u8], limits: &Limits) -> Result<Plugin, PluginError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("probe.wasm");
    std::fs::write(&file, bytes).unwrap();
    Plugin::load(&PluginEngine::new().unwrap(), Path::new(&file), limits, &Grants::default())
}

const TEMPLATE: &str = include_str!("probe.wat");
