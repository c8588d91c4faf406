//! What came of an experiment: every figure of its tables, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::builds::builds;
use super::claims::{ClaimResult, claims};
use super::error::ExperimentError;
use super::estimates::{ByTask, difference, share, signed};
use super::folder::Folder;
use super::plan::Plan;
use super::planned::{Cell, PlannedRow};
use super::row::Source;
use super::schedule::State;
use super::sitting::{Cost, Point, Sitting};
use super::tuning::Tuned;
use troupe_core::outcome::Answers;
use troupe_core::provenance::Build;
use troupe_core::statistics::usual_ks;
use troupe_core::statistics::{Estimate, mean};

/// Share of void episodes above which a row is marked.
const VOID: f64 = 0.01;

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What stands above the table.
    pub title: String,
    /// The seeds of every row.
    pub seeds: Vec<u64>,
    /// `512 test tasks, greedy` and the like.
    pub exam: String,
    /// Sampled episodes of each task.
    pub samples: usize,
    /// The builds of Troupe that made the runs, part by part: one, and those that made the cells
    /// that are kept.
    pub builds: BTreeMap<String, Vec<Build>>,
    /// The rows, part by part.
    pub rows: Vec<RowResult>,
    /// The claims, in the order of the file, part by part.
    pub claims: Vec<ClaimResult>,
    /// What was chosen for rows before they were made, part by part.
    pub tuned: Vec<Tuned>,
}

/// A row's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// The part of the table; empty if there is one.
    pub part: String,
    /// Its name.
    pub name: String,
    /// What stands in the table.
    pub title: String,
    /// Whether it was trained.
    pub trained: bool,
    /// The seeds that have figures.
    pub seeds: Vec<u64>,
    /// The share of tasks that each of them solves.
    pub by_seed: Vec<f64>,
    /// The share of tasks that is solved; nothing if a seed failed, for those that did not are no
    /// sample of all.
    pub solved: Option<Estimate>,
    /// What training added to it; nothing if a seed failed.
    pub gained: Option<Estimate>,
    /// pass@k of sampled episodes, by k; nothing if a seed failed.
    pub pass: BTreeMap<usize, Estimate>,
    /// What training took, on average; nothing if a seed failed.
    pub cost: Cost,
    /// Training steps, on average.
    pub steps: f64,
    /// The way there, seed by seed.
    pub curves: Vec<Vec<Point>>,
    /// The runs, seed by seed.
    pub runs: Vec<Option<String>>,
    /// Warnings.
    pub notes: Vec<String>,
    /// Whether a seed of it failed.
    pub failed: bool,
    /// Whether something of it is still to be done.
    pub missing: bool,
}

impl Results {
    /// Read what the jobs left.
    ///
    /// # Errors
    /// If a file that has to be there cannot be read, or the runs of a part are of several builds.
    pub fn read(plan: &Plan, states: &[State], folder: &Folder) -> Result<Self, ExperimentError> {
        let mut rows = Vec::new();
        let mut sittings: Vec<Vec<Sitting>> = Vec::new();
        for planned in &plan.rows {
            let own = sittings_of(planned, states, plan, folder)?;
            rows.push(row_result(planned, &own, states, plan)?);
            sittings.push(own);
        }
        let exam = &plan.file.exam;
        let answers = match exam.answers {
            Answers::Greedy => "the likeliest answers".to_owned(),
            Answers::Sampled => format!("{} sampled episodes each", exam.samples),
        };
        let title = plan.file.title.clone();
        Ok(Results {
            title: title.unwrap_or_else(|| "Experiment".to_owned()),
            seeds: plan.file.seeds.clone(),
            exam: format!("{} tasks of the {} split, {answers}", exam.tasks, exam.split),
            samples: exam.samples as usize,
            builds: builds(plan, states, folder)?,
            claims: claims(plan, &rows, &sittings)?,
            tuned: plan.file.chosen.clone(),
            rows,
        })
    }

    /// Whether a row failed.
    pub fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| row.failed)
    }
}

/// What the seeds of a row came to, in the order of the file.
pub(super) fn sittings_of(
    planned: &PlannedRow,
    states: &[State],
    plan: &Plan,
    folder: &Folder,
) -> Result<Vec<Sitting>, ExperimentError> {
    let mut sittings: Vec<Sitting> = planned.kept.iter().map(|cell| cell.sitting.clone()).collect();
    for cell in &planned.cells {
        if state_of(cell, states) == &State::Done {
            sittings.push(Sitting::read(*cell, &plan.jobs, folder)?);
        }
    }
    let place = |seed: u64| plan.file.seeds.iter().position(|known| *known == seed);
    sittings.sort_by_key(|sitting| place(sitting.seed));
    Ok(sittings)
}

/// The state of all that a cell needs: that of its last job, unless an earlier one failed.
fn state_of<'s>(cell: &Cell, states: &'s [State]) -> &'s State {
    cell.last().map_or(&State::Skipped, |place| &states[place])
}

fn row_result(
    planned: &PlannedRow,
    sittings: &[Sitting],
    states: &[State],
    plan: &Plan,
) -> Result<RowResult, ExperimentError> {
    let answers = planned.row.answers;
    let (notes, failed, missing) = notes(planned, sittings, states, plan);
    let trained = matches!(planned.row.source, Source::Trained);
    let label = planned.row.label();
    let counted = if failed { &[] } else { sittings };
    let figures = |of: &dyn Fn(&Sitting) -> ByTask| -> Vec<(u64, ByTask)> {
        counted.iter().map(|sitting| (sitting.seed, of(sitting))).collect()
    };
    let solved = |sitting: &Sitting| sitting.after.solved_shares(answers);
    let gained = |sitting: &Sitting| match trained {
        true => difference(&sitting.before.solved_shares(answers), solved(sitting)),
        false => ByTask::new(),
    };
    let mut pass = BTreeMap::new();
    for k in usual_ks(plan.file.exam.samples as usize) {
        let found = share(figures(&|sitting| sitting.after.chances(k)), &label)?;
        pass.extend(found.map(|found| (k, found)));
    }
    let by_seed = |sitting: &Sitting| mean(&solved(sitting).into_values().collect::<Vec<_>>());
    Ok(RowResult {
        part: planned.row.part.clone(),
        name: planned.row.name.clone(),
        title: planned.row.title.clone(),
        trained,
        seeds: sittings.iter().map(|sitting| sitting.seed).collect(),
        by_seed: sittings.iter().map(by_seed).collect(),
        solved: share(figures(&solved), &label)?,
        gained: signed(figures(&gained), &label)?,
        pass,
        cost: mean_cost(counted),
        steps: mean(&counted.iter().map(|sitting| sitting.steps as f64).collect::<Vec<_>>()),
        curves: sittings.iter().map(|sitting| sitting.curve.clone()).collect(),
        runs: sittings.iter().map(|sitting| sitting.run.clone()).collect(),
        notes,
        failed,
        missing,
    })
}

fn mean_cost(sittings: &[Sitting]) -> Cost {
    let of = |what: fn(&Cost) -> f64| {
        mean(&sittings.iter().map(|sitting| what(&sitting.cost)).collect::<Vec<_>>())
    };
    Cost {
        samples: of(|cost| cost.samples),
        completion_tokens: of(|cost| cost.completion_tokens),
        prompt_tokens: of(|cost| cost.prompt_tokens),
        acts: of(|cost| cost.acts),
        seconds: of(|cost| cost.seconds),
        cpu_seconds: of(|cost| cost.cpu_seconds),
    }
}

/// Warnings about a row; whether one of its seeds failed, and whether one is missing.
fn notes(
    planned: &PlannedRow,
    sittings: &[Sitting],
    states: &[State],
    plan: &Plan,
) -> (Vec<String>, bool, bool) {
    let (mut notes, mut failed, mut missing) = (Vec::new(), false, Vec::new());
    if planned.row.answers != plan.file.exam.answers {
        let which = match planned.row.answers {
            Answers::Greedy => "the likeliest",
            Answers::Sampled => "sampled",
        };
        notes.push(format!("of {which} answers"));
    }
    for cell in &planned.cells {
        match state_of(cell, states) {
            State::Done => {}
            State::Failed(_) | State::Skipped => {
                failed = true;
                let cause = cell.last().and_then(|place| cause(place, states, plan));
                let cause = cause.unwrap_or_else(|| "what it needs is not there".to_owned());
                notes.push(format!("seed {} failed: {cause}", cell.seed));
            }
            State::Waiting | State::Running => missing.push(cell.seed),
        }
    }
    let none = planned.kept.is_empty() && missing.len() == planned.cells.len();
    notes.extend(named(&missing).map(|(seeds, are)| match none {
        true => "not run yet".to_owned(),
        false => format!("{seeds} {are} missing"),
    }));
    for sitting in sittings {
        let ended = sitting.ended.iter().map(|why| {
            format!(
                "seed {}: ended after step {}, and examined as it was: {why}",
                sitting.seed, sitting.steps
            )
        });
        notes.extend(ended);
        for role in &sitting.flat {
            notes.push(format!(
                "seed {}: all groups of `{role}` were flat, so it learned nothing",
                sitting.seed
            ));
        }
    }
    notes.extend(void_note(sittings));
    (notes, failed, !missing.is_empty())
}

/// "seed 1" and "is", or "seeds 1, 3 to 9" and "are"; nothing of none.
pub(super) fn named(seeds: &[u64]) -> Option<(String, &'static str)> {
    let said = |run: &[u64]| match run {
        [first, _, .., last] => format!("{first} to {last}"),
        few => few.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let runs: Vec<String> =
        seeds.chunk_by(|one, next| one.checked_add(1) == Some(*next)).map(said).collect();
    match seeds {
        [] => None,
        [one] => Some((format!("seed {one}"), "is")),
        _ => Some((format!("seeds {}", runs.join(", ")), "are")),
    }
}

/// The failure that a job failed by: its own, or that of what it needs.
fn cause(place: usize, states: &[State], plan: &Plan) -> Option<String> {
    if let State::Failed(failure) = &states[place] {
        let code = failure.code.map_or(String::new(), |code| format!(" (exit code {code})"));
        // What one could do about it is in the log of the run, and too long for a table.
        let what = failure.message.split("; ").next().unwrap_or_default();
        return Some(format!("{what}{code}"));
    }
    plan.jobs[place].needs.iter().find_map(|&need| cause(need, states, plan))
}

fn void_note(sittings: &[Sitting]) -> Option<String> {
    let (mut episodes, mut void) = (0, 0);
    for sitting in sittings {
        let examined = sitting.after.episodes();
        episodes += sitting.episodes.0 + examined.0;
        void += sitting.episodes.1 + examined.1;
    }
    let share = void as f64 / episodes.max(1) as f64;
    (share > VOID).then(|| format!("{:.1} % of its episodes were void", 100.0 * share))
}
