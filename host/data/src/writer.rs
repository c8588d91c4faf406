//! The file of records, which is there when it is whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use troupe_core::storage::{self, StorageError};

/// Writes lines, counts and digests them.
pub(super) struct Writer {
    path: PathBuf,
    unfinished: PathBuf,
    file: BufWriter<File>,
    hasher: Sha256,
    bytes: u64,
}

impl Writer {
    /// Begin a file; its folder is made if need be.
    pub fn begin(path: &Path) -> Result<Self, StorageError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            storage::create_folder(folder)?;
        }
        let unfinished = storage::beside(path);
        let file = File::create(&unfinished).map_err(StorageError::io("write", path))?;
        let file = BufWriter::new(file);
        Ok(Writer { path: path.to_owned(), unfinished, file, hasher: Sha256::new(), bytes: 0 })
    }

    /// Add a line.
    pub fn line(&mut self, line: &str) -> Result<(), StorageError> {
        for bytes in [line.as_bytes(), b"\n"] {
            self.file.write_all(bytes).map_err(StorageError::io("write", &self.path))?;
            self.hasher.update(bytes);
            self.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// Give the file its name; its length and digest.
    pub fn finish(mut self) -> Result<(u64, String), StorageError> {
        let mut finish = || {
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            storage::rename(&self.unfinished, &self.path)
        };
        finish().map_err(StorageError::io("write", &self.path))?;
        let digest = self.hasher.finalize_reset();
        Ok((self.bytes, digest.iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // After `finish` it is gone, and if it cannot be removed it does no harm.
        let _ = std::fs::remove_file(&self.unfinished);
    }
}
