//! A file that one process has at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::StorageError;

/// A locked file.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Lock an open file; nothing if another process has it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn on(file: File, path: &Path) -> Result<Option<Self>, StorageError> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(reason)) => Err(StorageError::io("lock", path)(reason)),
        }
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for Lock {
    /// A program that is just being started by this process has the file, too, and would go on
    /// locking it. If the system refuses, it unlocks when that program begins.
    fn drop(&mut self) {
        let _refused = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_given_back_is_free_though_a_copy_of_the_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let open = || File::create(&path).unwrap();
        let file = open();
        let _as_a_child_would = file.try_clone().unwrap();
        let lock = Lock::on(file, &path).unwrap().unwrap();
        assert!(Lock::on(open(), &path).unwrap().is_none());
        drop(lock);
        assert!(Lock::on(open(), &path).unwrap().is_some());
    }
}
