//! The tasks that both sides were examined on, with equally many episodes of each.

use std::collections::BTreeMap;

use troupe_core::outcome::{Answers, Outcome};

/// A task: its family, and its number in the split.
pub type Task = (String, u32);

/// Whether each episode of a task solved it, in the order of their numbers.
type Episodes = BTreeMap<Task, Vec<bool>>;

/// Two sets of outcomes of the same tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// How the policies answered.
    pub answers: Answers,
    /// Episodes of each task on each side.
    pub samples: usize,
    /// Which of them solved it, before and after.
    pub tasks: BTreeMap<Task, [Vec<bool>; 2]>,
}

impl Paired {
    /// Of outcomes before and after; of sampled ones where both have several of each task, else
    /// of the likeliest answers. `most` limits how many episodes of a task count. Nothing if
    /// they have no task in common.
    pub fn of(before: &[Outcome], after: &[Outcome], most: Option<usize>) -> Option<Self> {
        let sampled = [before, after].map(|side| by_task(side, Answers::Sampled));
        let greedy = [before, after].map(|side| by_task(side, Answers::Greedy));
        let in_both =
            |[before, after]: &[Episodes; 2]| before.keys().any(|task| after.contains_key(task));
        let several = fewest(&sampled).min(most.unwrap_or(usize::MAX));
        let use_greedy = in_both(&greedy) && several < 2;
        let (answers, samples, [before, mut after]) = match use_greedy {
            true => (Answers::Greedy, 1, greedy),
            false => (Answers::Sampled, several, sampled),
        };
        let pair = |(task, was): (Task, Vec<bool>)| {
            let is = after.remove(&task)?;
            Some((task, [was, is]))
        };
        let tasks = before.into_iter().filter_map(pair).collect();
        let mut paired = Paired { answers, samples, tasks };
        paired.cut(samples);
        (!paired.tasks.is_empty()).then_some(paired)
    }

    /// Let only so many episodes of a task count.
    pub fn cut(&mut self, samples: usize) {
        self.samples = self.samples.min(samples);
        for episodes in self.tasks.values_mut().flatten() {
            episodes.truncate(self.samples);
        }
    }

    /// The first task that these have and others have not.
    pub fn without<'t>(&'t self, others: &Paired) -> Option<&'t Task> {
        self.tasks.keys().find(|task| !others.tasks.contains_key(*task))
    }
}

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
    let count = |(task, was): (&Task, &Vec<bool>)| Some(was.len().min(after.get(task)?.len()));
    before.iter().filter_map(count).min().unwrap_or(0)
}
