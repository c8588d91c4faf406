//! `host eval --inspect-log`: an evaluation as a log of [Inspect](https://inspect.aisi.org.uk)'s,
//! which its viewer and its Python package read: an archive with a file for each sample, one
//! sample for each episode.

mod conversation;
mod entry;
mod examined;
mod results;
mod spec;
mod transcript;
mod usage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use troupe_core::config::ConfigError;
use troupe_core::storage::{StorageError, replace};
use troupe_core::trajectory::{Episode, Sample};
use troupe_training::evaluation::{Evaluation, HeldOutTasks};
use troupe_training::metrics::Outcome;

use entry::{Entry, summary};
pub(super) use examined::Examined;

/// How a log's file ends; by this Inspect knows it.
const EXTENSION: &str = "eval";

/// The version of the format.
const VERSION: u32 = 2;

/// An evaluation and all that is said of it.
#[derive(Clone, Copy)]
pub(super) struct Log<'a> {
    /// Who was examined, in what.
    pub(super) examined: &'a Examined,
    /// On which tasks.
    pub(super) held_out: HeldOutTasks,
    /// What it showed.
    pub(super) evaluation: &'a Evaluation,
    /// What became of each episode, in their order.
    pub(super) outcomes: &'a [Outcome],
    /// When it began and when it was over, in seconds since 1970.
    pub(super) span: (f64, f64),
}

/// Whether a log can be written there, of so many runs.
///
/// # Errors
/// If the file has another ending, or if several evaluations would have to share a log.
pub(super) fn check(path: &Path, runs: usize) -> Result<(), ConfigError> {
    let invalid =
        |reason: String| Err(ConfigError::Invalid { key: "--inspect-log".to_owned(), reason });
    if runs > 1 {
        return invalid(format!(
            "a log is of one evaluation; write one for each of the {runs} runs"
        ));
    }
    if path.extension().is_none_or(|extension| extension != EXTENSION) {
        let right = path.with_extension(EXTENSION);
        return invalid(format!("Inspect knows its logs by their ending: `{}`", right.display()));
    }
    Ok(())
}

impl<'a> Log<'a> {
    /// Write the log, sample by sample.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), StorageError> {
        replace(path, |temporary| {
            let mut file = BufWriter::new(File::create(temporary)?);
            self.archive(&mut file)?;
            file.flush()
        })
    }

    fn archive(&self, file: impl Write + Seek) -> std::io::Result<()> {
        let entries = self.entries();
        let mut archive = ZipWriter::new(file);
        let mut add = |name: &str, content: &Value| {
            archive.start_file(name, SimpleFileOptions::default().large_file(true))?;
            serde_json::to_writer(&mut archive, content).map_err(std::io::Error::from)
        };
        let mut summaries = Vec::new();
        for entry in &entries {
            let sample = entry.sample(self);
            let (id, epoch) = (&sample["id"], &sample["epoch"]);
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            add(&format!("samples/{id}_epoch_{epoch}.json"), &sample)?;
            summaries.push(summary(&sample));
        }
        add("summaries.json", &summaries.into())?;
        if let Some(reductions) = results::reductions(self, &entries) {
            add("reductions.json", &reductions)?;
        }
        add("header.json", &self.header(&entries))?;
        archive.finish()?;
        Ok(())
    }

    /// All that is said of the evaluation as a whole.
    fn header(&self, entries: &[Entry]) -> Value {
        let (began, over) = self.span;
        let answers = || self.evaluation.rollout.samples.iter();
        json!({
            "version": VERSION,
            "status": "success",
            "eval": spec::eval(self),
            "plan": spec::plan(self),
            "results": results::results(self, entries),
            "stats": {
                "started_at": spec::time(began),
                "completed_at": spec::time(over),
                "model_usage": usage::by_policy(answers()),
                "role_usage": usage::by_role(answers()),
            },
        })
    }

    /// The episodes, each with its answers.
    fn entries(&self) -> Vec<Entry<'a>> {
        let mut answers: BTreeMap<(usize, usize), Vec<&Sample>> = BTreeMap::new();
        for sample in &self.evaluation.rollout.samples {
            answers.entry((sample.task, sample.episode)).or_default().push(sample);
        }
        let mut entry = |(episode, outcome): (&'a Episode, _)| {
            let answers = answers.remove(&(episode.task, episode.episode)).unwrap_or_default();
            Entry { episode, outcome, answers }
        };
        self.evaluation.rollout.episodes.iter().zip(self.outcomes).map(&mut entry).collect()
    }

    /// What a task is called: its number, and where there are several families, of which it is.
    fn id(&self, episode: &Episode) -> Value {
        match self.examined.families.len() {
            0 | 1 => episode.seed.into(),
            _ => {
                // Lists are sorted by letters.
                let digits = (self.held_out.tasks.max(2) - 1).ilog10() as usize + 1;
                format!("{} {:0digits$}", episode.family, episode.seed).into()
            }
        }
    }
}
