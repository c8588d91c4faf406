//! One run as a page shows it.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::bounds::{Bounds, by_importance};
use super::figures::{HeldOut, best_step, held_out, rounded, step_of, thinned};
use super::gallery::{Gallery, GalleryError};
use super::settings::{Change, changes};
use super::siblings::{Leaf, gather, of_tasks, row_of};
use super::story::{Drawing, Story, tell};
use super::texts::Texts;
use crate::archive::{find_config, list_episodes, list_tables, read_episodes, read_lines};
use crate::config::Config;
use crate::storage::{StorageError, read_json};
use crate::table::{Row, read_table};
use crate::trajectory::Episode;

/// The share of a run's room that drawings may take, as a divisor.
const DRAWINGS: usize = 3;
/// Tasks of a step whose answers are shown if none of its episodes was recorded.
const TASKS: usize = 4;
/// Notes that say the same of many files are cut after so many.
const NOTES: usize = 20;

/// One run.
#[derive(Debug, Serialize)]
pub struct Chapter {
    /// What it is called: the name of its folder.
    pub name: String,
    /// Its folder, as it was given.
    pub folder: String,
    /// What could not be shown, and why.
    pub notes: Vec<String>,
    /// Whether the run came to its end.
    pub finished: bool,
    /// The step whose checkpoint is the best.
    pub best: Option<usize>,
    /// α of r = α·team + local.
    pub alpha: f64,
    /// Lines of the metrics.
    pub metrics: Vec<Value>,
    /// Before and after.
    pub summary: Option<Value>,
    /// What it was made of.
    pub manifest: Option<Value>,
    /// Settings that are not as they would be by themselves.
    pub settings: Vec<Change>,
    /// What can be done with it: what for, and the command.
    pub commands: Vec<(&'static str, String)>,
    /// What became of held-out tasks.
    pub held_out: Vec<HeldOut>,
    /// Recorded episodes.
    pub episodes: Vec<Story>,
    /// Answers of tables.
    pub tables: Vec<Leaf>,
    /// How much of it all is shown.
    pub shown: Shown,
}

/// How much of a run a page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Episodes on the page.
    pub episodes: usize,
    /// Files of episodes that the run has, and how many were read.
    pub episode_files: (usize, usize),
    /// Answers on the page.
    pub answers: usize,
    /// Answers that the run drew, as its metrics say.
    pub answers_drawn: usize,
    /// Tables that the run has, and how many were read.
    pub tables: (usize, usize),
    /// Episodes that were read and for which there was no room.
    pub left_out: usize,
}

/// A chapter that is being written.
struct Writing<'a> {
    run: &'a Path,
    bounds: Bounds,
    texts: &'a mut Texts,
    /// Bytes that are left.
    room: usize,
    notes: Vec<String>,
    shown: Shown,
    episodes: Vec<Story>,
    tables: Vec<Leaf>,
    /// Episodes as they were recorded, for drawings.
    recorded: Vec<Episode>,
}

/// Write the chapter of a run, with its texts among the others.
///
/// # Errors
/// If the folder is none of a run, or its files cannot be read at all. What is damaged in it is
/// noted in the chapter.
pub fn write(run: &Path, bounds: Bounds, texts: &mut Texts) -> Result<Chapter, StorageError> {
    let config_path = find_config(run)?;
    let (lines, unreadable) = read_lines(&run.join("metrics.jsonl"))?;
    let (outcomes, unreadable_outcomes) = read_lines(&run.join("outcomes.jsonl"))?;
    let best = best_step(&lines);
    let shown = Shown { answers_drawn: answers_drawn(&lines), ..Shown::default() };
    let room = bounds.bytes;
    let mut writing = Writing {
        run,
        bounds,
        texts,
        room,
        notes: Vec::new(),
        shown,
        episodes: Vec::new(),
        tables: Vec::new(),
        recorded: Vec::new(),
    };
    for (count, file) in [(unreadable, "metrics.jsonl"), (unreadable_outcomes, "outcomes.jsonl")] {
        if count > 0 {
            writing.notes.push(format!("{count} lines of {file} cannot be read"));
        }
    }
    let config = writing.note_unless(
        std::fs::read_to_string(&config_path).map_err(StorageError::io("read", &config_path)),
    );
    let settings = config.map(|config| changes(&config));
    let settings = settings.and_then(|settings| writing.note_unless(settings)).unwrap_or_default();
    let summary = writing.json("summary.json");
    let manifest = writing.json("manifest.json").map(without_config);
    writing.gather(best)?;
    let config = writing.note_unless(Config::load(Some(&config_path), &[]));
    if let Some(config) = &config {
        writing.draw(config, &lines);
    }
    let Writing { mut notes, shown, episodes, tables, .. } = writing;
    let more = notes.len().saturating_sub(NOTES);
    notes.truncate(NOTES);
    if more > 0 {
        notes.push(format!("and {more} more of the same kind"));
    }
    let name = run
        .canonicalize()
        .ok()
        .and_then(|run| Some(run.file_name()?.to_string_lossy().into_owned()));
    Ok(Chapter {
        name: name.unwrap_or_else(|| run.display().to_string()),
        folder: run.display().to_string(),
        notes,
        finished: summary.is_some(),
        best,
        alpha: config.map_or(1.0, |config| config.advantage.alpha),
        metrics: thinned(lines),
        summary: summary.map(rounded),
        manifest,
        settings,
        commands: commands(run, !tables.is_empty()),
        held_out: held_out(&outcomes),
        episodes,
        tables,
        shown,
    })
}

impl Writing<'_> {
    /// What was read; if it could not be, that is noted.
    fn note_unless<T>(&mut self, read: Result<T, impl std::fmt::Display>) -> Option<T> {
        read.map_err(|error| self.notes.push(error.to_string())).ok()
    }

    fn json(&mut self, name: &str) -> Option<Value> {
        let path = self.run.join(name);
        if !path.is_file() {
            return None;
        }
        self.note_unless(read_json(&path))
    }

    /// Episodes and answers of the most important steps first, as long as there is room; shown in
    /// the order of the steps.
    fn gather(&mut self, best: Option<usize>) -> Result<(), StorageError> {
        let (files, tables) = (list_episodes(self.run)?, list_tables(self.run)?);
        self.shown.episode_files.0 = files.len();
        self.shown.tables.0 = tables.len();
        let mut steps: Vec<usize> = files.iter().chain(&tables).map(|(step, _)| *step).collect();
        steps.sort_unstable();
        steps.dedup();
        let of = |files: &[(usize, std::path::PathBuf)], step: usize| {
            files.iter().find(|(of, _)| *of == step).map(|(_, path)| path.clone())
        };
        // Drawings come last, and are given their share.
        let for_drawings = self.room / DRAWINGS;
        self.room -= for_drawings;
        for step in by_importance(&steps, best) {
            self.step(step, of(&files, step).as_deref(), of(&tables, step).as_deref());
        }
        self.room += for_drawings;
        let mut order: Vec<usize> = (0..self.episodes.len()).collect();
        order.sort_by_key(|&index| self.episodes[index].step);
        let mut stories: Vec<_> =
            std::mem::take(&mut self.episodes).into_iter().map(Some).collect();
        let mut recorded: Vec<_> =
            std::mem::take(&mut self.recorded).into_iter().map(Some).collect();
        self.episodes = order.iter().filter_map(|&index| stories[index].take()).collect();
        self.recorded = order.iter().filter_map(|&index| recorded[index].take()).collect();
        self.tables.sort_by_key(|leaf| leaf.step);
        Ok(())
    }

    fn step(&mut self, step: usize, episodes: Option<&Path>, table: Option<&Path>) {
        let mut found = Vec::new();
        if let Some(path) = episodes.filter(|_| self.shown.episodes < self.bounds.episodes) {
            found = self.note_unless(read_episodes(path)).unwrap_or_default();
            self.shown.episode_files.1 += 1;
        }
        let mut rows = Vec::new();
        if let Some(path) = table.filter(|_| self.shown.answers < self.bounds.answers) {
            rows = self.note_unless(read_table(path)).unwrap_or_default();
            self.shown.tables.1 += 1;
        }
        let trained = |episode: &&Episode| episode.split == "train";
        let mut tasks: BTreeSet<usize> =
            found.iter().filter(trained).map(|episode| episode.task).collect();
        if tasks.is_empty() {
            tasks =
                rows.iter().map(|row| row.sample.task).take_while(|task| *task < TASKS).collect();
        }
        let rows = self.answers(step, &rows, &tasks);
        for episode in found {
            self.episode(step, episode, &rows);
        }
    }

    /// Put the answers of some tasks on the page, task by task as long as there is room; returns
    /// what was put there.
    fn answers<'r>(
        &mut self,
        step: usize,
        rows: &'r [Row],
        tasks: &BTreeSet<usize>,
    ) -> Vec<(Option<usize>, &'r Row)> {
        let mut put = (BTreeSet::new(), Vec::new(), None);
        let mark = (self.texts.count(), self.room);
        for task in tasks {
            let mut more = put.0.clone();
            more.insert(*task);
            let found = of_tasks(rows, &more);
            self.texts.keep(mark.0);
            let before = self.texts.bytes();
            let leaf = gather(step, &found, self.texts);
            let bytes = self.texts.bytes() - before + length(&leaf);
            let fits = bytes <= mark.1 && self.shown.answers + found.len() <= self.bounds.answers;
            if !fits {
                self.texts.keep(mark.0);
                // Its texts are placed again where they were.
                put.2 = put.2.map(|_| gather(step, &put.1, self.texts));
                break;
            }
            self.room = mark.1 - bytes;
            put = (more, found, Some(leaf));
        }
        self.shown.answers += put.1.len();
        self.tables.extend(put.2.filter(|leaf| !leaf.rows.is_empty()));
        put.1
    }

    fn episode(&mut self, step: usize, episode: Episode, rows: &[(Option<usize>, &Row)]) {
        if self.shown.episodes >= self.bounds.episodes {
            self.shown.left_out += 1;
            return;
        }
        let mark = (self.texts.count(), self.texts.bytes());
        // Held-out episodes have no rows, and tasks of the same numbers.
        let rows = if episode.split == "train" { rows } else { &[] };
        let row = |event: &_| row_of(rows, episode.task, episode.episode, event);
        let story = tell(step, &episode, self.texts, row);
        let bytes = self.texts.bytes() - mark.1 + length(&story);
        if bytes > self.room {
            self.texts.keep(mark.0);
            self.shown.left_out += 1;
            return;
        }
        self.room -= bytes;
        self.shown.episodes += 1;
        self.episodes.push(story);
        self.recorded.push(episode);
    }

    /// Draw the episodes of the chapter, as images while there is room and in characters then.
    fn draw(&mut self, config: &Config, lines: &[Value]) {
        if self.recorded.is_empty() {
            return;
        }
        let gallery = match Gallery::open(config) {
            Ok(gallery) => gallery,
            Err(error) => {
                self.notes.push(format!("states are not drawn: {error}"));
                return;
            }
        };
        let recorded = std::mem::take(&mut self.recorded);
        for (index, episode) in recorded.iter().enumerate() {
            let rung = rung(lines, self.episodes[index].step, &episode.family);
            match gallery.draw(episode, rung) {
                Ok(drawings) => self.hang(index, &drawings),
                Err(error @ GalleryError::Elsewhere { .. }) => {
                    let step = self.episodes[index].step;
                    self.notes.push(format!("an episode of step {step} is not drawn: {error}"));
                }
                Err(error) => self.notes.push(format!("an episode is not drawn: {error}")),
            }
        }
    }

    fn hang(&mut self, index: usize, drawings: &[crate::plugin::Rendering]) {
        let mark = (self.texts.count(), self.texts.bytes());
        for images in [true, false] {
            let hung: Vec<Drawing> = drawings
                .iter()
                .map(|drawing| Drawing {
                    svg: images.then(|| self.texts.place_whole(&drawing.svg)),
                    text: self.texts.place(&drawing.text),
                })
                .collect();
            let bytes = self.texts.bytes() - mark.1 + length(&hung);
            if bytes <= self.room {
                self.room -= bytes;
                self.episodes[index].drawings = hung;
                return;
            }
            self.texts.keep(mark.0);
        }
    }
}

/// Bytes that it takes in the page, its texts aside.
fn length(part: &impl Serialize) -> usize {
    serde_json::to_string(part).map_or(0, |text| text.len() + 1)
}

/// The rung of the curriculum that training tasks of a family were played on.
fn rung(lines: &[Value], step: usize, family: &str) -> usize {
    let line = lines.iter().find(|line| step_of(line) == Some(step));
    let rung = line.and_then(|line| line.get("families")?.get(family)?.get("rung")?.as_u64());
    rung.unwrap_or(0) as usize
}

/// The manifest repeats the configuration, which the page has already.
fn without_config(mut manifest: Value) -> Value {
    if let Value::Object(fields) = &mut manifest {
        fields.retain(|name, _| name != "config" && name != "settled");
    }
    manifest
}

fn answers_drawn(lines: &[Value]) -> usize {
    let of_role = |role: &Value| role.get("samples").and_then(Value::as_u64);
    let of_line = |line: &Value| -> u64 {
        let roles = line.get("roles").and_then(Value::as_object);
        roles.into_iter().flat_map(|roles| roles.values()).filter_map(of_role).sum()
    };
    lines.iter().map(of_line).sum::<u64>() as usize
}

fn commands(run: &Path, has_tables: bool) -> Vec<(&'static str, String)> {
    let quoted = quoted(&run.display().to_string());
    let config = self::quoted(&run.join("config.toml").display().to_string());
    let mut commands = vec![
        ("repeat the run", format!("host train {config}")),
        ("go on with it", format!("host train --resume {quoted}")),
        ("measure it on held-out tasks", format!("host eval --run {quoted} --split test")),
        ("watch what it learned", format!("host play --run {quoted}")),
    ];
    if has_tables {
        let compare = "--compare at-grpo,rloo,naive";
        commands.push(("compare estimators", format!("host advantage --run {quoted} {compare}")));
    }
    commands
}

/// A word of a shell's command.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests;
