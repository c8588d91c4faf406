//! Rust: cargo compiles a core module, in which wit-bindgen left what world it
//! is made for.

use std::env;
use std::io::IsTerminal;
use std::process::Command;

use troupe_toolchain::{NoToolchain, TARGET, Toolchain, cache_folder, component_of};

use super::Project;
use super::error::ProjectError;
use troupe_core::storage::StorageError;

pub fn build(project: &Project) -> Result<Vec<u8>, ProjectError> {
    let toolchain = toolchain()?;
    let target = project.folder().join("target");
    // `cargo` of the toolchain by which this program was started, if it was by one.
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(project.folder()).args(["build", "--release", "--lib", "--target-dir"]);
    cargo.arg("target");
    if !std::io::stderr().is_terminal() {
        cargo.arg("--quiet");
    }
    toolchain.apply(&mut cargo);
    let name = || project.manifest().name.clone();
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(_) => return Err(ProjectError::Build(name())),
        Err(_) => return Err(NoToolchain::Rust.into()),
    }
    let library = project.manifest().snake();
    let module = target.join(TARGET).join("release").join(library).with_extension("wasm");
    let module = std::fs::read(&module).map_err(StorageError::io("read", &module))?;
    component_of(&module).map_err(|error| ProjectError::NotAPlugin(name(), error))
}

/// The user's own, or the one that `cargo xtask setup` brought.
fn toolchain() -> Result<Toolchain, ProjectError> {
    if let Some(installed) = Toolchain::installed()? {
        return Ok(installed);
    }
    let cached = cache_folder().map(|cache| Toolchain::cached(&cache)).transpose()?.flatten();
    cached.ok_or_else(|| ProjectError::Tool {
        what: "the standard library for WebAssembly",
        language: "Rust",
        command: format!("rustup target add {TARGET}"),
    })
}
