//! What training added and what it took away: which tasks were solvable before and after.
//!
//! A mean hides both. A task counts as solvable at k if one of k sampled episodes solves it.

mod crossing;
mod curve;
mod paired;
mod sets;
mod tally;

use std::collections::BTreeMap;

use serde::Serialize;

use troupe_core::outcome::Answers;

pub use crossing::Crossing;
pub use curve::{Floor, Point, change, curve};
pub use paired::{Paired, Task};
pub use sets::Figure;

/// How many tasks were solvable before, after, both times, or never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Turnover {
    /// Tasks that are in both.
    pub tasks: usize,
    /// Solvable before and after.
    pub preserved: usize,
    /// Solvable after alone.
    pub gained: usize,
    /// Solvable before alone.
    pub lost: usize,
    /// Solvable neither before nor after.
    pub never: usize,
}

impl Turnover {
    fn count(&mut self, before: bool, after: bool) {
        self.tasks += 1;
        *match (before, after) {
            (true, true) => &mut self.preserved,
            (false, true) => &mut self.gained,
            (true, false) => &mut self.lost,
            (false, false) => &mut self.never,
        } += 1;
    }

    /// Tasks gained for each task lost; nothing if none was lost.
    pub fn expansion_to_shrinkage(&self) -> Option<f64> {
        (self.lost > 0).then(|| self.gained as f64 / self.lost as f64)
    }
}

/// How hard a task is, by the share of the episodes of both sides that solve it. (By those of one
/// side alone, chance would look like learning: what went badly once goes better the next time.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difficulty {
    /// Over two thirds.
    Easy,
    /// From a third to two thirds.
    Medium,
    /// Under a third.
    Hard,
}

impl Difficulty {
    fn of(before: &[bool], after: &[bool]) -> Self {
        let solved = before.iter().chain(after).filter(|solved| **solved).count();
        let all = before.len() + after.len();
        match (3 * solved > 2 * all, 3 * solved < all) {
            (true, _) => Difficulty::Easy,
            (_, true) => Difficulty::Hard,
            _ => Difficulty::Medium,
        }
    }
}

/// Two sets of outcomes, beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How the policies answered.
    pub answers: Answers,
    /// Episodes of a task; one of them has to solve it.
    pub k: usize,
    /// Over all families.
    pub all: Turnover,
    /// By family.
    pub families: BTreeMap<String, Turnover>,
    /// By difficulty; empty if there is one episode of a task only.
    pub difficulties: BTreeMap<Difficulty, Turnover>,
}

impl Comparison {
    /// Of the tasks of both sides.
    pub fn of(paired: &Paired) -> Self {
        let mut comparison = Comparison {
            answers: paired.answers,
            k: paired.samples,
            all: Turnover::default(),
            families: BTreeMap::new(),
            difficulties: BTreeMap::new(),
        };
        for ((family, _), [before, after]) in &paired.tasks {
            let [was, is] = [before, after].map(|episodes| episodes.contains(&true));
            comparison.all.count(was, is);
            comparison.families.entry(family.clone()).or_default().count(was, is);
            if paired.samples > 1 {
                let difficulty = Difficulty::of(before, after);
                comparison.difficulties.entry(difficulty).or_default().count(was, is);
            }
        }
        comparison
    }
}

#[cfg(test)]
mod tests;
