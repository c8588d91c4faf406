//! Files that are whole or not there: everything on disk is replaced
//! atomically, so that a crash at any moment leaves the old or the new.

mod lock;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::{Coded, ExitCode};

pub use lock::Lock;

/// The prefix of unfinished files' and folders' names.
pub const UNFINISHED: &str = ".unfinished-";

/// Why a run folder, checkpoint or other file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused.
    #[error("cannot {verb} `{}`: {reason}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// The content is not what it should be.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it and what can be done.
        reason: String,
    },
    /// The content is right, but of something else.
    #[error("`{}` cannot be used here: {reason}", path.display())]
    Unfit {
        /// The file or folder.
        path: PathBuf,
        /// Why, and what can be done.
        reason: String,
    },
}

impl Coded for StorageError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Storage)
    }
}

impl StorageError {
    /// Turns an I/O error into one that says what was tried on which path.
    pub fn io(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StorageError {
        let path = path.to_owned();
        move |reason| StorageError::Io { verb, path, reason }
    }
}

/// Replaces a file as a whole.
///
/// # Errors
/// If the file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    replace(path, |temporary| fs::write(temporary, bytes))
}

/// Write a file beside its place and put it there when it is whole. Others may
/// read it as they may what this process makes by itself.
///
/// # Errors
/// If `write` fails or the file cannot be put in its place.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), StorageError> {
    let temporary = own_beside(path);
    let publish = || {
        let usual = File::create(&temporary)?.metadata()?.permissions();
        write(&temporary)?;
        // safetensors makes files that only their owner may read.
        fs::set_permissions(&temporary, usual)?;
        File::open(&temporary)?.sync_all()?;
        rename(&temporary, path)
    };
    publish().map_err(|reason| {
        // It may not be there, and the first reason is the one to be told.
        let _absent = fs::remove_file(&temporary);
        StorageError::io("write", path)(reason)
    })
}

/// Renames a file or folder so that the new name survives a power cut.
///
/// # Errors
/// If the system refuses, or cannot bring the change to the disk.
pub fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::rename(from, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Appends to a file so that the bytes survive a power cut.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let append = || {
        let mut file = File::options().create(true).append(true).open(path)?;
        file.write_all(bytes)?;
        file.sync_data()
    };
    append().map_err(StorageError::io("write", path))
}

/// Replaces a file by a value, written as indented JSON.
///
/// # Errors
/// If the value is no JSON, or the file cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StorageError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| StorageError::io("write", path)(error.into()))?;
    text.push(b'\n');
    write_file(path, &text)
}

/// Reads a JSON file.
///
/// # Errors
/// If the file cannot be read, or is not the JSON of such a value.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StorageError> {
    let text = fs::read(path).map_err(StorageError::io("read", path))?;
    serde_json::from_slice(&text).map_err(|error| StorageError::Damaged {
        path: path.to_owned(),
        reason: format!("it is not the JSON expected here ({error})"),
    })
}

/// Makes a folder and its parents.
///
/// # Errors
/// If it cannot be made.
pub fn create_folder(path: &Path) -> Result<(), StorageError> {
    fs::create_dir_all(path).map_err(StorageError::io("create the folder", path))
}

/// Removes a folder and all in it, if it is there. It loses its name first, so that half a folder
/// is never seen.
///
/// # Errors
/// If the folder cannot be renamed or removed.
pub fn remove_folder(path: &Path) -> Result<(), StorageError> {
    let doomed = beside(&beside(path));
    let remove = |path: &Path| match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    let rename = || match fs::rename(path, &doomed) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    };
    remove(&doomed)
        .and_then(|()| rename())
        .and_then(|()| remove(&doomed))
        .map_err(StorageError::io("remove", path))
}

/// Removes what a killed process left unfinished in a folder.
///
/// # Errors
/// If the folder cannot be read, or an entry not removed.
pub fn tidy(folder: &Path) -> Result<(), StorageError> {
    for name in list_folder(folder)?.iter().filter(|name| name.starts_with(UNFINISHED)) {
        let path = folder.join(name);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(StorageError::io("remove", &path))?;
    }
    Ok(())
}

/// The names of a folder's entries, sorted; none if the folder does not exist.
///
/// # Errors
/// If the folder is there and cannot be read.
pub fn list_folder(path: &Path) -> Result<Vec<String>, StorageError> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StorageError::io("read", path))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StorageError::io("read", path))?;
        names.extend(entry.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// If the file cannot be read.
pub fn digest_file(path: &Path) -> Result<String, StorageError> {
    let mut file = File::open(path).map_err(StorageError::io("read", path))?;
    let mut hasher = Sha256::new();
    std::io::copy(&mut file, &mut hasher).map_err(StorageError::io("read", path))?;
    Ok(hexadecimal(&hasher.finalize()))
}

/// SHA-256 of some bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name beside `path` that no finished file has.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(UNFINISHED);
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// The same, for one write alone: others may be writing the same file.
fn own_beside(path: &Path) -> PathBuf {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    let mut name = beside(path).into_os_string();
    name.push(format!(".{}-{write}", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_json(&path, &[1, 2]).unwrap();
        write_json(&path, &[3]).unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path).unwrap(), [3]);
        assert_eq!(list_folder(folder.path()).unwrap(), ["a.json"]);
    }

    #[test]
    fn those_who_write_one_file_at_once_all_have_written_it_and_who_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::thread::scope(|scope| {
            for value in 0..8 {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write_json(path, &[value]).unwrap()));
            }
        });
        assert_eq!(read_json::<Vec<u32>>(&path).unwrap().len(), 1);
        replace(&path, |_| Err(std::io::ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(list_folder(folder.path()).unwrap(), ["a.json"]);
    }

    #[test]
    fn what_was_left_unfinished_is_tidied_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        create_folder(&path(".unfinished-step-000002/policies")).unwrap();
        std::fs::write(path(".unfinished-summary.json"), b"{").unwrap();
        write_file(&path("config.toml"), b"").unwrap();
        tidy(folder.path()).unwrap();
        assert_eq!(list_folder(folder.path()).unwrap(), ["config.toml"]);
        remove_folder(&path("nothing")).unwrap();
    }

    #[test]
    fn errors_name_the_path_and_what_was_tried() {
        let missing = Path::new("/nowhere/at/all.json");
        let error = read_json::<u32>(missing).unwrap_err().to_string();
        assert!(error.starts_with("cannot read `/nowhere/at/all.json`"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.json");
        write_file(&path, b"{").unwrap();
        assert!(read_json::<u32>(&path).unwrap_err().to_string().contains("is damaged"));
    }
}
