//! The folders of an installation's parts.
//!
//! ```text
//! <prefix>/bin/troupe, host                  installed or unpacked; one may be missing
//! <prefix>/lib/troupe/host-engine
//! <prefix>/lib/troupe/plugins/*.wasm
//! <prefix>/lib/troupe/torch/lib/
//!
//! <prefix>/bin/host                          installed by pip, with `troupe`, which calls it
//! <prefix>/lib/python3.…/site-packages/troupe/host-engine, plugins/, configs/
//! <prefix>/lib/python3.…/site-packages/torch/lib/
//!
//! target/<profile>/host, host-engine         built by cargo
//! target/plugins/*.wasm
//! ```
//!
//! A program that was copied out of its build falls back on the folder in which
//! it was built.

mod site_packages;

use std::env;
use std::path::{Path, PathBuf};

/// The versions of libtorch that the programs work with.
pub const LIBTORCH: &str = "2.11";

/// Where configurations that come with Troupe lie, in the repository and in an installation.
const CONFIGS: &str = "configs";

/// The program that people call; it is its own sandbox worker.
pub const HOST: &str = "host";
/// Its name where another program is called `host`.
pub const INSTALLED: &str = "troupe";
/// The program that works with policies.
pub const ENGINE: &str = "host-engine";

/// The folder that cargo built this program into.
const BUILT: &str = env!("TROUPE_BUILT");

/// A part is nowhere to be found.
#[derive(Debug, thiserror::Error)]
#[error(
    "the program `{name}` is missing, which belongs to this one; looked in {searched}; put both \
     where `cargo xtask install`, pip or the package puts them"
)]
pub struct MissingPart {
    name: &'static str,
    searched: String,
}

/// The program that does what needs libtorch.
///
/// # Errors
/// If it is not there.
pub fn engine() -> Result<PathBuf, MissingPart> {
    find(ENGINE, &program_folders(&program_folder()))
}

/// The program that runs model-written programs: `host`, without libtorch.
///
/// # Errors
/// If it is not there.
pub fn worker() -> Result<PathBuf, MissingPart> {
    match env::current_exe() {
        // Under whatever name.
        Ok(program) if program.file_name().is_none_or(|name| name != ENGINE) => Ok(program),
        _ => worker_of(&program_folder()),
    }
}

/// The folder of Python packages in which an engine lies that pip installed.
pub fn site_packages(engine: &Path) -> Option<&Path> {
    site_packages::around(engine.parent()?)
}

/// A file that comes with Troupe, by its path in the repository, unless there is one where the path
/// leads to: `configs/plan-path/quickstart.toml` means the same in every folder.
pub fn shipped(path: &Path) -> PathBuf {
    shipped_with(&program_folder(), path)
}

/// Where bare names of plugins are looked up last: in a project that one is
/// working in, then in what belongs to this program.
pub fn plugin_folders() -> Vec<PathBuf> {
    plugin_folders_of(&program_folder())
}

/// The user's folder for what can be had again; nothing if neither `XDG_CACHE_HOME` nor `HOME` says
/// where. By the XDG rules, a relative `XDG_CACHE_HOME` does not count.
pub fn user_cache() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(variable("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("troupe"))
}

/// The folder of this program.
fn program_folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

fn program_folders(program_folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![program_folder.to_owned()];
    if let Some(prefix) = program_folder.parent() {
        folders.push(prefix.join("lib/troupe"));
        folders.extend(prefix.parent().map(|prefix| prefix.join("bin")));
    }
    folders.extend(site_packages::package(program_folder));
    folders.push(PathBuf::from(BUILT));
    distinct(folders)
}

fn worker_of(engine_folder: &Path) -> Result<PathBuf, MissingPart> {
    if site_packages::around(engine_folder).is_some() {
        // There, the other name is a script.
        return find(HOST, &site_packages::programs(engine_folder));
    }
    let folders = program_folders(engine_folder);
    find(INSTALLED, &folders).or_else(|_| find(HOST, &folders))
}

fn shipped_with(program_folder: &Path, path: &Path) -> PathBuf {
    if !path.starts_with(CONFIGS) || path.exists() {
        return path.to_owned();
    }
    let folders = [program_folder.to_owned()].into_iter();
    let folders = folders.chain(program_folder.parent().map(|prefix| prefix.join("lib/troupe")));
    let mut files = folders.chain(site_packages::package(program_folder)).map(|it| it.join(path));
    files.find(|file| file.exists()).unwrap_or_else(|| path.to_owned())
}

fn plugin_folders_of(program_folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("target/plugins"), program_folder.join("plugins")];
    if let Some(prefix) = program_folder.parent() {
        folders.extend([prefix.join("plugins"), prefix.join("lib/troupe/plugins")]);
    }
    folders.extend(site_packages::package(program_folder).map(|package| package.join("plugins")));
    folders.extend(Path::new(BUILT).parent().map(|target| target.join("plugins")));
    distinct(folders)
}

fn distinct(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if !kept.contains(&folder) {
            kept.push(folder);
        }
    }
    kept
}

fn find(name: &'static str, folders: &[PathBuf]) -> Result<PathBuf, MissingPart> {
    let path = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    path.ok_or_else(|| {
        let shown: Vec<String> =
            folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        MissingPart { name, searched: shown.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An empty file, with the folders it lies in.
    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn an_installed_program_finds_its_parts_below_its_prefix() {
        let prefix = tempfile::tempdir().unwrap();
        let engine = prefix.path().join("lib/troupe/host-engine");
        let host = prefix.path().join("bin/host");
        touch(&engine);
        touch(&host);
        let bin = program_folders(&prefix.path().join("bin"));
        assert_eq!(find(ENGINE, &bin).unwrap(), engine);
        let lib = program_folders(&prefix.path().join("lib/troupe"));
        assert_eq!(find(HOST, &lib).unwrap(), host);
        assert!(find(INSTALLED, &lib).is_err());
        let plugins = prefix.path().join("lib/troupe/plugins");
        for folder in ["bin", "lib/troupe"] {
            assert!(plugin_folders_of(&prefix.path().join(folder)).contains(&plugins));
        }
    }

    #[test]
    fn a_configuration_that_is_not_here_is_the_one_that_comes_with_the_program() {
        let prefix = tempfile::tempdir().unwrap();
        let given = Path::new("configs/plan-path/quickstart.toml");
        let shipped = prefix.path().join("lib/troupe").join(given);
        let bin = prefix.path().join("bin");
        assert_eq!(shipped_with(&bin, given), given, "which is then said to be missing");
        touch(&shipped);
        assert_eq!(shipped_with(&bin, given), shipped);
        assert_eq!(shipped_with(&prefix.path().join("lib/troupe"), given), shipped);
        let other = Path::new("mine/plan-path/quickstart.toml");
        assert_eq!(shipped_with(&bin, other), other);
    }

    #[test]
    fn a_built_program_finds_its_parts_in_the_target_folder_and_so_does_a_copy() {
        let target = Path::new(BUILT).parent().unwrap();
        for program_folder in [Path::new(BUILT), Path::new("/nowhere/at/all")] {
            assert!(program_folders(program_folder).contains(&PathBuf::from(BUILT)));
            assert!(plugin_folders_of(program_folder).contains(&target.join("plugins")));
        }
    }

    #[test]
    fn a_part_that_is_missing_is_named_with_the_places_that_were_looked_in() {
        let error = find(ENGINE, &[PathBuf::from("/a"), PathBuf::from("/b")]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`host-engine`") && text.contains("`/a`, `/b`"), "{text}");
    }
}
