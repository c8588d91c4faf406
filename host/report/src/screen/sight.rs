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
    /// Steps that it is to make, if its configuration can be read.
    pub steps: Option<usize>,
    /// Whether it has come to its end.
    pub finished: bool,
    /// What was to be expected of it after two steps.
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
            steps: config.map(|config| config.train.steps),
            finished: run.join("summary.json").is_file(),
            lines,
            episodes: Vec::new(),
            said,
        };
        sight.look_at_episodes()?;
        Ok(sight)
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

    /// Seconds since training began, and those that the steps to come take at the pace of the
    /// last ones.
    pub fn pace(&self) -> Option<(f64, f64)> {
        let last = self.lines.last()?;
        let before = &self.lines[self.lines.len().saturating_sub(PACE + 1)];
        let (so_far, then) = (self.seconds_to(last)?, self.seconds_to(before)?);
        let made = step_of(last)?.checked_sub(step_of(before)?).filter(|made| *made > 0)?;
        let left = self.forecast.as_ref()?.likely.steps.saturating_sub(self.step());
        Some((so_far, (so_far - then) / made as f64 * left as f64))
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
