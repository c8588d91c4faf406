//! What a run will take, from its first two steps: of every run, kept in its folder, and of one
//! that is only measured (`host train --forecast`), with the disk it would fill.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::report;
use troupe_core::archive::read_lines;
use troupe_core::config::{Budget, Config};
use troupe_core::forecast::{Bill, FILE, Forecast, MEASURED};
use troupe_core::seed::Seed;
use troupe_core::storage::{StorageError, list_folder, write_json};
use troupe_training::rollout::turns_of_expert;
use troupe_training::run::{RunFolder, unix_seconds};
use troupe_training::team::Team;

/// What is known of a run before it begins, for its forecast.
#[derive(Clone, Debug)]
pub(super) struct Prospect {
    run: PathBuf,
    config: Config,
    /// By family, the answers that the expert's episodes take.
    experts: BTreeMap<String, f64>,
}

impl Prospect {
    /// Of a run that this process writes and that has none yet.
    pub(super) fn of(folder: &RunFolder, config: &Config, team: &Team) -> Option<Self> {
        if !folder.is_written_here() || folder.path().join(FILE).exists() {
            return None;
        }
        let seed = Seed::new(config.run.seed).named("forecast");
        let families = team.families.iter().filter(|family| family.is_trained());
        let experts = families.filter_map(|family| {
            let turns = turns_of_expert(&family.scenario, seed)?;
            Some((family.scenario.family.clone(), turns))
        });
        Some(Prospect {
            run: folder.path().to_owned(),
            config: config.clone(),
            experts: experts.collect(),
        })
    }

    /// Keep the forecast, once there are two steps.
    ///
    /// # Errors
    /// If the metrics cannot be read or the file cannot be written.
    pub(super) fn keep(&self) -> Result<(), StorageError> {
        let (lines, _) = read_lines(&self.run.join("metrics.jsonl"))?;
        match Forecast::of(&lines, &self.config, &self.experts) {
            Some(forecast) => write_json(&self.run.join(FILE), &forecast),
            None => Ok(()),
        }
    }
}

/// A run that is only measured.
#[derive(Debug)]
pub(super) struct Measurement {
    /// What the run is to be.
    whole: Config,
    began: f64,
    folder: tempfile::TempDir,
}

impl Measurement {
    /// Prepare to measure.
    ///
    /// # Errors
    /// If there is no room for temporary files.
    pub(super) fn of(whole: &Config) -> Result<Self, StorageError> {
        let folder = tempfile::tempdir()
            .map_err(StorageError::io("create a folder in", &std::env::temp_dir()))?;
        Ok(Measurement { whole: whole.clone(), began: unix_seconds(), folder })
    }

    /// What is run in its place.
    pub(super) fn measured(&self) -> Config {
        let mut config = self.whole.clone();
        config.run.dir = self.folder.path().to_owned();
        config.run.name = Some("measured".to_owned());
        config.train.steps = MEASURED;
        config.train.budget = Budget::default();
        config
    }

    /// Say what it comes to.
    ///
    /// # Errors
    /// If what was measured cannot be read.
    pub(super) fn tell(&self, prospect: &Prospect) -> Result<(), StorageError> {
        let run = self.folder.path().join("measured");
        let (lines, _) = read_lines(&run.join("metrics.jsonl"))?;
        let Some(forecast) = Forecast::of(&lines, &self.whole, &prospect.experts) else {
            report::line("no forecast: the run was stopped before two steps were measured");
            return Ok(());
        };
        // Loading, the warm start, and the tests before.
        let begun = lines[0].pointer("/timing/unix").and_then(Value::as_f64);
        let start = begun.map_or(0.0, |begun| begun - self.began);
        self.say(&forecast, start, &Disk::of(&run)?);
        Ok(())
    }

    fn say(&self, forecast: &Forecast, start: f64, disk: &Disk) {
        let Forecast { likely, .. } = *forecast;
        let duration = |seconds: f64| report::duration(seconds);
        let (low, high) = forecast.range();
        report::line(&format!(
            "forecast: {} ({} to {}) for {} steps",
            duration(start + likely.seconds),
            duration(start + low),
            duration(start + high),
            likely.steps
        ));
        report::line(&format!(
            "  start {}, then a step {}, held-out tasks {} times {}, test {}",
            duration(start),
            duration(forecast.step),
            likely.looks,
            duration(forecast.validation),
            duration(forecast.test)
        ));
        report::line(&format!(
            "  {:.0} tokens drawn in {:.0} answers; {:.1} MB on disk",
            likely.tokens,
            likely.samples,
            disk.of_run(&self.whole, &likely, forecast.unlearned.samples) / 1e6
        ));
        report::line(match forecast.knows_lengths {
            true => {
                "  the range is from a team that solves its tasks at once, as the expert does if \
                 there is one, to one that learns nothing"
            }
            false => "  if episodes stay as long as in the two steps that were measured",
        });
    }
}

/// Bytes.
#[derive(Debug)]
struct Disk {
    step: f64,
    checkpoint: f64,
}

impl Disk {
    fn of(run: &Path) -> Result<Self, StorageError> {
        let checkpoints = run.join("checkpoints");
        let newest = list_folder(&checkpoints)?.into_iter().max();
        let checkpoint = newest.map_or(0, |name| bytes(&checkpoints.join(name)));
        // Episodes are also kept of the state before training.
        let episodes = bytes(&run.join("episodes")) as f64 / (MEASURED + 1) as f64;
        let step = bytes(&run.join("table")) as f64 / MEASURED as f64 + episodes;
        Ok(Disk { step, checkpoint: checkpoint as f64 })
    }

    /// A run's, whose answers would come to so many if all steps were like the first.
    fn of_run(&self, whole: &Config, bill: &Bill, unlearned: f64) -> f64 {
        let length = bill.samples / unlearned.max(1e-9);
        let kept = (bill.steps / whole.checkpoint.every.max(1)).clamp(1, whole.checkpoint.keep) + 1;
        self.step * length * bill.steps as f64 + self.checkpoint * kept as f64
    }
}

/// Bytes of all files in a folder.
fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
