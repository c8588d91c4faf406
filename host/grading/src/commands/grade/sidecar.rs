//! The file beside the verdicts that says what they depend on, and whose lock
//! says who writes them.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::settings::differences;
use troupe_core::storage::{Lock, StorageError};
use troupe_terminal::UsageError;

/// The file of the settings: open and locked.
pub struct Sidecar {
    path: PathBuf,
    lock: Lock,
}

impl Sidecar {
    /// Opens or makes it, for the process that writes `out`.
    ///
    /// # Errors
    /// Another process has it, or the system refuses.
    pub fn lock(path: PathBuf, out: &Path) -> Result<Self, StorageError> {
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(StorageError::io("open", &path))?;
        let lock = Lock::on(file, &path)?.ok_or_else(|| StorageError::Unfit {
            path: out.to_owned(),
            reason: "another `host grade` is writing it; wait for it, or choose another --out"
                .to_owned(),
        })?;
        Ok(Sidecar { path, lock })
    }

    /// Compares the settings with those of the verdicts that are there; writes them if there are
    /// none.
    ///
    /// # Errors
    /// If the settings differ, or the file cannot be written.
    pub fn agree(&mut self, now: &Value, out: &Path, begun: bool) -> anyhow::Result<()> {
        if !begun {
            return Ok(self.write(now)?);
        }
        let mut text = String::new();
        self.lock.file().read_to_string(&mut text).map_err(StorageError::io("read", &self.path))?;
        let earlier: Value =
            serde_json::from_str(&text).map_err(|error| StorageError::Damaged {
                path: self.path.clone(),
                reason: format!(
                    "{error}; choose another --out, or discard the verdicts with --fresh"
                ),
            })?;
        let differences = differences(&earlier, now);
        if differences.is_empty() {
            return Ok(());
        }
        let message = format!(
            "`{}` holds verdicts of other settings: {}; choose another --out, or discard them with \
             --fresh",
            out.display(),
            differences.join(", ")
        );
        Err(UsageError(message).into())
    }

    /// In place, for it is locked. It is shorter than a page and thus whole or
    /// not there, and before the first verdict it does not matter.
    fn write(&mut self, settings: &Value) -> Result<(), StorageError> {
        let text = format!("{settings:#}\n");
        let mut write = || {
            let file = self.lock.file();
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(StorageError::io("write", &self.path))
    }
}
