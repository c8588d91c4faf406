//! Putting what was built where a user can call it.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::layout::{ALIAS, Layout, PARTS, PROGRAM};
use crate::progress::{Elapsed, ready};

/// The folder to install below: the one that was named, or the user's own.
pub fn prefix(named: Option<&Path>) -> Result<PathBuf> {
    match named {
        Some(prefix) => Ok(std::path::absolute(prefix)?),
        None => {
            let home = env::home_dir().context("say where to install with --prefix")?;
            Ok(home.join(".local"))
        }
    }
}

/// Installs, and says what and where. The program is there as `troupe`, and as `host` unless that
/// would hide another program of this name; `as_host` hides it.
pub fn install(layout: &Layout, prefix: &Path, as_host: bool) -> Result<()> {
    let (elapsed, size) = (Elapsed::start(), layout.size()?);
    let is_ours = prefix.join(PARTS).is_dir();
    layout.install(prefix)?;
    let (program, parts) = (prefix.join(PROGRAM), prefix.join(PARTS));
    ready("troupe", format!("{}, {}; {size}; {elapsed}", program.display(), parts.display()));
    let folder = prefix.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|entry| entry == folder) {
        eprintln!("  add {} to PATH to call it", folder.display());
    }
    let alias = prefix.join(ALIAS);
    match other_host(&alias, is_ours, env::split_paths(&path)) {
        Some(other) if !as_host => eprintln!(
            "  it is called `troupe` here, since `host` is {}; --as-host installs it as `host`, too",
            other.display()
        ),
        _ => link(&alias)?,
    }
    Ok(())
}

/// A program called `host` that is not ours: in our place, or in a folder of PATH.
fn other_host(
    alias: &Path,
    is_ours: bool,
    mut folders: impl Iterator<Item = PathBuf>,
) -> Option<PathBuf> {
    let in_our_place = (alias.exists() && !is_ours).then(|| alias.to_owned());
    in_our_place.or_else(|| {
        folders.find_map(|folder| {
            let program = folder.join("host");
            (program != alias && program.is_file()).then_some(program)
        })
    })
}

/// Put the link in place at once, whatever was there.
fn link(alias: &Path) -> Result<()> {
    let partial = alias.with_added_extension("partial");
    let _ = fs::remove_file(&partial);
    symlink("troupe", &partial)
        .and_then(|()| fs::rename(&partial, alias))
        .with_context(|| format!("cannot create `{}`", alias.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_host_is_hidden_only_if_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, other) = (folder.path().join("bin"), folder.path().join("other"));
        fs::create_dir(&bin).unwrap();
        fs::create_dir(&other).unwrap();
        let alias = bin.join("host");
        let path = || [bin.clone(), other.clone()].into_iter();
        assert_eq!(other_host(&alias, false, path()), None);
        link(&alias).unwrap();
        fs::write(bin.join("troupe"), "").unwrap();
        assert_eq!(
            other_host(&alias, true, path()),
            None,
            "what an earlier installation put there"
        );
        assert_eq!(other_host(&alias, false, path()), Some(alias.clone()), "a stranger's");
        fs::write(other.join("host"), "").unwrap();
        assert_eq!(other_host(&alias, true, path()), Some(other.join("host")));
    }
}
