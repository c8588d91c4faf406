//! The sandbox, and plugins that were granted it.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use troupe_core::config::{Grantee, Limits};
use troupe_core::program::RunLimits;
use troupe_guests::plugin::{Grant, Grants, PluginLibrary, SandboxGrant};
use troupe_sandbox::Sandbox;

use super::components::folder;

/// Shared by the tests of a program, as by the plugins of a run.
pub static SANDBOX: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::with_worker(Path::new(env!("CARGO_BIN_EXE_host")), 2, &[folder()]));

/// Plugins, some of which may run programs.
pub fn library(files: &[&str], granted: &[&str], limits: RunLimits) -> PluginLibrary {
    let grant = SandboxGrant { runner: Arc::new(SANDBOX.clone()), limits };
    let to = granted.iter().map(|&name| Grantee::named(name)).collect();
    let grants = Grants { sandbox: Grant { what: Some(grant), to }, ..Grants::default() };
    let files: Vec<_> = files.iter().map(|name| Path::new(name).to_owned()).collect();
    let path = [folder(), folder().join("fixtures")];
    PluginLibrary::load(&files, &path, &Limits::default(), grants).unwrap()
}
