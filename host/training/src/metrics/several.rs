//! What several samples a task say together: how good one is, and how good the best of them, or
//! what most of them say.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use troupe_core::outcome::Outcome;
use troupe_core::statistics::{chance_of_one, usual_ks, wilson};

/// A mean over tasks with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskMean {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What k samples of each of some tasks say together; an episode that ended void was not solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Several {
    /// Samples a task.
    pub k: usize,
    /// Tasks.
    pub tasks: usize,
    /// avg@k: the share of samples that solve their task.
    pub avg: TaskMean,
    /// pass@j for j = 1, 2, 4, … k: the chance that one of j samples solves its task.
    pub pass: BTreeMap<usize, TaskMean>,
    /// majority@k: the share of tasks that are solved by what most of their samples answered; of
    /// those that are equally frequent, the one that came first. Only of final answers: where an
    /// episode is more than one action, the last of them is no answer, and there is no vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<TaskMean>,
    /// best@k: the highest reward among a task's samples, averaged over the tasks.
    pub best: TaskMean,
    /// The mean reward of a sample.
    pub reward: TaskMean,
}

impl Several {
    /// Of outcomes with equally many samples of each task. Intervals of shares are Wilson's over
    /// the tasks: too wide rather than too narrow, where a task has a share of its own.
    pub fn of<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Self {
        let tasks = by_task(outcomes);
        let k = tasks.iter().map(Vec::len).min().unwrap_or_default();
        let of_tasks = |of: fn(&[&Outcome]) -> f64| -> Vec<f64> {
            tasks.iter().map(|samples| of(samples)).collect()
        };
        Several {
            k,
            tasks: tasks.len(),
            avg: share(&of_tasks(average)),
            pass: pass(&tasks, k),
            majority: tasks
                .iter()
                .flatten()
                .all(|outcome| outcome.acts <= 1)
                .then(|| share(&of_tasks(most_solve))),
            best: amount(&of_tasks(|samples| {
                samples.iter().map(|outcome| outcome.reward).fold(f64::NEG_INFINITY, f64::max)
            })),
            reward: amount(&of_tasks(|samples| {
                samples.iter().map(|outcome| outcome.reward).sum::<f64>() / samples.len() as f64
            })),
        }
    }
}

/// Of each task, the share of its samples that solved it.
pub fn shares_of_tasks<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Vec<f64> {
    by_task(outcomes).iter().map(|samples| average(samples)).collect()
}

fn by_task<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Vec<Vec<&'o Outcome>> {
    let mut tasks: BTreeMap<(&str, u32), Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        tasks.entry((&outcome.family, outcome.task)).or_default().push(outcome);
    }
    tasks.into_values().collect()
}

/// What several samples a task say together, for each family on its own.
pub fn several_by_family(outcomes: &[Outcome]) -> BTreeMap<String, Several> {
    let names: BTreeSet<&String> = outcomes.iter().map(|outcome| &outcome.family).collect();
    let of_family =
        |name: &String| Several::of(outcomes.iter().filter(|outcome| outcome.family == *name));
    names.into_iter().map(|name| (name.clone(), of_family(name))).collect()
}

fn average(samples: &[&Outcome]) -> f64 {
    samples.iter().filter(|outcome| outcome.solved).count() as f64 / samples.len() as f64
}

fn pass(tasks: &[Vec<&Outcome>], k: usize) -> BTreeMap<usize, TaskMean> {
    let chance = |samples: &Vec<&Outcome>, j| {
        let solved = samples.iter().filter(|outcome| outcome.solved).count();
        chance_of_one(samples.len(), solved, j)
    };
    let at = |j| (j, share(&tasks.iter().map(|samples| chance(samples, j)).collect::<Vec<_>>()));
    usual_ks(k).into_iter().map(at).collect()
}

/// How much of the task the answer solves that is most frequent among the samples: all or
/// nothing of it, unless the same text is judged one way and the other. Samples that did nothing
/// have no say.
fn most_solve(samples: &[&Outcome]) -> f64 {
    let mut answers: Vec<(&str, usize, usize)> = Vec::new();
    for outcome in samples {
        let Some(last) = outcome.last.as_deref() else { continue };
        match answers.iter_mut().find(|(text, ..)| *text == last) {
            Some((_, count, solved)) => {
                *count += 1;
                *solved += usize::from(outcome.solved);
            }
            None => answers.push((last, 1, usize::from(outcome.solved))),
        }
    }
    let most = answers.iter().map(|(_, count, _)| *count).max();
    let voted = answers.iter().find(|(_, count, _)| Some(*count) == most);
    voted.map_or(0.0, |(_, count, solved)| *solved as f64 / *count as f64)
}

fn share(values: &[f64]) -> TaskMean {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (low, high) = wilson(mean, values.len());
    TaskMean { mean, low, high }
}

/// With the interval of a normal distribution around the mean.
fn amount(values: &[f64]) -> TaskMean {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
    TaskMean { mean, low: mean - 1.96 * error, high: mean + 1.96 * error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Answers;

    fn outcome(task: u32, sample: usize, (last, solved, reward): (&str, bool, f64)) -> Outcome {
        Outcome {
            step: None,
            split: "test".to_owned(),
            answers: Answers::Sampled,
            family: "sums".to_owned(),
            task,
            sample,
            ending: "finished".to_owned(),
            solved,
            turns: 1,
            completion_tokens: 1,
            prompt_tokens: 1,
            reward,
            last: Some(last.to_owned()),
            acts: 1,
        }
    }

    fn outcomes(tasks: &[&[(&str, bool, f64)]]) -> Vec<Outcome> {
        let of_task = |(task, samples): (usize, &&[(&str, bool, f64)])| {
            let one = |(sample, &what): (usize, &_)| outcome(task as u32, sample, what);
            samples.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        tasks.iter().enumerate().flat_map(of_task).collect()
    }

    #[test]
    fn four_samples_of_two_tasks_give_what_was_worked_out_by_hand() {
        let right = ("5", true, 1.0);
        let wrong = ("6", false, 0.0);
        let outcomes =
            outcomes(&[&[right, wrong, right, ("7", false, -1.0)], &[wrong, wrong, right, wrong]]);
        let several = Several::of(&outcomes);
        assert_eq!((several.k, several.tasks), (4, 2));
        assert!((several.avg.mean - 0.375).abs() < 1e-12);
        // 1 − C(2, 2)/C(4, 2) = 5/6 and 1 − C(3, 2)/C(4, 2) = 1/2.
        assert!((several.pass[&2].mean - (5.0 / 6.0 + 0.5) / 2.0).abs() < 1e-12, "{several:?}");
        assert_eq!(several.pass.keys().copied().collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!((several.pass[&1].mean, several.pass[&4].mean), (0.375, 1.0));
        assert_eq!((several.majority.unwrap().mean, several.best.mean), (0.5, 1.0));
        assert!((several.reward.mean - 0.25).abs() < 1e-12);
    }

    #[test]
    fn of_two_answers_as_frequent_as_each_other_the_first_counts() {
        let (right, wrong) = (("5", true, 1.0), ("6", false, 0.0));
        let majority =
            |tasks: &[&[(&str, bool, f64)]]| Several::of(&outcomes(tasks)).majority.unwrap().mean;
        assert_eq!(majority(&[&[right, wrong]]), 1.0);
        assert_eq!(majority(&[&[wrong, right]]), 0.0);
        let judged_otherwise = ("5", false, 0.0);
        assert_eq!(majority(&[&[right, judged_otherwise, judged_otherwise, right]]), 0.5);
    }

    #[test]
    fn where_an_episode_is_more_than_one_action_there_is_no_vote() {
        let mut all = outcomes(&[&[("U", true, 1.0), ("U", false, 0.0)]]);
        assert!(Several::of(&all).majority.is_some());
        all[1].acts = 3;
        assert_eq!(Several::of(&all).majority, None);
    }

    #[test]
    fn families_with_tasks_of_the_same_number_are_not_mixed_up() {
        let mut all = outcomes(&[&[("5", true, 1.0)]]);
        all.push(Outcome { family: "other".to_owned(), ..outcome(0, 0, ("6", false, 0.0)) });
        let several = Several::of(&all);
        assert_eq!((several.tasks, several.k, several.avg.mean), (2, 1, 0.5));
    }
}
