//! Where things are: the workspace's root, its target directory and its plugin crates.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

/// What cargo knows about a workspace, as `cargo metadata` tells it.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// The folder of the root `Cargo.toml`.
    #[serde(rename = "workspace_root")]
    pub root: PathBuf,
    /// Where cargo puts what it builds; `CARGO_TARGET_DIR` moves it.
    #[serde(rename = "target_directory")]
    pub target_dir: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// A crate that builds a plugin.
#[derive(Debug, PartialEq, Eq)]
pub struct Plugin {
    /// The crate's name, which is the plugin's too.
    pub name: String,
    /// The stem of the core module that cargo makes of it.
    pub library: String,
}

impl Workspace {
    /// The workspace that the current folder belongs to.
    pub fn current() -> Result<Self> {
        Self::read(cargo().arg("metadata"))
    }

    /// The workspace of one `Cargo.toml`.
    pub fn at(manifest: &Path) -> Result<Self> {
        Self::read(cargo().arg("metadata").arg("--manifest-path").arg(manifest))
    }

    fn read(metadata: &mut Command) -> Result<Self> {
        let text = process::read(metadata.args(["--no-deps", "--format-version", "1"]))
            .context("cannot read the workspace")?;
        serde_json::from_str(&text).context("cannot understand `cargo metadata`")
    }

    /// The crates below `folder` that build a dynamic library, which a plugin must.
    pub fn plugins_in(&self, folder: &Path) -> Vec<Plugin> {
        let below = self.packages.iter().filter(|p| p.manifest_path.starts_with(folder));
        below.filter_map(Package::plugin).collect()
    }

    /// A cargo command that runs at the root.
    pub fn cargo(&self) -> Command {
        let mut cargo = cargo();
        cargo.current_dir(&self.root);
        cargo
    }
}

impl Package {
    fn plugin(&self) -> Option<Plugin> {
        let target = self.targets.iter().find(|t| t.kind.iter().any(|kind| kind == "cdylib"))?;
        Some(Plugin { name: self.name.clone(), library: target.name.replace('-', "_") })
    }
}

/// The cargo that runs us.
fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "workspace_root": "/w",
        "target_directory": "/w/target",
        "packages": [
            {"name": "plan-path", "manifest_path": "/w/plugins/environments/plan-path/Cargo.toml",
             "targets": [{"name": "plan_path", "kind": ["cdylib", "rlib"]}]},
            {"name": "plugin-notes", "manifest_path": "/w/plugins/workflows/notes/Cargo.toml",
             "targets": [{"name": "plugin_notes", "kind": ["lib"]}]},
            {"name": "host", "manifest_path": "/w/host/Cargo.toml",
             "targets": [{"name": "host", "kind": ["cdylib"]}]}
        ]
    }"#;

    #[test]
    fn plugins_are_the_dynamic_libraries_of_one_folder() {
        let workspace: Workspace = serde_json::from_str(METADATA).unwrap();
        let plugins = workspace.plugins_in(Path::new("/w/plugins"));
        let expected = Plugin { name: "plan-path".to_owned(), library: "plan_path".to_owned() };
        assert_eq!(plugins, [expected]);
    }
}
