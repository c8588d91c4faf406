//! Python: componentize-py puts CPython and what a module's import leaves in memory
//! into a component. The SDK knows how; here is what it needs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use troupe_toolchain::cache_folder;

use super::Project;
use super::error::ProjectError;
use troupe_core::storage::{StorageError, beside};

/// As it is pinned for the interpreter of model-written programs.
const TOOL: &str = "componentize-py";
const VERSION: &str = "0.25.1";
const LANGUAGE: &str = "Python";

pub fn build(project: &Project) -> Result<Vec<u8>, ProjectError> {
    let paths = paths(project)?;
    let built = project.component();
    let partial = beside(&built);
    let manifest = project.manifest();
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", paths).env("PYTHONDONTWRITEBYTECODE", "1");
    python.args(["-m", "troupe_plugin.build"]).arg(project.folder());
    python.args(["--module", &manifest.snake(), "--export", manifest.kind.word()]);
    python.arg("--wit").arg(project.folder().join("wit")).arg("--output").arg(&partial);
    match python.status() {
        Ok(status) if status.success() => {}
        Ok(_) => return Err(ProjectError::Build(manifest.name.clone())),
        Err(_) => return Err(no_python()),
    }
    let component = std::fs::read(&partial).map_err(StorageError::io("read", &partial))?;
    std::fs::remove_file(&partial).map_err(StorageError::io("remove", &partial))?;
    Ok(component)
}

/// Where Python finds the project's SDK, and the tool: the user's own, or the one
/// that `cargo xtask setup` brought.
fn paths(project: &Project) -> Result<OsString, ProjectError> {
    if !runs("import sys; sys.exit(sys.version_info < (3, 10))") {
        return Err(no_python());
    }
    let mut paths = vec![project.folder().join("sdk")];
    if !runs("import componentize_py") {
        let cached = cache_folder().and_then(|cache| cached(&cache));
        paths.push(cached.ok_or_else(|| ProjectError::Tool {
            what: TOOL,
            language: LANGUAGE,
            command: format!("python3 -m pip install {TOOL}=={VERSION}"),
        })?);
    }
    paths.extend(env::var_os("PYTHONPATH").iter().flat_map(env::split_paths));
    // A path with a colon in it cannot be told to Python at all.
    env::join_paths(paths).map_err(|error| {
        StorageError::io("use", project.folder())(std::io::Error::other(error)).into()
    })
}

fn runs(program: &str) -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", program]);
    python.output().is_ok_and(|output| output.status.success())
}

fn cached(cache: &Path) -> Option<PathBuf> {
    let folder = cache.join(format!("{TOOL}-{VERSION}"));
    folder.is_dir().then_some(folder)
}

fn no_python() -> ProjectError {
    ProjectError::Tool {
        what: "python3, 3.10 or later,",
        language: LANGUAGE,
        command: "apt-get install python3 python3-pip".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_and_the_interpreter_are_made_by_the_same_tool() {
        let pin = format!("{TOOL}=={VERSION} ");
        assert!(include_str!("../../../../xtask/interpreters.txt").contains(&pin));
        let builder = include_str!("../../../../plugin-sdk/python/troupe_plugin/build.py");
        assert!(builder.contains(&format!("VERSION = \"{VERSION}\"")));
    }
}
