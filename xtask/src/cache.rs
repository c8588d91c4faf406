//! The downloads that all clones of one user share.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder for downloads, held for this process alone until the value is dropped.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    _lock: File,
}

impl Cache {
    /// Opens the user's cache, and waits if another process holds it.
    pub fn open() -> Result<Self> {
        let root = troupe_toolchain::cache_folder()
            .context("nowhere to keep downloads: set HOME or XDG_CACHE_HOME")?;
        let lock = lock(&root).with_context(|| {
            format!("cannot use `{}` for downloads: set XDG_CACHE_HOME", root.display())
        })?;
        Ok(Self { root, _lock: lock })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path inside.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }
}

fn lock(root: &Path) -> Result<File> {
    fs::create_dir_all(root)?;
    let file = File::create(root.join("lock"))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another `cargo xtask` to finish its set-up");
            file.lock()?;
        }
        other => other?,
    }
    Ok(file)
}

/// An empty folder at `path`: what an interrupted run left there is removed.
pub fn fresh_dir(path: &Path) -> Result<()> {
    remove_dir(path)?;
    fs::create_dir_all(path).with_context(|| format!("cannot create `{}`", path.display()))
}

/// Removes a folder with all that is in it, if it is there.
pub fn remove_dir(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_folder_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        fs::create_dir_all(path.join("left over")).unwrap();
        fresh_dir(&path).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        remove_dir(&path).unwrap();
        remove_dir(&path).unwrap();
        assert!(!path.exists());
    }
}
