//! Where the tests find components: what `cargo xtask plugins` built.

use std::path::{Path, PathBuf};

use troupe_core::config::Limits;
use troupe_guests::plugin::{Grants, PluginLibrary};

/// The folder of components.
pub fn folder() -> PathBuf {
    let beside_host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(beside_host.clone(), PathBuf::from);
    [target, beside_host]
        .map(|target| target.join("plugins"))
        .into_iter()
        .find(|folder| folder.is_dir())
        .expect("components are built; run `cargo xtask plugins` first")
}

/// The library of these plugins and fixtures.
pub fn library(names: &[&str]) -> PluginLibrary {
    library_within(names, &Limits::default())
}

/// The library under limits of the test's choice.
pub fn library_within(names: &[&str], limits: &Limits) -> PluginLibrary {
    let files: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    PluginLibrary::load(&files, &[folder(), folder().join("fixtures")], limits, Grants::default())
        .unwrap_or_else(|error| panic!("{error}"))
}
