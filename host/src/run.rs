//! The run folder: a run's config, manifest, metrics, episodes and summary.
//!
//! ```text
//! config.toml     the resolved configuration; `host train config.toml` repeats the run
//! manifest.json   seed, versions, digests of plugins and policies
//! metrics.jsonl   one record per step
//! episodes/       a few episodes of every step, zstd-compressed JSON lines
//! checkpoints/    see `checkpoint`
//! summary.json    before and after
//! ```

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::{Config, RunConfig};
use crate::metrics::Success;
use crate::storage::{StorageError, create_folder, list_folder, read_json, write_file, write_json};
use crate::trajectory::Episode;

/// What a run was made of. A resumed run must be made of the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the host.
    pub host: String,
    /// Root of all randomness.
    pub seed: u64,
    /// Where tensors live: `cpu` or `cuda`.
    pub device: String,
    /// The plugins.
    pub plugins: Vec<PluginEntry>,
    /// The policies as training began.
    pub policies: Vec<PolicyEntry>,
}

/// A plugin of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginEntry {
    /// Its name.
    pub name: String,
    /// Its author's version.
    pub version: String,
    /// SHA-256 of the component.
    pub digest: String,
}

/// A policy of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyEntry {
    /// Its name.
    pub name: String,
    /// The roles it plays.
    pub roles: Vec<String>,
    /// SHA-256 of its weights before the first step; of a remote one, its model
    /// and address.
    pub digest: String,
    /// Number of parameters; 0 of a remote one.
    pub parameters: usize,
}

/// What a run came to, on tasks of the test split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Greedy success before training.
    pub before: Success,
    /// Greedy success after training.
    pub after: Success,
    /// The same two with answers drawn at the rollout's temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Training steps.
    pub steps: usize,
    /// Wall-clock seconds of all sessions of the run together.
    pub seconds: f64,
    /// Episodes in which a plugin failed.
    pub void_episodes: usize,
}

/// Success with sampled answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Before training.
    pub before: Success,
    /// After training.
    pub after: Success,
}

/// An open run folder. Only one process has it at a time.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Held, not read: the lock lasts as long as the file is open.
    _lock: File,
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
        if path.exists() {
            let reason = format!(
                "a run of this name is there already; resume it with `--resume {}`, or choose another run.name",
                path.display()
            );
            return Err(StorageError::Unfit { path, reason });
        }
        create_folder(&path.join("episodes"))?;
        let run = RunFolder { _lock: lock(&path)?, path };
        // Without the name, which is taken now, the file can be run again.
        let repeatable =
            Config { run: RunConfig { name: None, ..config.run.clone() }, ..config.clone() };
        write_file(&run.config_path(), repeatable.to_toml().as_bytes())?;
        Ok(run)
    }

    /// Open a run folder to resume it.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        find_config(path)?;
        Ok(RunFolder { _lock: lock(path)?, path: path.to_owned() })
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

    /// Write what the run is made of, or, if that was written before, check
    /// that it is the same.
    pub fn settle_manifest(&self, manifest: &Manifest) -> Result<(), StorageError> {
        let path = self.path.join("manifest.json");
        if !path.exists() {
            return write_json(&path, manifest);
        }
        let earlier: Manifest = read_json(&path)?;
        if earlier.plugins == manifest.plugins {
            return Ok(());
        }
        let reason = "the run was begun with other plugins (names, versions or digests differ); \
                      bring back the components it was begun with, or start a new run";
        Err(StorageError::Unfit { path, reason: reason.to_owned() })
    }

    /// Add a line to `metrics.jsonl`.
    pub fn append_metrics(&self, record: &impl Serialize) -> Result<(), StorageError> {
        let path = self.metrics_path();
        let append = || {
            let mut line = serde_json::to_vec(record)?;
            line.push(b'\n');
            OpenOptions::new().create(true).append(true).open(&path)?.write_all(&line)
        };
        append().map_err(StorageError::io("write", &path))
    }

    /// Drop metrics and episodes of steps after `step`, or all of them: they
    /// were written by a process that did not live to save a checkpoint, and
    /// will be written again.
    pub fn rewind(&self, step: Option<usize>) -> Result<(), StorageError> {
        #[derive(Deserialize)]
        struct Line {
            step: usize,
        }
        let path = self.metrics_path();
        if path.exists() {
            let mut text = String::new();
            File::open(&path)
                .and_then(|mut file| file.read_to_string(&mut text))
                .map_err(StorageError::io("read", &path))?;
            let keep = text.split_inclusive('\n').filter(|line| {
                // A half-written last line is no record.
                line.ends_with('\n')
                    && serde_json::from_str::<Line>(line).is_ok_and(|line| Some(line.step) <= step)
            });
            write_file(&path, keep.collect::<String>().as_bytes())?;
        }
        let episodes = self.path.join("episodes");
        for name in list_folder(&episodes)? {
            if step.is_none_or(|step| name > episode_file(step)) {
                let path = episodes.join(name);
                std::fs::remove_file(&path).map_err(StorageError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Write some of a step's episodes.
    pub fn write_episodes(&self, step: usize, episodes: &[Episode]) -> Result<(), StorageError> {
        if episodes.is_empty() {
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

    /// Write what the run came to.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), StorageError> {
        write_json(&self.path.join("summary.json"), summary)
    }

    fn metrics_path(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }
}

/// The resolved configuration of a run folder.
pub fn find_config(run: &Path) -> Result<PathBuf, StorageError> {
    let path = run.join("config.toml");
    if path.is_file() {
        return Ok(path);
    }
    let reason = "there is no config.toml in it; name a folder that `host train` made".to_owned();
    Err(StorageError::Unfit { path: run.to_owned(), reason })
}

/// Read the episodes of one file of a run's `episodes` folder.
pub fn read_episodes(path: &Path) -> Result<Vec<Episode>, StorageError> {
    let file = File::open(path).map_err(StorageError::io("read", path))?;
    let lines = zstd::decode_all(file).map_err(StorageError::io("read", path))?;
    serde_json::Deserializer::from_slice(&lines).into_iter().collect::<Result<_, _>>().map_err(
        |error| StorageError::Damaged {
            path: path.to_owned(),
            reason: format!("an episode cannot be read ({error})"),
        },
    )
}

fn episode_file(step: usize) -> String {
    format!("step-{step:06}.jsonl.zst")
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

fn lock(path: &Path) -> Result<File, StorageError> {
    let lock_path = path.join(".lock");
    let file = File::create(&lock_path).map_err(StorageError::io("write", &lock_path))?;
    file.try_lock().map_err(|_| StorageError::Unfit {
        path: path.to_owned(),
        reason: "another process is working on this run; wait for it or stop it".to_owned(),
    })?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            run.append_metrics(&serde_json::json!({ "step": step })).unwrap();
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
}
