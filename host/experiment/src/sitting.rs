//! What one seed of a row came to, read from the files that its jobs left.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::job::Job;
use super::plan::Cell;
use troupe_core::outcome::{Answers, Outcome, read_outcomes};
use troupe_core::statistics::chance_of_one;
use troupe_core::storage::StorageError;
use troupe_core::totals::{Spent, Totals};

/// What one seed of a row came to.
#[derive(Clone, Debug, Default)]
pub struct Sitting {
    /// The seed.
    pub seed: u64,
    /// What became of the exam's episodes.
    pub after: Vec<Outcome>,
    /// The same before training, if it was trained.
    pub before: Vec<Outcome>,
    /// What training took; zeros if nothing was trained.
    pub cost: Cost,
    /// Training steps.
    pub steps: usize,
    /// Training episodes, and those of them that ended void.
    pub episodes: (usize, usize),
    /// Roles that train and all of whose groups were flat from the first step to the last.
    pub flat: Vec<String>,
    /// Success on validation tasks on the way.
    pub curve: Vec<Point>,
    /// The address of its run, if there is one.
    pub run: Option<String>,
    /// What the training runs that its policies come from came to, its own or other rows'.
    pub trainings: Vec<Training>,
}

/// What a run came to on the test tasks.
#[derive(Clone, Debug, Default)]
pub struct Training {
    /// The row that it is of.
    pub label: String,
    /// Before it.
    pub before: Vec<Outcome>,
    /// After it.
    pub after: Vec<Outcome>,
}

impl Training {
    fn read(job: &Job, folder: &Folder) -> Result<Self, StorageError> {
        let outcomes = read_outcomes(&folder.run(&job.address).join("outcomes.jsonl"))?;
        let of_test: Vec<Outcome> =
            outcomes.into_iter().filter(|outcome| outcome.split == "test").collect();
        let last = of_test.iter().filter_map(|outcome| outcome.step).max();
        let at = |step| of_test.iter().filter(move |one| one.step == step).cloned().collect();
        let before = if last > Some(0) { at(Some(0)) } else { Vec::new() };
        let after = if last.is_some() { at(last) } else { Vec::new() };
        Ok(Training { label: job.label.clone(), before, after })
    }
}

/// What training took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Answers drawn.
    pub samples: f64,
    /// Their tokens.
    pub completion_tokens: f64,
    /// Tokens of prompts.
    pub prompt_tokens: f64,
    /// Calls of `act`.
    pub acts: f64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Processor seconds.
    pub cpu_seconds: f64,
}

/// Success after so much was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Completion tokens.
    pub completion_tokens: f64,
    /// Processor seconds.
    pub cpu_seconds: f64,
    /// Greedy success on validation tasks.
    pub success: f64,
}

/// What is read of a line of `metrics.jsonl`.
#[derive(Deserialize)]
struct ExamLine {
    step: usize,
    episodes: usize,
    #[serde(default)]
    void: BTreeMap<String, usize>,
    #[serde(default)]
    roles: BTreeMap<String, Role>,
    totals: Totals,
    timing: ExamTiming,
    validation: Option<HeldOut>,
}

#[derive(Deserialize)]
struct Role {
    groups: Option<Groups>,
}

#[derive(Deserialize)]
struct Groups {
    groups: usize,
    spread: f64,
}

#[derive(Deserialize)]
struct ExamTiming {
    totals: Spent,
}

#[derive(Deserialize)]
struct HeldOut {
    greedy: Success,
}

#[derive(Deserialize)]
struct Success {
    success: f64,
}

impl Sitting {
    /// The result of a cell whose jobs are done.
    ///
    /// # Errors
    /// If what they left cannot be read.
    pub fn read(cell: Cell, jobs: &[Job], folder: &Folder) -> Result<Self, StorageError> {
        let mut sitting = Sitting { seed: cell.seed, ..Sitting::default() };
        if let Some(run) = cell.run {
            let address = &jobs[run].address;
            sitting.run = Some(address.clone());
            sitting.read_run(&folder.run(address))?;
        }
        for run in cell.trainings(jobs) {
            sitting.trainings.push(Training::read(&jobs[run], folder)?);
        }
        if let Some(exam) = cell.exam {
            sitting.before.clear();
            sitting.after = read_outcomes(&folder.exam(&jobs[exam].address))?;
        }
        Ok(sitting)
    }

    fn read_run(&mut self, run: &Path) -> Result<(), StorageError> {
        self.read_metrics(&run.join("metrics.jsonl"))?;
        let outcomes = read_outcomes(&run.join("outcomes.jsonl"))?;
        let of_test = outcomes.into_iter().filter(|outcome| outcome.split == "test");
        for outcome in of_test {
            match outcome.step {
                Some(0) if self.steps > 0 => self.before.push(outcome),
                Some(step) if step == self.steps => self.after.push(outcome),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_metrics(&mut self, path: &Path) -> Result<(), StorageError> {
        let text = std::fs::read_to_string(path).map_err(StorageError::io("read", path))?;
        let mut spread: BTreeMap<String, f64> = BTreeMap::new();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        for (index, line) in whole.enumerate() {
            let line: ExamLine =
                serde_json::from_str(line).map_err(|error| StorageError::Damaged {
                    path: path.to_owned(),
                    reason: format!("line {} is no metrics of a step ({error})", index + 1),
                })?;
            self.steps = line.step;
            self.episodes.0 += line.episodes;
            self.episodes.1 += line.void.values().sum::<usize>();
            for (role, metrics) in line.roles {
                let groups = metrics.groups.filter(|groups| groups.groups > 0);
                groups.into_iter().for_each(|groups| {
                    *spread.entry(role.clone()).or_default() += groups.spread;
                });
            }
            self.cost = Cost {
                samples: line.totals.samples as f64,
                completion_tokens: line.totals.completion_tokens as f64,
                prompt_tokens: line.totals.prompt_tokens as f64,
                acts: line.totals.acts as f64,
                seconds: line.timing.totals.seconds,
                cpu_seconds: line.timing.totals.cpu_seconds,
            };
            self.curve.extend(line.validation.map(|validation| Point {
                completion_tokens: self.cost.completion_tokens,
                cpu_seconds: self.cost.cpu_seconds,
                success: validation.greedy.success,
            }));
        }
        self.flat =
            spread.into_iter().filter(|(_, spread)| *spread == 0.0).map(|(role, _)| role).collect();
        Ok(())
    }
}

/// The share of a task's episodes that solve it, by task.
pub fn solved_shares(outcomes: &[Outcome], answers: Answers) -> BTreeMap<(String, u32), f64> {
    tallies(outcomes, answers)
        .into_iter()
        .map(|(task, (solved, all))| (task, solved as f64 / all as f64))
        .collect()
}

/// The chance that one of k sampled episodes of a task solves it, by task.
pub fn chances(outcomes: &[Outcome], k: usize) -> BTreeMap<(String, u32), f64> {
    tallies(outcomes, Answers::Sampled)
        .into_iter()
        .filter(|(_, (_, all))| *all >= k)
        .map(|(task, (solved, all))| (task, chance_of_one(all, solved, k)))
        .collect()
}

/// Episodes that solved their task, and all of it, by task.
fn tallies(outcomes: &[Outcome], answers: Answers) -> BTreeMap<(String, u32), (usize, usize)> {
    let mut tallies: BTreeMap<(String, u32), (usize, usize)> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.answers == answers) {
        let (solved, all) = tallies.entry((outcome.family.clone(), outcome.task)).or_default();
        *solved += usize::from(outcome.solved);
        *all += 1;
    }
    tallies
}
