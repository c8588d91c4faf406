//! What one seed of a row came to, read from the files that its jobs left.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::examined::Examined;
use super::folder::Folder;
use super::job::Job;
use super::planned::Cell;
use super::schedule::Failure;
use troupe_core::outcome::{Outcome, read_outcomes};
use troupe_core::storage::{StorageError, read_json};
use troupe_core::totals::{Spent, Totals};

/// What one seed of a row came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sitting {
    /// The seed.
    pub seed: u64,
    /// What came of the exam.
    pub after: Examined,
    /// The same before training, if it was trained.
    pub before: Examined,
    /// What training took; zeros if nothing was trained.
    pub cost: Cost,
    /// Training steps.
    pub steps: usize,
    /// Why its run ended itself before its time, if it did: `after` is of its last checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Training episodes, and those of them that ended void.
    pub episodes: (usize, usize),
    /// Roles that train and all of whose groups were flat from the first step to the last.
    pub flat: Vec<String>,
    /// Success on validation tasks on the way.
    pub curve: Vec<Point>,
    /// The address of its run, if that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What the training runs that its policies come from came to, its own or other rows'.
    pub trainings: Vec<Training>,
}

/// What a run came to on the test tasks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Training {
    /// The row that it is of.
    pub label: String,
    /// Before it.
    pub before: Examined,
    /// After it.
    pub after: Examined,
}

impl Training {
    fn read(job: &Job, folder: &Folder) -> Result<Self, StorageError> {
        let outcomes = read_outcomes(&folder.run(&job.address).join("outcomes.jsonl"))?;
        let last = of_test(&outcomes).filter_map(|outcome| outcome.step).max();
        let at = |step: Option<usize>| {
            let at_step = |outcome: &&Outcome| step.is_some() && outcome.step == step;
            Examined::of(of_test(&outcomes).filter(at_step))
        };
        if job.has_ended(folder) {
            let after = Examined::of(&read_outcomes(&folder.exam(&job.address))?);
            return Ok(Training { label: job.label.clone(), before: at(Some(0)), after });
        }
        let first = last.filter(|last| *last > 0).map(|_| 0);
        Ok(Training { label: job.label.clone(), before: at(first), after: at(last) })
    }
}

fn of_test(outcomes: &[Outcome]) -> impl Iterator<Item = &Outcome> {
    outcomes.iter().filter(|outcome| outcome.split == "test")
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
            if jobs[run].has_ended(folder) {
                sitting.after = Examined::of(&read_outcomes(&folder.exam(address))?);
                let failure: Failure = read_json(&folder.ended(address))?;
                // What one could do about it is too long for a table.
                sitting.ended = failure.message.split("; ").next().map(str::to_owned);
            }
        }
        for run in cell.trainings(jobs) {
            sitting.trainings.push(Training::read(&jobs[run], folder)?);
        }
        if let Some(exam) = cell.exam {
            sitting.before = Examined::default();
            sitting.after = Examined::of(&read_outcomes(&folder.exam(&jobs[exam].address))?);
        }
        Ok(sitting)
    }

    fn read_run(&mut self, run: &Path) -> Result<(), StorageError> {
        self.read_metrics(&run.join("metrics.jsonl"))?;
        let outcomes = read_outcomes(&run.join("outcomes.jsonl"))?;
        let at = |step| of_test(&outcomes).filter(move |outcome| outcome.step == Some(step));
        self.after = Examined::of(at(self.steps));
        if self.steps > 0 {
            self.before = Examined::of(at(0));
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
