//! Which episodes and answers of a run a page shows: those of its most important steps, as long
//! as there is room.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::bounds::{Bounds, by_importance};
use super::figures::step_of;
use super::gallery::{Gallery, GalleryError};
use super::notes::Notes;
use super::siblings::{Leaf, gather, of_tasks, row_of};
use super::story::{Drawing, Story, tell};
use super::texts::Texts;
use super::turns::{self, Course};
use troupe_core::archive::{list_episodes, list_tables, read_episodes};
use troupe_core::blame;
use troupe_core::config::Config;
use troupe_core::storage::StorageError;
use troupe_core::table::{Row, read_table};
use troupe_core::trajectory::Episode;
use troupe_guests::plugin::Rendering;

/// The share of a run's room that drawings may take, as a divisor.
const DRAWINGS: usize = 3;
/// Tasks of a step whose answers are shown if none of its episodes was recorded.
const TASKS: usize = 4;

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

/// What was chosen so far.
pub struct Selection<'a> {
    bounds: Bounds,
    texts: &'a mut Texts,
    notes: &'a mut Notes,
    /// Bytes that are left.
    room: usize,
    /// How much it is.
    pub shown: Shown,
    /// The episodes, as they are told and as they were recorded.
    pub episodes: Vec<(Story, Episode)>,
    /// The answers.
    pub tables: Vec<Leaf>,
}

impl<'a> Selection<'a> {
    /// Choose from a run: from the first, the best and the last step first, and in the order of
    /// the steps.
    ///
    /// # Errors
    /// If the run's folders cannot be listed. A damaged file is noted.
    pub fn of(
        run: &Path,
        best: Option<usize>,
        bounds: Bounds,
        texts: &'a mut Texts,
        notes: &'a mut Notes,
    ) -> Result<Self, StorageError> {
        let (files, tables) = (list_episodes(run)?, list_tables(run)?);
        let mut steps: Vec<usize> = files.iter().chain(&tables).map(|(step, _)| *step).collect();
        steps.sort_unstable();
        steps.dedup();
        // Drawings come last, and are given their share.
        let for_drawings = bounds.bytes / DRAWINGS;
        let shown = Shown {
            episode_files: (files.len(), 0),
            tables: (tables.len(), 0),
            ..Shown::default()
        };
        let mut selection = Selection {
            bounds,
            texts,
            notes,
            room: bounds.bytes - for_drawings,
            shown,
            episodes: Vec::new(),
            tables: Vec::new(),
        };
        selection.looked_into(run);
        for step in by_importance(&steps, best) {
            selection.step(step, of_step(&files, step), of_step(&tables, step));
        }
        selection.room += for_drawings;
        selection.episodes.sort_by_key(|(story, _)| story.step);
        selection.tables.sort_by_key(|leaf| leaf.step);
        Ok(selection)
    }

    /// Episodes whose turns were looked into: whoever did so wants to see them.
    fn looked_into(&mut self, run: &Path) {
        let (found, unreadable) = self.notes.unless(turns::read(run)).unwrap_or_default();
        if unreadable > 0 {
            self.notes.add(format!("{unreadable} lines of {} cannot be read", blame::FILE));
        }
        for blame in found {
            let course = |texts: &mut Texts| Some(turns::tell(&blame, texts));
            self.put(blame.step, blame.episode.clone(), &[], course);
        }
    }

    fn step(&mut self, step: usize, episodes: Option<&Path>, table: Option<&Path>) {
        let mut found = Vec::new();
        if let Some(path) = episodes.filter(|_| self.shown.episodes < self.bounds.episodes) {
            found = self.notes.unless(read_episodes(path)).unwrap_or_default();
            self.shown.episode_files.1 += 1;
        }
        let mut rows = Vec::new();
        if let Some(path) = table.filter(|_| self.shown.answers < self.bounds.answers) {
            rows = self.notes.unless(read_table(path)).unwrap_or_default();
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
        self.put(Some(step), episode, rows, |_| None);
    }

    fn put(
        &mut self,
        step: Option<usize>,
        episode: Episode,
        rows: &[(Option<usize>, &Row)],
        course: impl Fn(&mut Texts) -> Option<Course>,
    ) {
        if self.shown.episodes >= self.bounds.episodes {
            self.shown.left_out += 1;
            return;
        }
        let mark = (self.texts.count(), self.texts.bytes());
        // Held-out episodes have no rows, and tasks of the same numbers.
        let rows = if episode.split == "train" { rows } else { &[] };
        let row = |event: &_| row_of(rows, episode.task, episode.episode, event);
        let mut story = tell(step, &episode, self.texts, row);
        story.course = course(self.texts);
        let bytes = self.texts.bytes() - mark.1 + length(&story);
        if bytes > self.room {
            self.texts.keep(mark.0);
            self.shown.left_out += 1;
            return;
        }
        self.room -= bytes;
        self.shown.episodes += 1;
        self.episodes.push((story, episode));
    }

    /// Draw the episodes, as images while there is room and in characters then. `lines` are the
    /// run's metrics.
    pub fn draw(&mut self, config: &Config, lines: &[Value]) {
        if self.episodes.is_empty() {
            return;
        }
        let gallery = match Gallery::open(config) {
            Ok(gallery) => gallery,
            Err(error) => return self.notes.add(format!("states are not drawn: {error}")),
        };
        let mut episodes = std::mem::take(&mut self.episodes);
        // First those that somebody looked into.
        let (looked_into, others): (Vec<_>, Vec<_>) =
            episodes.iter_mut().partition(|(story, _)| story.course.is_some());
        for (story, episode) in looked_into.into_iter().chain(others) {
            match gallery.draw(episode, rung(lines, story.step, &episode.family)) {
                Ok(drawings) => self.hang(story, &drawings),
                Err(error @ GalleryError::Elsewhere { .. }) => {
                    let step =
                        story.step.map_or_else(|| "unknown".to_owned(), |step| step.to_string());
                    self.notes.add(format!("an episode of step {step} is not drawn: {error}"));
                }
                Err(error) => self.notes.add(format!("an episode is not drawn: {error}")),
            }
        }
        self.episodes = episodes;
    }

    fn hang(&mut self, story: &mut Story, drawings: &[Rendering]) {
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
                story.drawings = hung;
                return;
            }
            self.texts.keep(mark.0);
        }
    }
}

fn of_step(files: &[(usize, PathBuf)], step: usize) -> Option<&Path> {
    files.iter().find(|(of, _)| *of == step).map(|(_, path)| path.as_path())
}

/// Bytes that it takes in the page, its texts aside.
pub(super) fn length(part: &impl Serialize) -> usize {
    serde_json::to_string(part).map_or(0, |text| text.len() + 1)
}

/// The rung of the curriculum that training tasks of a family were played on.
fn rung(lines: &[Value], step: Option<usize>, family: &str) -> usize {
    let line = step.and_then(|step| lines.iter().find(|line| step_of(line) == Some(step)));
    let rung = line.and_then(|line| line.get("families")?.get(family)?.get("rung")?.as_u64());
    rung.unwrap_or(0) as usize
}
