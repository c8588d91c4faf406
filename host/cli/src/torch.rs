//! Python's package of libtorch, beside which pip puts ours. Without it the engine would not start,
//! and the dynamic linker would say so in its own words.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use troupe_core::installation::LIBTORCH;

/// The lowest of the libraries that the engine is linked with.
const LIBRARY: &str = "libc10.so";

/// libtorch is not where the engine looks for it.
#[derive(Debug, thiserror::Error)]
pub(super) enum TorchError {
    /// It is nowhere near.
    #[error(
        "this command works with libtorch, and there is no torch in `{}`: \
         `pip install 'torch=={LIBTORCH}.*'` in the same environment, or if another one has it, \
         LD_LIBRARY_PATH=FOLDER/torch/lib", packages.display()
    )]
    Missing {
        /// Where packages lie.
        packages: PathBuf,
    },
    /// It is of a version for which the engine was not built.
    #[error(
        "this command works with libtorch {LIBTORCH}, and the torch in `{}` is {found}: \
         `pip install 'torch=={LIBTORCH}.*'`", packages.display()
    )]
    Version {
        /// Where packages lie.
        packages: PathBuf,
        /// Its version.
        found: String,
    },
}

/// Whether an engine among Python's packages will find its libtorch: there, or where somebody says
/// that libraries are.
pub(super) fn check(packages: &Path, said: Option<&OsStr>) -> Result<(), TorchError> {
    let mut folders = said.into_iter().flat_map(env::split_paths);
    if folders.any(|folder| folder.join(LIBRARY).is_file()) {
        return Ok(());
    }
    let packages = packages.to_owned();
    if !packages.join("torch/lib").join(LIBRARY).is_file() {
        return Err(TorchError::Missing { packages });
    }
    match version(&packages) {
        Some(found) if !is_ours(&found) => Err(TorchError::Version { packages, found }),
        _ => Ok(()),
    }
}

/// What pip says that it installed.
fn version(packages: &Path) -> Option<String> {
    fs::read_dir(packages).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(name.strip_prefix("torch-")?.strip_suffix(".dist-info")?.to_owned())
    })
}

fn is_ours(version: &str) -> bool {
    version.strip_prefix(LIBTORCH).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torch_that_is_missing_or_another_is_named_with_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: Option<&Path>| {
            check(folder.path(), path.map(Path::as_os_str)).map_err(|error| error.to_string())
        };
        let missing = said(None).unwrap_err();
        assert!(missing.contains("pip install 'torch==2.11.*'"), "{missing}");
        let library = folder.path().join("torch/lib").join(LIBRARY);
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, "").unwrap();
        let installed = |version: &str| folder.path().join(format!("torch-{version}.dist-info"));
        fs::create_dir(installed("2.1.1+cpu")).unwrap();
        let other = said(None).unwrap_err();
        assert!(other.contains("is 2.1.1+cpu: `pip install"), "{other}");
        said(library.parent()).unwrap();
        fs::rename(installed("2.1.1+cpu"), installed("2.11.0+cu130")).unwrap();
        said(None).unwrap();
    }
}
