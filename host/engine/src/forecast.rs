//! `host train --forecast`: how long a run will take, how many tokens it will draw and how much
//! disk it will fill, from two steps that are made and thrown away.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::report;
use troupe_core::config::{Budget, Config};
use troupe_core::storage::{StorageError, list_folder};

/// Steps that are measured: the first one also loads and allocates.
const MEASURED: usize = 2;

/// A run that is only measured.
#[derive(Debug)]
pub(super) struct Forecast {
    /// What the run is to be.
    whole: Config,
    began: f64,
    folder: tempfile::TempDir,
}

impl Forecast {
    /// Prepare to measure.
    ///
    /// # Errors
    /// If there is no room for temporary files.
    pub(super) fn of(whole: &Config) -> Result<Self, StorageError> {
        let folder = tempfile::tempdir()
            .map_err(StorageError::io("create a folder in", &std::env::temp_dir()))?;
        Ok(Forecast { whole: whole.clone(), began: now(), folder })
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
    pub(super) fn tell(&self) -> Result<(), StorageError> {
        let run = self.folder.path().join("measured");
        let path = run.join("metrics.jsonl");
        let text = fs::read_to_string(&path).map_err(StorageError::io("read", &path))?;
        let lines: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let [start, first, .., last] = &lines[..] else {
            report::line("no forecast: the run was stopped before two steps were measured");
            return Ok(());
        };
        let costs = Costs::of(self.began, [start, first, last]);
        let disk = Disk::of(&run)?;
        costs.tell(&self.whole, &disk);
        Ok(())
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds and tokens.
#[derive(Debug)]
struct Costs {
    /// Until the first step: loading, warm start, and the tests before.
    start: f64,
    /// A step, without what is only done now and then.
    step: f64,
    /// By what share the two steps differed from their mean.
    error: f64,
    /// A look at held-out tasks.
    validation: f64,
    /// The test tasks afterwards.
    test: f64,
    tokens: f64,
    samples: f64,
}

impl Costs {
    fn of(began: f64, [start, first, last]: [&Value; 3]) -> Self {
        let number =
            |line: &Value, at: &str| line.pointer(at).and_then(Value::as_f64).unwrap_or(0.0);
        let phase = |line: &Value, name: &str| number(line, &format!("/timing/seconds/{name}"));
        let spent = |line: &Value| number(line, "/timing/totals/seconds");
        let own = |line: &Value, before: &Value| {
            spent(line) - spent(before) - phase(line, "validation") - phase(line, "test")
        };
        let steps = [own(first, start), own(last, first)];
        let drawn = |line: &Value, what: &str| number(line, &format!("/totals/{what}"));
        let mean = (steps[0] + steps[1]) / 2.0;
        Costs {
            start: now() - began - (spent(last) - spent(start)),
            step: steps[1],
            error: (steps[0] - steps[1]).abs() / (2.0 * mean.max(1e-9)),
            validation: phase(last, "validation"),
            test: phase(last, "test"),
            tokens: drawn(last, "completion_tokens") / MEASURED as f64,
            samples: drawn(last, "samples") / MEASURED as f64,
        }
    }

    /// Steps until the run is over.
    fn steps(&self, whole: &Config) -> usize {
        let most = whole.train.steps;
        let within = |budget: Option<u64>, each: f64| {
            budget.map_or(most, |budget| (budget as f64 / each.max(1e-9)).ceil() as usize)
        };
        let Budget { completion_tokens, samples, .. } = &whole.train.budget;
        most.min(within(*completion_tokens, self.tokens)).min(within(*samples, self.samples))
    }

    fn tell(&self, whole: &Config, disk: &Disk) {
        let steps = self.steps(whole);
        let looks = steps.checked_div(whole.validation.every).unwrap_or_default();
        let seconds =
            self.start + self.step * steps as f64 + self.validation * looks as f64 + self.test;
        let limit = whole.train.budget.seconds.unwrap_or(f64::INFINITY);
        let duration = |seconds: f64| report::duration(seconds);
        let kept = (steps / whole.checkpoint.every.max(1)).clamp(1, whole.checkpoint.keep) + 1;
        report::line(&format!(
            "forecast: {} (± {:.0} %) for {steps} steps",
            duration(seconds.min(limit)),
            100.0 * self.error.max(0.1) * self.step * steps as f64 / seconds.max(1e-9)
        ));
        report::line(&format!(
            "  start {}, a step {}, held-out tasks {looks} times {}, test {}",
            duration(self.start),
            duration(self.step),
            duration(self.validation),
            duration(self.test)
        ));
        report::line(&format!(
            "  {:.0} tokens drawn in {:.0} answers; {:.1} MB on disk",
            self.tokens * steps as f64,
            self.samples * steps as f64,
            (disk.step * steps as f64 + disk.checkpoint * kept as f64) / 1e6
        ));
        report::line(
            "  if episodes stay as long as in two steps, which are gone: those of a team that learns \
             to solve its tasks end sooner",
        );
        if seconds > limit {
            report::line("  train.budget.seconds ends it before its steps are made");
        }
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
