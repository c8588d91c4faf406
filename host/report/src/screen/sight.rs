//! What a run's folder says now.

use std::path::{Path, PathBuf};

use serde_json::Value;

use troupe_core::archive::{find_config, list_episodes, read_episodes, read_lines};
use troupe_core::config::Config;
use troupe_core::forecast::{FILE, Forecast};
use troupe_core::storage::{StorageError, read_json};
use troupe_core::trajectory::{Episode, Event};

/// Episodes that are shown.
const EPISODES: usize = 12;

/// Steps by which the pace is told.
const PACE: usize = 10;

/// A run, as it stands.
#[derive(Debug)]
pub struct Sight {
    /// Its folder.
    pub folder: PathBuf,
    /// Lines of its metrics.
    pub lines: Vec<Value>,
    /// What it was told to do, if that can be read.
    pub config: Option<Config>,
    /// Whether it has come to its end.
    pub finished: bool,
    /// What was to be expected of it after two steps, if it is still to make as many.
    pub forecast: Option<Forecast>,
    /// The last of its recorded episodes, the last first.
    pub episodes: Vec<Glance>,
    /// What it or this program had to say: the step, and the text.
    pub said: Vec<(usize, String)>,
}

/// An episode in a few words.
#[derive(Debug, PartialEq)]
pub struct Glance {
    /// Its step.
    pub step: usize,
    /// Its split, family and task.
    pub task: String,
    /// How it ended.
    pub ending: &'static str,
    /// What was said in it.
    pub words: String,
}

impl Sight {
    /// Look at a run.
    ///
    /// # Errors
    /// If the folder is none of a run, or cannot be read.
    pub fn of(run: &Path) -> Result<Self, StorageError> {
        let config = Config::load(Some(&find_config(run)?), &[]).ok();
        let (lines, unreadable) = read_lines(&run.join("metrics.jsonl"))?;
        let mut said: Vec<(usize, String)> = lines.iter().flat_map(warnings).collect();
        let last = lines.last().and_then(|line| line.get("step")?.as_u64()).unwrap_or(0) as usize;
        if unreadable > 0 {
            said.push((last, format!("{unreadable} lines of metrics.jsonl cannot be read")));
        }
        let mut sight = Sight {
            folder: run.to_owned(),
            // A file that cannot be read says as little as none.
            forecast: read_json(&run.join(FILE)).ok(),
            config,
            finished: run.join("summary.json").is_file(),
            lines,
            episodes: Vec::new(),
            said,
        };
        let steps = sight.steps();
        let still_holds = |forecast: &Forecast| steps.is_none_or(|of| forecast.likely.steps == of);
        sight.forecast = sight.forecast.filter(still_holds);
        sight.look_at_episodes()?;
        Ok(sight)
    }

    /// Steps that it is to make, if that is known: a budget ends a run at any step.
    pub fn steps(&self) -> Option<usize> {
        let train = &self.config.as_ref()?.train;
        train.budget.share_spent(0, 0, 0.0).is_none().then_some(train.steps)
    }

    /// Whether its policies are compared with what they were: else `kl` is 0 for want of a measure.
    pub fn has_reference(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.train.needs_reference())
    }

    /// The last step.
    pub fn step(&self) -> usize {
        self.lines.last().and_then(step_of).unwrap_or(0)
    }

    /// Seconds from the state before training to a line.
    fn seconds_to(&self, line: &Value) -> Option<f64> {
        let at = |line: &Value| line.pointer("/timing/totals/seconds")?.as_f64();
        Some(at(line)? - at(self.lines.first()?)?)
    }

    /// The share of its budget that was spent by a line.
    fn share_spent(&self, line: &Value) -> Option<f64> {
        let total = |name: &str| line.pointer("/totals")?.get(name)?.as_u64();
        let [tokens, samples] =
            ["completion_tokens", "samples"].map(|name| total(name).unwrap_or_default());
        let seconds = line.pointer("/timing/totals/seconds").and_then(Value::as_f64);
        let budget = &self.config.as_ref()?.train.budget;
        budget.share_spent(tokens, samples, seconds.unwrap_or_default())
    }

    /// Seconds since training began, and those that what is left takes at the pace of the last
    /// steps, if it is known how much that is.
    pub fn pace(&self) -> Option<(f64, Option<f64>)> {
        let last = self.lines.last()?;
        let before = &self.lines[self.lines.len().saturating_sub(PACE + 1)];
        let (so_far, then) = (self.seconds_to(last)?, self.seconds_to(before)?);
        let made = step_of(last)?.checked_sub(step_of(before)?).filter(|made| *made > 0)?;
        let steps_left = || match self.steps() {
            Some(steps) => Some(steps.saturating_sub(self.step()) as f64),
            None => {
                let (spent, earlier) = (self.share_spent(last)?, self.share_spent(before)?);
                let of_step = (spent - earlier) / made as f64;
                (of_step > 0.0).then(|| (1.0 - spent).max(0.0) / of_step)
            }
        };
        Some((so_far, steps_left().map(|left| (so_far - then) / made as f64 * left)))
    }

    /// A figure of every line that has it, over the steps.
    pub fn curve(&self, path: &str) -> Vec<(f64, f64)> {
        let point = |line: &Value| Some((step_of(line)? as f64, line.pointer(path)?.as_f64()?));
        self.lines.iter().filter_map(point).collect()
    }

    /// The names that occur in a table of the lines.
    pub fn names(&self, table: &str) -> Vec<String> {
        let of = |line: &Value| Some(line.get(table)?.as_object()?.keys().cloned().collect());
        let names: Vec<Vec<String>> = self.lines.iter().filter_map(of).collect();
        let mut names: Vec<String> = names.into_iter().flatten().collect();
        names.sort();
        names.dedup();
        names
    }

    fn look_at_episodes(&mut self) -> Result<(), StorageError> {
        for (step, path) in list_episodes(&self.folder)?.into_iter().rev() {
            if self.episodes.len() >= EPISODES {
                break;
            }
            match read_episodes(&path) {
                Ok(found) => self.episodes.extend(found.iter().map(|one| Glance::of(step, one))),
                Err(error) => self.said.push((step, error.to_string())),
            }
        }
        self.episodes.truncate(EPISODES);
        Ok(())
    }
}

impl Glance {
    fn of(step: usize, episode: &Episode) -> Self {
        let said = episode.events.iter().filter_map(|event| match event {
            Event::Replied { role, text, .. } => Some(format!("{role}: {text}")),
            _ => None,
        });
        let words = said.collect::<Vec<_>>().join(" | ").replace(['\n', '\t'], " ");
        // No line is longer than this, and the texts of models may be.
        let words = words[..words.floor_char_boundary(1000)].to_owned();
        let number = if episode.split == "train" { episode.task } else { episode.seed as usize };
        Glance {
            step,
            task: format!("{} {} {number}", episode.split, episode.family),
            ending: episode.ending.word(),
            words,
        }
    }
}

fn step_of(line: &Value) -> Option<usize> {
    line.get("step")?.as_u64().map(|step| step as usize)
}

fn warnings(line: &Value) -> Vec<(usize, String)> {
    let texts = line.get("warnings").and_then(Value::as_array);
    let step = step_of(line).unwrap_or(0);
    let texts = texts.into_iter().flatten().filter_map(Value::as_str);
    texts.map(|text| (step, text.to_owned())).collect()
}
