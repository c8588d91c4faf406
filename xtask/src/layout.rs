//! What a finished Troupe consists of: which files, and where they lie below a prefix.
//!
//! `host/core/src/installation.rs` looks for them in these places.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::progress::Bytes;
use crate::workspace::Workspace;

/// The folder below the prefix that holds all but the program itself.
pub const PARTS: &str = "lib/troupe";
/// The program, below the prefix.
pub const PROGRAM: &str = "bin/troupe";
/// The name that the documentation calls it by, a link beside it. Another program of this name,
/// which looks up names on the internet, is on many machines.
pub const ALIAS: &str = "bin/host";

/// Files with their places below a prefix.
pub struct Layout {
    files: Vec<Placed>,
}

/// One file.
pub struct Placed {
    /// Where it is now.
    pub source: PathBuf,
    /// Its path below the prefix.
    pub place: PathBuf,
}

impl Layout {
    /// Of what was built for release; everything has been.
    pub fn of(workspace: &Workspace) -> Result<Self> {
        let libtorch = libtorch(workspace);
        let parts = Path::new(PARTS);
        let mut layout = Self::without_libtorch(workspace)?;
        let library = |name: &str| name.contains(".so");
        layout.add_folder(&libtorch.join("lib"), &parts.join("torch/lib"), library)?;
        layout.add_neighbours(&libtorch, parts)?;
        Ok(layout)
    }

    /// The same, for where another package has libtorch.
    pub fn without_libtorch(workspace: &Workspace) -> Result<Self> {
        let built = workspace.target_dir.join("release");
        let parts = Path::new(PARTS);
        let mut layout = Layout { files: Vec::new() };
        layout.add(built.join("host"), PROGRAM.into());
        layout.add(built.join("host-engine"), parts.join("host-engine"));
        let component = |name: &str| name.ends_with(".wasm");
        layout.add_folder(
            &workspace.target_dir.join("plugins"),
            &parts.join("plugins"),
            component,
        )?;
        layout.add_tree(&workspace.root.join("configs"), &parts.join("configs"))?;
        for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            let source = workspace.root.join(name);
            if source.is_file() {
                layout.add(source, Path::new("share/doc/troupe").join(name));
            }
        }
        Ok(layout)
    }

    /// The files.
    pub fn files(&self) -> &[Placed] {
        &self.files
    }

    /// Whether libtorch is among them.
    pub fn has_libtorch(&self) -> bool {
        self.files.iter().any(|file| file.place.starts_with(Path::new(PARTS).join("torch")))
    }

    /// What lies in a place now.
    pub fn source(&self, place: &Path) -> Option<&Path> {
        let found = self.files.iter().find(|file| file.place == place);
        found.map(|file| file.source.as_path())
    }

    /// All files together.
    pub fn size(&self) -> Result<Bytes> {
        let size = |file: &Placed| Ok(fs::metadata(&file.source)?.len());
        self.files.iter().map(size).sum::<Result<u64>>().map(Bytes)
    }

    /// Copies everything below a prefix. What is not the program appears as a whole, and the
    /// program last.
    pub fn install(&self, prefix: &Path) -> Result<()> {
        let partial = prefix.join("lib/.troupe-partial");
        crate::cache::fresh_dir(&partial)?;
        for file in &self.files {
            match file.place.strip_prefix(PARTS) {
                Ok(place) => copy(&file.source, &partial.join(place))?,
                Err(_) if file.place != Path::new(PROGRAM) => {
                    copy(&file.source, &prefix.join(&file.place))?;
                }
                Err(_) => {}
            }
        }
        crate::cache::replace_dir(&prefix.join(PARTS), &partial)?;
        let program = self.source(Path::new(PROGRAM));
        program.map_or(Ok(()), |program| copy(program, &prefix.join(PROGRAM)))
    }

    fn add(&mut self, source: PathBuf, place: PathBuf) {
        self.files.push(Placed { source, place });
    }

    /// The files of a folder, not of those below it, whose names are wanted.
    fn add_folder(
        &mut self,
        folder: &Path,
        place: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_file() && wanted(&name) {
                names.push(name);
            }
        }
        names.sort_unstable();
        if names.is_empty() {
            bail!("`{}` holds nothing that belongs into an installation", folder.display());
        }
        names.iter().for_each(|name| self.add(folder.join(name), place.join(name)));
        Ok(())
    }

    /// The libraries of CUDA that ours of libtorch links, which its wheels have beside it, and
    /// the licenses of all of them.
    fn add_neighbours(&mut self, libtorch: &Path, parts: &Path) -> Result<()> {
        let Some(beside) = libtorch.parent() else { return Ok(()) };
        for entry in fs::read_dir(beside)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name == "nvidia" {
                self.add_tree(&path, &parts.join("nvidia"))?;
            } else if name.ends_with(".dist-info") && path.join("licenses").is_dir() {
                self.add_tree(&path.join("licenses"), &parts.join("licenses").join(name))?;
            }
        }
        Ok(())
    }

    fn add_tree(&mut self, folder: &Path, place: &Path) -> Result<()> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        let mut names: Vec<_> =
            entries.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
        names.sort_unstable();
        for name in names {
            let (path, place) = (folder.join(&name), place.join(&name));
            if path.is_dir() { self.add_tree(&path, &place)? } else { self.add(path, place) }
        }
        Ok(())
    }
}

/// The libtorch that was linked.
fn libtorch(workspace: &Workspace) -> PathBuf {
    env::var_os("LIBTORCH").map_or_else(|| workspace.root.join(".deps/torch"), PathBuf::from)
}

/// Copies a file so that it is there as a whole or not at all; a program that is running keeps
/// the one it was started from.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let partial = to.with_added_extension("partial");
    let place = || -> std::io::Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        fs::copy(from, &partial)?;
        fs::rename(&partial, to)
    };
    place().with_context(|| format!("cannot copy `{}` to `{}`", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_replaces_the_one_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let source = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        let layout = |version: &str, plugin: &str| Layout {
            files: vec![
                Placed { source: source("host", version), place: PROGRAM.into() },
                Placed { source: source(plugin, version), place: Path::new(PARTS).join(plugin) },
            ],
        };
        let prefix = folder.path().join("prefix");
        layout("1", "old.wasm").install(&prefix).unwrap();
        let new = layout("22", "new.wasm");
        new.install(&prefix).unwrap();
        assert_eq!(new.size().unwrap(), Bytes(4));
        assert_eq!(fs::read_to_string(prefix.join(PROGRAM)).unwrap(), "22");
        assert!(prefix.join(PARTS).join("new.wasm").is_file());
        assert!(!prefix.join(PARTS).join("old.wasm").exists());
    }
}
