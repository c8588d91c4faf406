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
//! forecast.json   what two steps made one expect, see `forecast`
//! summary.json    before and after
//! ```

mod chain_log;
mod metrics_log;
mod outcomes_log;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use chain_log::{ChainLog, Link, digest_of_metrics, digests_of_outcomes, root};
pub use metrics_log::MetricsLog;
pub use outcomes_log::{OutcomesLog, lines_of};

use crate::manifest::Manifest;
use crate::metrics::{Outcome, Success};
use troupe_core::archive::{episode_file, find_config, is_stillborn, table_file};
use troupe_core::config::{Config, RunConfig};
use troupe_core::storage::{
    Lock, StorageError, create_folder, digest_file, list_folder, read_json, tidy, write_file,
    write_json,
};
use troupe_core::table::{Row, write_table};
use troupe_core::trajectory::Episode;

/// What a run came to, on tasks of the test split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Greedy success before training.
    pub before: Success,
    /// Greedy success after training.
    pub after: Success,
    /// The same two with answers drawn at the rollout's temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Change>,
    /// Greedy success by family of tasks.
    #[serde(default)]
    pub families: BTreeMap<String, Change>,
    /// The checkpoint that solved most validation tasks, if that is not the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestCheckpoint>,
    /// Training steps.
    pub steps: usize,
    /// Wall-clock seconds of all sessions of the run together.
    pub seconds: f64,
    /// Episodes in which a plugin failed.
    pub void_episodes: usize,
    /// Updates that moved a policy too far, so that they were taken back and made again at a
    /// smaller learning rate, or given up.
    #[serde(default)]
    pub taken_back: usize,
}

/// A checkpoint that validation prefers to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestCheckpoint {
    /// Its step.
    pub step: usize,
    /// Share of validation tasks that it solved greedily, by which it was chosen.
    pub validation: f64,
    /// Greedy success on the test tasks.
    pub test: Success,
}

/// What training made of a success.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Before training.
    pub before: Success,
    /// After training.
    pub after: Success,
}

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
    pub fn write_config(&self, config: &Config) -> Result<(), StorageError> {
        // Without the name, which is taken now, the file can be run again.
        let repeatable =
            Config { run: RunConfig { name: None, ..config.run.clone() }, ..config.clone() };
        write_file(&self.config_path(), repeatable.to_toml().as_bytes())
    }

    /// Open a run folder to resume it.
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
        // What was accepted to be different is written anew, and who goes on with it is added.
        let kept = if differences.grave.is_empty() { &earlier } else { manifest };
        let kept = Manifest { builds: earlier.builds_with(manifest), ..kept.clone() };
        if kept != earlier {
            write_json(&path, &kept)?;
        }
        let slight =
            differences.slight.into_iter().map(|what| format!("{what}: last digits may differ"));
        Ok(differences.grave.into_iter().chain(slight).collect())
    }

    /// Add a line to the figures.
    pub fn append_metrics(&self, record: &impl Serialize) -> Result<(), StorageError> {
        if self.is_written_here() { self.metrics().append(record) } else { Ok(()) }
    }

    /// Add what became of held-out episodes.
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
        let before = match self.chain().last()? {
            Some(last) => last.link,
            None => root(self.manifest()?.as_ref()),
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

    /// Write a step's answers, unless the tables before it have come to `limit`
    /// bytes: whether they were written.
    pub fn write_table(&self, step: usize, rows: &[Row], limit: u64) -> Result<bool, StorageError> {
        if !self.is_written_here() {
            return Ok(true);
        }
        let folder = self.tables();
        create_folder(&folder)?;
        let mut bytes = 0;
        for name in list_folder(&folder)? {
            let path = folder.join(name);
            bytes += std::fs::metadata(&path).map_err(StorageError::io("read", &path))?.len();
        }
        if bytes >= limit {
            return Ok(false);
        }
        write_table(&folder.join(table_file(step)), rows)?;
        Ok(true)
    }

    /// Write what the run came to.
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
mod tests {
    use super::*;
    use troupe_core::archive::list_tables;

    fn config(folder: &Path, name: Option<&str>) -> Config {
        let run = RunConfig {
            dir: folder.to_owned(),
            name: name.map(str::to_owned),
            ..RunConfig::default()
        };
        Config { run, ..Config::default() }
    }

    #[test]
    fn a_derived_name_is_numbered_and_a_chosen_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let first = RunFolder::create(&config(folder.path(), None), "game").unwrap();
        let second = RunFolder::create(&config(folder.path(), None), "game").unwrap();
        assert!(first.path().ends_with("game") && second.path().ends_with("game-2"));
        let error = RunFolder::create(&config(folder.path(), Some("game")), "x").unwrap_err();
        assert!(error.to_string().contains("--resume"), "{error}");
    }

    #[test]
    fn a_run_that_was_killed_before_it_began_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("game");
        create_folder(&path.join("episodes")).unwrap();
        std::fs::write(path.join(".lock"), b"").unwrap();
        let error = RunFolder::open(&path).unwrap_err().to_string();
        assert!(error.contains("killed before it began"), "{error}");
        RunFolder::create(&config(folder.path(), Some("game")), "x").unwrap();
        let error = RunFolder::create(&config(folder.path(), Some("game")), "x").unwrap_err();
        assert!(error.to_string().contains("--resume"), "{error}");
    }

    #[test]
    fn opening_a_run_tidies_it_and_brings_back_its_folder_of_episodes() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&config(folder.path(), None), "game").unwrap();
        let path = run.path().to_owned();
        drop(run);
        std::fs::remove_dir_all(path.join("episodes")).unwrap();
        create_folder(&path.join("checkpoints/.unfinished-.unfinished-step-000010/policies"))
            .unwrap();
        RunFolder::open(&path).unwrap();
        assert!(path.join("episodes").is_dir());
        assert!(list_folder(&path.join("checkpoints")).unwrap().is_empty());
    }

    #[test]
    fn only_one_process_works_on_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&config(folder.path(), None), "game").unwrap();
        let error = RunFolder::open(run.path()).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        let path = run.path().to_owned();
        drop(run);
        RunFolder::open(&path).unwrap();
    }

    #[test]
    fn rewinding_drops_what_came_after_the_checkpoint_and_half_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&config(folder.path(), None), "game").unwrap();
        for step in 0..4 {
            run.metrics().append(&serde_json::json!({ "step": step })).unwrap();
        }
        std::fs::write(run.path().join("episodes/step-000003.jsonl.zst"), b"").unwrap();
        let metrics = run.path().join("metrics.jsonl");
        let text = std::fs::read_to_string(&metrics).unwrap() + "{\"step\":";
        std::fs::write(&metrics, text).unwrap();
        run.rewind(Some(2)).unwrap();
        let text = std::fs::read_to_string(&metrics).unwrap();
        assert_eq!(text, "{\"step\":0}\n{\"step\":1}\n{\"step\":2}\n");
        assert!(list_folder(&run.path().join("episodes")).unwrap().is_empty());
        run.rewind(None).unwrap();
        assert_eq!(std::fs::read_to_string(&metrics).unwrap(), "");
    }

    #[test]
    fn tables_come_to_no_more_than_they_may() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&config(folder.path(), None), "run").unwrap();
        assert!(run.write_table(1, &[], 1).unwrap());
        assert!(!run.write_table(2, &[], 1).unwrap());
        assert!(run.write_table(2, &[], u64::MAX).unwrap());
        let steps: Vec<usize> =
            list_tables(run.path()).unwrap().into_iter().map(|(step, _)| step).collect();
        assert_eq!(steps, [1, 2]);
        run.rewind(Some(1)).unwrap();
        assert_eq!(list_tables(run.path()).unwrap().len(), 1);
    }
}
