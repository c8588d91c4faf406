//! The answers of the last steps: what is learned from more than once.

use std::collections::VecDeque;
use std::path::Path;

use troupe_core::archive::list_tables;
use troupe_core::storage::StorageError;
use troupe_core::table::{Row, read_table};
use troupe_core::trajectory::Sample;
use troupe_estimators::credit::Credits;

/// The answers of a step, and what they came to.
#[derive(Debug, PartialEq)]
pub(super) struct Past {
    pub(super) samples: Vec<Sample>,
    pub(super) credits: Credits,
}

impl From<Vec<Row>> for Past {
    fn from(rows: Vec<Row>) -> Self {
        let (advantages, weights) = rows.iter().map(|row| (row.advantage, row.weight)).unzip();
        let samples = rows.into_iter().map(|row| row.sample).collect();
        Past { samples, credits: Credits { advantages, weights } }
    }
}

/// The answers of some steps, the oldest one first.
#[derive(Default)]
pub(super) struct Replay {
    /// How many steps before the present one are kept.
    steps: usize,
    past: VecDeque<Past>,
}

impl Replay {
    /// Of so many earlier steps, none of which has been.
    pub(super) fn of(steps: usize) -> Self {
        Replay { steps, past: VecDeque::new() }
    }

    /// Whether anything is kept.
    pub(super) fn reaches_back(&self) -> bool {
        self.steps > 0
    }

    /// Take in a step's answers, and let go of those that are too old.
    pub(super) fn take_in(&mut self, past: Past) {
        self.past.push_back(past);
        while self.past.len() > self.steps {
            self.past.pop_front();
        }
    }

    /// The last so many steps before the present one, the oldest one first.
    pub(super) fn last(&self, steps: usize) -> impl Iterator<Item = &Past> {
        self.past.iter().skip(self.past.len().saturating_sub(steps))
    }

    /// What it was after `step`, from the tables in a run's folder.
    ///
    /// # Errors
    /// If one of them is missing or damaged.
    pub(super) fn load(&mut self, run: &Path, step: usize) -> Result<(), StorageError> {
        self.past.clear();
        if !self.reaches_back() {
            return Ok(());
        }
        let tables = list_tables(run)?;
        for of_step in (step + 1).saturating_sub(self.steps).max(1)..=step {
            let Some((_, path)) = tables.iter().find(|(known, _)| *known == of_step) else {
                let reason = format!(
                    "it has no table of step {of_step}, whose answers are learned from again; bring \
                     it back, or begin a new run"
                );
                return Err(StorageError::Damaged { path: run.to_owned(), reason });
            };
            self.take_in(read_table(path)?.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::tree_of;
    use troupe_core::table::{rows_of, write_table};

    fn rows(step: usize) -> Vec<Row> {
        let samples = tree_of(1, 1, &["solo"], 2);
        let credits = (&[Some(step as f32), None][..], &[1.0, 0.5][..]);
        rows_of((step, |_: &str| step), &samples, credits, &[], |_| true)
    }

    fn steps(replay: &Replay, last: usize) -> Vec<Option<f32>> {
        replay.last(last).map(|past| past.credits.advantages[0]).collect()
    }

    #[test]
    fn the_last_steps_are_kept_and_are_the_same_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("table")).unwrap();
        let path = |step| folder.path().join("table").join(troupe_core::archive::table_file(step));
        let mut replay = Replay::of(3);
        for step in 1..=5 {
            write_table(&path(step), &rows(step)).unwrap();
            replay.take_in(rows(step).into());
            let mut again = Replay::of(3);
            again.load(folder.path(), step).unwrap();
            assert_eq!(again.past, replay.past, "step {step}");
        }
        assert_eq!(steps(&replay, 9), [Some(3.0), Some(4.0), Some(5.0)]);
        assert_eq!(steps(&replay, 1), [Some(5.0)]);
        assert_eq!(steps(&replay, 0), []);
        std::fs::remove_file(path(4)).unwrap();
        let error = Replay::of(3).load(folder.path(), 5).unwrap_err().to_string();
        assert!(error.contains("no table of step 4"), "{error}");
        Replay::of(0).load(folder.path(), 5).unwrap();
    }
}
