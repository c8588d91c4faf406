//! What came of an experiment: every figure of its tables, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::ExperimentError;
use super::folder::Folder;
use super::guard::pairs;
use super::plan::{Cell, Plan, PlannedRow};
use super::row::Source;
use super::schedule::State;
use super::sitting::{Cost, Point, Sitting, chances, solved_shares};
use crate::grading::usual_ks;
use crate::outcome::{Answers, Outcome};
use crate::seed::Seed;
use crate::statistics::{Estimate, Verdict, mean};

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
    /// The rows, part by part.
    pub rows: Vec<RowResult>,
    /// The claims, in the order of the file, part by part.
    pub claims: Vec<ClaimResult>,
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
    /// The share of tasks that is solved.
    pub solved: Option<Estimate>,
    /// What training added to it.
    pub gained: Option<Estimate>,
    /// pass@k of sampled episodes, by k.
    pub pass: BTreeMap<usize, Estimate>,
    /// What training took, on average.
    pub cost: Cost,
    /// Training steps, on average.
    pub steps: f64,
    /// The way there, seed by seed.
    pub curves: Vec<Vec<Point>>,
    /// The runs, seed by seed.
    pub runs: Vec<Option<String>>,
    /// What somebody should know.
    pub notes: Vec<String>,
    /// Whether a seed of it failed.
    pub failed: bool,
    /// Whether something of it is still to be done.
    pub missing: bool,
}

/// What was found of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// The part of the table.
    pub part: String,
    /// The row that is said to be better.
    pub better: String,
    /// The row it is compared with.
    pub than: String,
    /// In words.
    pub claim: Option<String>,
    /// The difference, paired by seed and task; nothing if no seed has both.
    pub difference: Option<Estimate>,
    /// What that says.
    pub verdict: Verdict,
}

impl Results {
    /// Read what the jobs left.
    ///
    /// # Errors
    /// If a file that has to be there cannot be read.
    pub fn read(plan: &Plan, states: &[State], folder: &Folder) -> Result<Self, ExperimentError> {
        let mut rows = Vec::new();
        let mut sittings: Vec<Vec<Sitting>> = Vec::new();
        for planned in &plan.rows {
            let done = planned.cells.iter().filter(|cell| state_of(cell, states) == &State::Done);
            let own: Vec<Sitting> = done
                .map(|cell| Sitting::read(*cell, &plan.jobs, folder))
                .collect::<Result<_, _>>()?;
            rows.push(row_result(planned, &own, states, plan));
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
            claims: claims(plan, &sittings),
            rows,
        })
    }

    /// Whether a row failed.
    pub fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| row.failed)
    }
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
) -> RowResult {
    let answers = plan.file.exam.answers;
    let after = |sitting: &Sitting| values(&sitting.after, answers);
    let gained = |sitting: &Sitting| difference(&sitting.before, &sitting.after, answers);
    let trained = matches!(planned.row.source, Source::Trained);
    let samples = plan.file.exam.samples as usize;
    let pass = |k: usize| {
        let own = sittings.iter().map(|one| chances(&one.after, k).into_values().collect());
        Some((k, share(own.collect(), planned, &format!("pass@{k}"))?))
    };
    let (notes, failed, missing) = notes(planned, sittings, states, plan);
    RowResult {
        part: planned.row.part.clone(),
        name: planned.row.name.clone(),
        title: planned.row.title.clone(),
        trained,
        seeds: sittings.iter().map(|sitting| sitting.seed).collect(),
        solved: share(sittings.iter().map(after).collect(), planned, "solved"),
        gained: trained
            .then(|| signed(sittings.iter().map(gained).collect(), planned, "gained"))
            .flatten(),
        pass: usual_ks(samples).into_iter().filter_map(pass).collect(),
        cost: mean_cost(sittings),
        steps: mean(&sittings.iter().map(|sitting| sitting.steps as f64).collect::<Vec<_>>()),
        curves: sittings.iter().map(|sitting| sitting.curve.clone()).collect(),
        runs: sittings.iter().map(|sitting| sitting.run.clone()).collect(),
        notes,
        failed,
        missing,
    }
}

fn values(outcomes: &[Outcome], answers: Answers) -> Vec<f64> {
    solved_shares(outcomes, answers).into_values().collect()
}

/// What `after` has more than `before`, task by task.
fn difference(before: &[Outcome], after: &[Outcome], answers: Answers) -> Vec<f64> {
    let before = solved_shares(before, answers);
    let after = solved_shares(after, answers);
    after.iter().filter_map(|(task, share)| Some(share - before.get(task)?)).collect()
}

/// An estimate of what lies between 0 and 1; nothing without figures.
fn share(measured: Vec<Vec<f64>>, planned: &PlannedRow, what: &str) -> Option<Estimate> {
    estimate(measured, &format!("{}/{what}", planned.row.label())).map(|one| one.within(0.0, 1.0))
}

/// An estimate of what lies between −1 and 1.
fn signed(measured: Vec<Vec<f64>>, planned: &PlannedRow, what: &str) -> Option<Estimate> {
    estimate(measured, &format!("{}/{what}", planned.row.label())).map(|one| one.within(-1.0, 1.0))
}

/// Draws depend on what is estimated, not on what else is in the table.
fn estimate(measured: Vec<Vec<f64>>, what: &str) -> Option<Estimate> {
    let has_figures = !measured.is_empty() && measured.iter().all(|tasks| !tasks.is_empty());
    has_figures.then(|| Estimate::of(&measured, Seed::new(0).named("experiment").named(what)))
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

/// What somebody should know of a row; whether a seed of it failed, and whether one is missing.
fn notes(
    planned: &PlannedRow,
    sittings: &[Sitting],
    states: &[State],
    plan: &Plan,
) -> (Vec<String>, bool, bool) {
    let (mut notes, mut failed, mut missing) = (Vec::new(), false, false);
    for cell in &planned.cells {
        match state_of(cell, states) {
            State::Done => {}
            State::Failed(_) | State::Skipped => {
                failed = true;
                let cause = cell.last().and_then(|place| cause(place, states, plan));
                let cause = cause.unwrap_or_else(|| "what it needs is not there".to_owned());
                notes.push(format!("seed {} failed: {cause}", cell.seed));
            }
            State::Waiting | State::Running => {
                missing = true;
                notes.push(format!("seed {} is missing", cell.seed));
            }
        }
    }
    for sitting in sittings {
        for role in &sitting.flat {
            notes.push(format!(
                "seed {}: all groups of `{role}` were flat, so it learned nothing",
                sitting.seed
            ));
        }
    }
    notes.extend(void_note(sittings));
    (notes, failed, missing)
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
        episodes += sitting.episodes.0 + sitting.after.len();
        void += sitting.episodes.1;
        void += sitting.after.iter().filter(|outcome| outcome.ending == "void").count();
    }
    let share = void as f64 / episodes.max(1) as f64;
    (share > VOID).then(|| format!("{:.1} % of its episodes were void", 100.0 * share))
}

fn claims(plan: &Plan, sittings: &[Vec<Sitting>]) -> Vec<ClaimResult> {
    let of = |planned: &PlannedRow| {
        let same = |known: &&PlannedRow| std::ptr::eq(*known, planned);
        plan.rows.iter().zip(sittings).find(|(known, _)| same(known)).map(|(_, own)| &own[..])
    };
    let answers = plan.file.exam.answers;
    let mut results = Vec::new();
    for claim in &plan.file.compare {
        for (better, than) in pairs(claim, &plan.rows) {
            let (own, others) = (of(better).unwrap_or_default(), of(than).unwrap_or_default());
            let paired = own.iter().filter_map(|one| {
                let other = others.iter().find(|other| other.seed == one.seed)?;
                Some(difference(&other.after, &one.after, answers))
            });
            let label = format!("{} − {}", better.row.label(), than.row.label());
            let found = estimate(paired.collect(), &label).map(|one| one.within(-1.0, 1.0));
            results.push(ClaimResult {
                part: better.row.part.clone(),
                better: better.row.name.clone(),
                than: than.row.name.clone(),
                claim: claim.claim.clone(),
                verdict: Verdict::of(found.as_ref().and_then(|found| found.bootstrap)),
                difference: found,
            });
        }
    }
    results
}
