//! The folder of an experiment.
//!
//! ```text
//! rows/ROW.toml        what a row is: its resolved configuration
//! warm/ADDRESS.toml    the configuration of a warm start
//! warm/ADDRESS/        the policies it made, one folder each
//! runs/ADDRESS/        a run of `host train`
//! exams/ADDRESS.jsonl  what became of every episode of an exam
//! logs/ADDRESS.log     what a child process printed
//! failures/ADDRESS.json, ended/ADDRESS.json, locks/ADDRESS
//! results.json, table.md, table.csv, claims.csv, table.tex, curves.svg, index.html
//! ```
//!
//! An address is a digest of all that decides what comes out, so what is there need not be made
//! again, and nothing that was made for something else is taken for it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::row::Row;
use troupe_core::storage::{StorageError, create_folder, list_folder, write_file};

/// The folder of an experiment.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder with all that is to be in it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(root: &Path) -> Result<Self, StorageError> {
        for name in ["rows", "warm", "runs", "exams", "logs", "failures", "ended", "locks"] {
            create_folder(&root.join(name))?;
        }
        Ok(Folder { root: root.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn row_file(&self, row: &Row) -> PathBuf {
        self.root.join("rows").join(format!("{}.toml", row.label().replace('/', "__")))
    }

    pub(super) fn warm_file(&self, address: &str) -> PathBuf {
        self.root.join("warm").join(format!("{address}.toml"))
    }

    pub(super) fn warm(&self, address: &str) -> PathBuf {
        self.root.join("warm").join(address)
    }

    pub(super) fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The folder of a run.
    pub fn run(&self, address: &str) -> PathBuf {
        self.runs().join(address)
    }

    pub(super) fn exam(&self, address: &str) -> PathBuf {
        self.root.join("exams").join(format!("{address}.jsonl"))
    }

    /// What a child process printed.
    pub fn log(&self, address: &str) -> PathBuf {
        self.root.join("logs").join(format!("{address}.log"))
    }

    pub(super) fn failure(&self, address: &str) -> PathBuf {
        self.root.join("failures").join(format!("{address}.json"))
    }

    /// Why a run ended itself.
    pub(super) fn ended(&self, address: &str) -> PathBuf {
        self.root.join("ended").join(format!("{address}.json"))
    }

    /// Keeps other calls off one piece of work; nothing if one has it. A child process that is
    /// given the file keeps them off, too, whatever becomes of this process.
    pub(super) fn lock(&self, address: &str) -> Result<Option<File>, StorageError> {
        let path = self.root.join("locks").join(address);
        let file = File::create(&path).map_err(StorageError::io("write", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(reason)) => Err(StorageError::io("lock", &path)(reason)),
        }
    }

    /// Waits until no other call is writing what all calls write.
    ///
    /// # Errors
    /// If the folder is locked.
    pub fn wait_for_lock(&self) -> Result<File, StorageError> {
        let path = self.root.join("locks").join("folder");
        let file = File::create(&path).map_err(StorageError::io("write", &path))?;
        file.lock().map_err(StorageError::io("lock", &path))?;
        Ok(file)
    }

    /// Where the policies of a run's last checkpoint are.
    pub(super) fn last_policies(&self, address: &str) -> Result<PathBuf, StorageError> {
        let checkpoints = self.run(address).join("checkpoints");
        let names = list_folder(&checkpoints)?;
        let last = names.iter().rev().find(|name| name.starts_with("step-"));
        let last = last.ok_or_else(|| StorageError::Unfit {
            path: checkpoints.clone(),
            reason: "there is no checkpoint; remove the run's folder and call again".to_owned(),
        })?;
        Ok(checkpoints.join(last).join("policies"))
    }
}

/// Write a file unless that is in it already.
pub(super) fn put(path: &Path, text: &str) -> Result<(), StorageError> {
    if std::fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    write_file(path, text.as_bytes())
}
