//! What training added and what it took away: which tasks were solvable before and after.
//!
//! A mean hides both. A task counts as solvable at k if one of k sampled episodes solves it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use troupe_core::outcome::{Answers, Outcome};

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
    /// Of outcomes before and after; of sampled ones where both have several of each task, else
    /// of the likeliest answers. `samples` limits how many episodes of a task count. Nothing if
    /// they have no task in common.
    pub fn of(before: &[Outcome], after: &[Outcome], samples: Option<usize>) -> Option<Self> {
        let sampled = [before, after].map(|side| by_task(side, Answers::Sampled));
        let greedy = [before, after].map(|side| by_task(side, Answers::Greedy));
        let in_both =
            |[before, after]: &[Episodes; 2]| before.keys().any(|task| after.contains_key(task));
        let several = fewest(&sampled).min(samples.unwrap_or(usize::MAX));
        let use_greedy = in_both(&greedy) && several < 2;
        let (answers, k, sides) = match use_greedy {
            true => (Answers::Greedy, 1, greedy),
            false => (Answers::Sampled, several, sampled),
        };
        let [before, after] = &sides;
        let all = Turnover::default();
        let (families, difficulties) = (BTreeMap::new(), BTreeMap::new());
        let mut comparison = Comparison { answers, k, all, families, difficulties };
        for (task, episodes) in before {
            let Some(others) = after.get(task) else { continue };
            let [episodes, others] = [episodes, others].map(|list| &list[..k.min(list.len())]);
            let [was, is] = [episodes, others].map(|list| list.contains(&true));
            comparison.all.count(was, is);
            comparison.families.entry(task.0.clone()).or_default().count(was, is);
            if k > 1 {
                let difficulty = Difficulty::of(episodes, others);
                comparison.difficulties.entry(difficulty).or_default().count(was, is);
            }
        }
        (comparison.all.tasks > 0).then_some(comparison)
    }
}

/// Whether each episode of a task solved it, by family and task.
type Episodes = BTreeMap<(String, u32), Vec<bool>>;

fn by_task(outcomes: &[Outcome], answers: Answers) -> Episodes {
    let mut own: Vec<&Outcome> =
        outcomes.iter().filter(|outcome| outcome.answers == answers).collect();
    own.sort_by_key(|outcome| outcome.sample);
    let mut episodes = Episodes::new();
    for outcome in own {
        let task = (outcome.family.clone(), outcome.task);
        episodes.entry(task).or_default().push(outcome.solved);
    }
    episodes
}

/// The fewest episodes that a task has which is on both sides; 0 if there is none.
fn fewest([before, after]: &[Episodes; 2]) -> usize {
    let common: BTreeSet<_> = before.keys().filter(|task| after.contains_key(task)).collect();
    let count = |task| before[task].len().min(after[task].len());
    common.into_iter().map(count).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(family: &str, task: u32, sample: usize, solved: bool) -> Outcome {
        Outcome {
            step: None,
            split: "test".to_owned(),
            answers: Answers::Sampled,
            family: family.to_owned(),
            task,
            sample,
            ending: if solved { "solved" } else { "failed" }.to_owned(),
            solved,
            turns: 1,
            completion_tokens: 1,
            prompt_tokens: 1,
            reward: 0.0,
            last: None,
            acts: 0,
        }
    }

    /// Two episodes of each task.
    fn side(solved: [[bool; 2]; 4]) -> Vec<Outcome> {
        let of = |task: usize| {
            let family = if task < 2 { "maze" } else { "sums" };
            (0..2).map(move |sample| outcome(family, task as u32, sample, solved[task][sample]))
        };
        (0..4).flat_map(of).collect()
    }

    #[test]
    fn four_tasks_of_two_families_fall_into_the_four_sets() {
        let (yes, no, once) = ([true, true], [false, false], [false, true]);
        let before = side([yes, no, once, no]);
        let after = side([once, once, no, no]);
        let found = Comparison::of(&before, &after, None).unwrap();
        assert_eq!((found.k, found.answers), (2, Answers::Sampled));
        let expected = Turnover { tasks: 4, preserved: 1, gained: 1, lost: 1, never: 1 };
        assert_eq!((found.all, found.all.expansion_to_shrinkage()), (expected, Some(1.0)));
        let sums = Turnover { tasks: 2, lost: 1, never: 1, ..Turnover::default() };
        assert_eq!(found.families["sums"], sums);
        let easy = Turnover { tasks: 1, preserved: 1, ..Turnover::default() };
        let hard = Turnover { tasks: 3, gained: 1, lost: 1, never: 1, ..Turnover::default() };
        assert_eq!(
            found.difficulties,
            BTreeMap::from([(Difficulty::Easy, easy), (Difficulty::Hard, hard)])
        );
        // The first episode alone.
        let found = Comparison::of(&before, &after, Some(1)).unwrap();
        assert!(found.difficulties.is_empty());
        assert_eq!((found.k, found.all.lost, found.all.never), (1, 1, 3));
    }

    #[test]
    fn a_task_is_as_hard_as_both_sides_find_it() {
        let of = |solved: usize| {
            let episodes: Vec<bool> = (0..6).map(|place| place < solved).collect();
            // What either side does does not matter, only what both do.
            let turned: Vec<bool> = episodes.iter().rev().copied().collect();
            let both = [&episodes, &turned].map(|list| Difficulty::of(&list[..3], &list[3..]));
            assert_eq!(both[0], both[1]);
            both[0]
        };
        assert_eq!([0, 1].map(of), [Difficulty::Hard; 2]);
        assert_eq!([2, 3, 4].map(of), [Difficulty::Medium; 3]);
        assert_eq!([5, 6].map(of), [Difficulty::Easy; 2]);
    }

    #[test]
    fn tasks_of_one_side_alone_are_not_compared() {
        let both = [outcome("maze", 0, 0, true), outcome("maze", 1, 0, true)];
        let found = Comparison::of(&both, &both[1..], None).unwrap();
        assert_eq!((found.all.tasks, found.all.preserved), (1, 1));
        let other = [outcome("sums", 1, 0, true)];
        assert_eq!(Comparison::of(&both, &other, None), None);
    }
}
