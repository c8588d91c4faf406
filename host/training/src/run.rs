//! The run folder: a run's config, manifest, metrics, episodes and summary.
//!
//! ```text
//! config.toml     the resolved configuration; `host train config.toml` repeats the run
//! manifest.json   seed, versions, digests of plugins and policies
//! metrics.jsonl   one record per step
//! outcomes.jsonl  one line per held-out episode
//! events.out.…    the same for TensorBoard, see `scalars`
//! episodes/       a few episodes of every step, zstd-compressed JSON lines
//! table/          every answer of every step, see `table`
//! checkpoints/    see `checkpoint`
//! forecast.json   time, tokens and disk, by its first two steps, see `forecast`
//! summary.json    before and after
//! ```

mod chain_log;
mod metrics_log;
mod outcomes_log;
mod scalars;
mod summary;
mod table_log;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;

pub use chain_log::{ChainLog, Link, digest_of_metrics, digests_of_outcomes, root};
pub use metrics_log::MetricsLog;
pub use outcomes_log::{OutcomesLog, lines_of};
pub use summary::{BestCheckpoint, Change, Summary};
use table_log::TableLog;

use crate::manifest::Manifest;
use crate::metrics::Outcome;
use troupe_core::archive::{episode_file, find_config, is_stillborn, table_file};
use troupe_core::config::{Config, RunConfig};
use troupe_core::storage::{
    Lock, StorageError, create_folder, digest_file, list_folder, read_json, tidy, write_file,
    write_json,
};
use troupe_core::table::Row;
use troupe_core::trajectory::Episode;

/// Files that a run leaves at its end.
const OF_ITS_END: [&str; 2] = ["summary.json", "roles.json"];

/// An open run folder. Only one process has it at a time; the other processes of its run watch
/// it, and what they are told to write is written by that one.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Nothing if this process only watches.
    lock: Option<Lock>,
}

impl RunFolder {
    /// Make a new run folder. A name the user chose must be free; a derived
    /// one is numbered until it is.
    ///
    /// # Errors
    /// If the chosen name is taken, or the folder cannot be made, locked or written.
    pub fn create(config: &Config, derived: &str) -> Result<Self, StorageError> {
        let folder = &config.run.dir;
        create_folder(folder)?;
        let path = match &config.run.name {
            Some(name) => folder.join(name),
            None => free_name(folder, derived),
        };
        if path.exists() && !is_stillborn(&path)? {
            let reason = format!(
                "a run of this name is there already; resume it with `--resume {}`, or choose another run.name",
                path.display()
            );
            return Err(StorageError::Unfit { path, reason });
        }
        create_folder(&path.join("episodes"))?;
        let run = RunFolder { lock: Some(lock(&path)?), path };
        run.write_config(config)?;
        Ok(run)
    }

    /// Write the resolved configuration.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_config(&self, config: &Config) -> Result<(), StorageError> {
        // Without the name, which is taken now, the file can be run again.
        let repeatable =
            Config { run: RunConfig { name: None, ..config.run.clone() }, ..config.clone() };
        write_file(&self.config_path(), repeatable.to_toml().as_bytes())
    }

    /// Open a run folder to resume it.
    ///
    /// # Errors
    /// If there is no run, another process has it, or it cannot be read or written.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        find_config(path)?;
        let run = RunFolder { lock: Some(lock(path)?), path: path.to_owned() };
        tidy(path)?;
        tidy(&run.checkpoints())?;
        create_folder(&path.join("episodes"))?;
        Ok(run)
    }

    /// The folder of a run that another process writes.
    pub fn watch(path: PathBuf) -> Self {
        RunFolder { path, lock: None }
    }

    /// Whether it is this process that writes what is written.
    pub fn is_written_here(&self) -> bool {
        self.lock.is_some()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved configuration.
    pub fn config_path(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// The folder of checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// What the run was made of when it began; nothing if it did not get so far.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    pub fn manifest(&self) -> Result<Option<Manifest>, StorageError> {
        let path = self.manifest_path();
        if !path.exists() {
            return Ok(None);
        }
        let manifest = read_json(&path).map_err(|error| StorageError::Damaged {
            path: path.clone(),
            reason: format!("{error}; bring it back, or remove it to resume without comparing"),
        })?;
        Ok(Some(manifest))
    }

    /// Write what the run is made of, or, if that was written before, check
    /// that it is the same. What was `accepted` to be different is written
    /// anew. Returns what should be said.
    ///
    /// # Errors
    /// If it is not the same, with all that is different.
    pub fn settle_manifest(
        &self,
        manifest: &Manifest,
        accepted: bool,
    ) -> Result<Vec<String>, StorageError> {
        let path = self.manifest_path();
        let Some(earlier) = self.manifest()? else {
            write_json(&path, manifest)?;
            return Ok(Vec::new());
        };
        let differences = earlier.compare(manifest);
        if !differences.grave.is_empty() && !accepted {
            let reason = format!(
                "the run was begun as something else: {}; put that back, start a new run, or \
                 resume with `--accept-changes`",
                differences.grave.join("; ")
            );
            return Err(StorageError::Unfit { path, reason });
        }
        // What was accepted to be different is written anew, and who goes on with it is added. The
        // chain stays tied to what the run was begun as.
        let is_changed = !differences.grave.is_empty();
        let kept = if is_changed { manifest } else { &earlier };
        let kept = Manifest {
            builds: earlier.builds_with(manifest),
            sessions: earlier.sessions_with(manifest, is_changed),
            begun_as: match is_changed {
                true => Some(root(Some(&earlier))),
                false => earlier.begun_as.clone(),
            },
            ..kept.clone()
        };
        if kept != earlier {
            write_json(&path, &kept)?;
        }
        let slight =
            differences.slight.into_iter().map(|what| format!("{what}: last digits may differ"));
        Ok(differences.grave.into_iter().chain(slight).collect())
    }

    /// Add a line to the figures.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append_metrics(&self, record: &impl Serialize) -> Result<(), StorageError> {
        if self.is_written_here() { self.metrics().append(record) } else { Ok(()) }
    }

    /// Add what became of held-out episodes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append_outcomes(&self, outcomes: &[Outcome]) -> Result<(), StorageError> {
        if self.is_written_here() { self.outcomes().append(outcomes) } else { Ok(()) }
    }

    /// Its figures.
    pub fn metrics(&self) -> MetricsLog<'_> {
        MetricsLog { folder: &self.path }
    }

    /// What its steps left, as digests.
    pub fn chain(&self) -> ChainLog<'_> {
        ChainLog { folder: &self.path }
    }

    /// Tie what a step left to the chain.
    ///
    /// # Errors
    /// If what the step left cannot be read, or the chain cannot be read or written.
    pub fn append_link(
        &self,
        record: &impl Serialize,
        weights: BTreeMap<String, String>,
    ) -> Result<(), StorageError> {
        if !self.is_written_here() {
            return Ok(());
        }
        // As it is read again: a number that was written short is another one then.
        let text = serde_json::to_string(record).unwrap_or_default();
        let line: Value = serde_json::from_str(&text).unwrap_or_default();
        let step = line["step"].as_u64().unwrap_or_default() as usize;
        let table = self.tables().join(table_file(step));
        let table = table.is_file().then(|| digest_file(&table)).transpose()?;
        let is_examined = line["validation"].is_object() || line["test"].is_object();
        let digests = is_examined.then(|| self.outcomes().digests()).transpose()?;
        let outcomes = digests.and_then(|mut digests| digests.remove(&step));
        let manifest = self.manifest()?;
        let before = match self.chain().last()? {
            Some(last) => last.knot(manifest.as_ref()),
            None => root(manifest.as_ref()),
        };
        let (metrics, link) = (digest_of_metrics(line), String::new());
        let link = Link { step, weights, table, metrics, outcomes, link };
        self.chain().append(&link.tied_to(&before))
    }

    /// What became of its held-out episodes.
    fn outcomes(&self) -> OutcomesLog<'_> {
        OutcomesLog { folder: &self.path }
    }

    /// Drop metrics, outcomes and episodes of steps after `step`, or all of them: they
    /// were written by a process that did not live to save a checkpoint, and
    /// will be written again.
    ///
    /// # Errors
    /// If a file cannot be read, written or removed.
    pub fn rewind(&self, step: Option<usize>) -> Result<(), StorageError> {
        if !self.is_written_here() {
            return Ok(());
        }
        self.metrics().rewind(step)?;
        self.outcomes().rewind(step)?;
        self.chain().rewind(step)?;
        remove_later(&self.path.join("episodes"), step.map(episode_file))?;
        remove_later(&self.tables(), step.map(table_file))
    }

    fn tables(&self) -> PathBuf {
        self.path.join("table")
    }

    /// Write some of a step's episodes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_episodes(&self, step: usize, episodes: &[Episode]) -> Result<(), StorageError> {
        if episodes.is_empty() || !self.is_written_here() {
            return Ok(());
        }
        let path = self.path.join("episodes").join(episode_file(step));
        let mut lines = Vec::new();
        for episode in episodes {
            serde_json::to_writer(&mut lines, episode)
                .map_err(|error| StorageError::io("write", &path)(error.into()))?;
            lines.push(b'\n');
        }
        let packed =
            zstd::encode_all(lines.as_slice(), 3).map_err(StorageError::io("write", &path))?;
        write_file(&path, &packed)
    }

    /// Write a step's answers, unless the tables before it have come to `limit` bytes and nothing
    /// needs them. Returns whether they have come to so much with the step before.
    ///
    /// # Errors
    /// If the tables cannot be looked at, or this one cannot be written.
    pub fn write_table(
        &self,
        step: usize,
        rows: &[Row],
        (limit, is_needed): (u64, bool),
    ) -> Result<bool, StorageError> {
        if !self.is_written_here() {
            return Ok(false);
        }
        TableLog { folder: &self.path }.write(step, rows, (limit, is_needed))
    }

    /// Forget what the run came to: it goes on, and comes to something else.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn forget_end(&self) -> Result<(), StorageError> {
        if !self.is_written_here() {
            return Ok(());
        }
        let files = OF_ITS_END.iter().map(|name| self.path.join(name));
        files.filter(|file| file.is_file()).try_for_each(|file| {
            std::fs::remove_file(&file).map_err(StorageError::io("remove", &file))
        })
    }

    /// Write what the run came to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), StorageError> {
        if !self.is_written_here() {
            return Ok(());
        }
        write_json(&self.path.join("summary.json"), summary)
    }

    fn manifest_path(&self) -> PathBuf {
        self.path.join("manifest.json")
    }
}

/// Seconds since 1970.
pub fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Removes the files of a folder whose names come after `last`.
fn remove_later(folder: &Path, last: Option<String>) -> Result<(), StorageError> {
    if !folder.is_dir() {
        return Ok(());
    }
    for name in list_folder(folder)? {
        if last.as_ref().is_none_or(|last| name > *last) {
            let path = folder.join(name);
            std::fs::remove_file(&path).map_err(StorageError::io("remove", &path))?;
        }
    }
    Ok(())
}

fn free_name(folder: &Path, derived: &str) -> PathBuf {
    let plain = folder.join(derived);
    if !plain.exists() {
        return plain;
    }
    // Among finitely many folders, some number is free.
    (2..)
        .map(|number| folder.join(format!("{derived}-{number}")))
        .find(|path| !path.exists())
        .unwrap_or(plain)
}

/// Keep other processes off a run.
fn lock(run: &Path) -> Result<Lock, StorageError> {
    let path = run.join(".lock");
    let file = File::create(&path).map_err(StorageError::io("write", &path))?;
    Lock::on(file, &path)?.ok_or_else(|| StorageError::Unfit {
        path: run.to_owned(),
        reason: "another process is working on this run; wait for it or stop it".to_owned(),
    })
}

#[cfg(test)]
mod tests;
