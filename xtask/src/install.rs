//! Putting what was built where a user can call it.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::layout::{Layout, PARTS, PROGRAM};
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

/// Installs, and says what and where.
pub fn install(layout: &Layout, prefix: &Path) -> Result<()> {
    let (elapsed, size) = (Elapsed::start(), layout.size()?);
    layout.install(prefix)?;
    let (program, parts) = (prefix.join(PROGRAM), prefix.join(PARTS));
    ready("host", format!("{}, {}; {size}; {elapsed}", program.display(), parts.display()));
    let folder = prefix.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|entry| entry == folder) {
        eprintln!("  add {} to PATH to call it as `host`", folder.display());
    }
    Ok(())
}
