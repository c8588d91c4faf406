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

/// Puts a new folder in the place of another, if there is one. Until it stands, the old one is
/// only moved aside: removing it can take a while, and may be interrupted.
pub fn replace_dir(path: &Path, new: &Path) -> Result<()> {
    let old = path.with_added_extension("old");
    remove_dir(&old)?;
    let place = || -> io::Result<()> {
        if path.exists() {
            fs::rename(path, &old)?;
        }
        fs::rename(new, path).inspect_err(|_| {
            // The first failure is the one to tell of.
            let _ = fs::rename(&old, path);
        })
    };
    place().with_context(|| format!("cannot replace `{}`", path.display()))?;
    remove_dir(&old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stays_until_the_one_that_replaces_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let [path, new] = ["path", "new"].map(|name| folder.path().join(name));
        fs::create_dir_all(path.join("one")).unwrap();
        assert!(replace_dir(&path, &new).is_err(), "there is no new one");
        assert!(path.join("one").is_dir());
        fs::create_dir_all(new.join("other")).unwrap();
        replace_dir(&path, &new).unwrap();
        assert!(path.join("other").is_dir() && !path.join("one").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

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
