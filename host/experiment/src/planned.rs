//! The rows of a table that are asked for, with what their configurations resolve to.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{ExperimentError, invalid};
use super::file::{Exam, ExperimentFile};
use super::job::{Job, Loaded, Work};
use super::kept::KeptCell;
use super::row::{Row, Source};
use super::setup::{Program, WarmStart, resolve};
use troupe_core::config::Config;
use troupe_core::error::suggestion;
use troupe_core::parallel;

/// A row with all that is known of it beforehand.
#[derive(Debug)]
pub struct PlannedRow {
    /// The row.
    pub row: Row,
    /// The configuration it is trained with, or examined with if it is not.
    pub config: Config,
    /// The configuration it is examined with.
    pub exam_config: Config,
    /// The configurations of what other rows make for it, by row: its warm start, and policies
    /// that it is put together of.
    pub lenders: BTreeMap<String, Config>,
    /// For each seed whose figures are not kept, where they come from.
    pub cells: Vec<Cell>,
    /// What is kept of the others.
    pub kept: Vec<KeptCell>,
}

impl AsRef<Row> for PlannedRow {
    fn as_ref(&self) -> &Row {
        &self.row
    }
}

/// Where the figures of a row's seed come from: places of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The seed.
    pub seed: u64,
    /// The run that trained the policies.
    pub run: Option<usize>,
    /// The exam; nothing if the run examined itself.
    pub exam: Option<usize>,
}

impl Cell {
    /// The last job of all that it needs.
    pub fn last(&self) -> Option<usize> {
        self.exam.or(self.run)
    }

    /// The runs whose policies it examines: one, or one for each row that it is put together of.
    pub fn trainings(&self, jobs: &[Job]) -> Vec<usize> {
        let is_run = |place: &usize| matches!(jobs[*place].work, Work::Train { .. });
        let needed = self.exam.filter(|_| self.run.is_none()).map(|exam| &jobs[exam].needs);
        let needed = needed.into_iter().flatten().copied().filter(is_run);
        self.run.into_iter().chain(needed).collect()
    }
}

/// What rows resolve to.
///
/// # Errors
/// If `host train` refuses one's configuration.
pub(super) fn plan_rows(
    rows: Vec<Row>,
    file: &ExperimentFile,
    program: &Program,
    jobs: usize,
) -> Result<Vec<PlannedRow>, ExperimentError> {
    let configs = resolve_all(&rows, &file.exam, program, jobs)?;
    let all: Vec<(Row, Config)> = rows.into_iter().zip(configs).collect();
    let plan = |(row, config): &(Row, Config)| {
        Ok(PlannedRow {
            exam_config: with_sets(row, config)?,
            lenders: lenders(row, &all, file.warm.is_shared()),
            row: row.clone(),
            config: config.clone(),
            cells: Vec::new(),
            kept: Vec::new(),
        })
    };
    all.iter().map(plan).collect()
}

/// The configurations of what other rows make for one, by row.
fn lenders(row: &Row, all: &[(Row, Config)], shares: bool) -> BTreeMap<String, Config> {
    let of = |name: &String| {
        let is_it = |(other, _): &&(Row, Config)| other.part == row.part && other.name == *name;
        all.iter().find(is_it).map(|(_, config)| config)
    };
    let mut lenders = BTreeMap::new();
    if shares && row.warm != row.name {
        let start = of(&row.warm).and_then(WarmStart::of);
        lenders.extend(start.map(|start| (row.warm.clone(), start.config)));
    }
    if let Source::Combined(parts) = &row.source {
        let part = |name: &String| Some((name.clone(), of(name)?.clone()));
        lenders.extend(parts.values().filter_map(part));
    }
    lenders
}

/// The labels of the rows that are asked for: by name, by part, or by both.
pub(super) fn wanted(rows: &[Row], only: &[String]) -> Result<BTreeSet<String>, ExperimentError> {
    let is = |row: &Row, name: &String| [&row.name, &row.part, &row.label()].contains(&name);
    if let Some(unknown) = only.iter().find(|name| !rows.iter().any(|row| is(row, name))) {
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let hint = suggestion(unknown, names);
        return Err(invalid("--only", format!("there is no row `{unknown}`{hint}")));
    }
    let is_wanted = |row: &&Row| only.is_empty() || only.iter().any(|name| is(row, name));
    Ok(rows.iter().filter(is_wanted).map(Row::label).collect())
}

/// Those rows, and those that are trained for them: whose policies they have, or are put together
/// of.
pub(super) fn trained_for(rows: &[Row], wanted: &BTreeSet<String>) -> BTreeSet<String> {
    let asked = rows.iter().filter(|row| wanted.contains(&row.label()));
    let sources = asked.flat_map(|row| sources_of(row).into_iter().map(|name| row.label_of(name)));
    wanted.iter().cloned().chain(sources).collect()
}

/// The rows whose runs a row takes policies of.
fn sources_of(row: &Row) -> Vec<&String> {
    match &row.source {
        Source::Of(other) => vec![other],
        Source::Combined(parts) => parts.values().collect(),
        Source::Trained | Source::Prompted => Vec::new(),
    }
}

/// Those rows, and those that they take something of.
pub(super) fn needed(rows: Vec<Row>, wanted: &BTreeSet<String>) -> Vec<Row> {
    let mut needed = wanted.clone();
    let mut pending: Vec<&Row> = rows.iter().filter(|row| wanted.contains(&row.label())).collect();
    while let Some(row) = pending.pop() {
        let sources = sources_of(row);
        let gives = |other: &&Row| {
            other.part == row.part && (other.name == row.warm || sources.contains(&&other.name))
        };
        pending.extend(rows.iter().filter(gives).filter(|other| needed.insert(other.label())));
    }
    rows.into_iter().filter(|row| needed.contains(&row.label())).collect()
}

/// What is only examined is what training would begin with: it has been taught what the policies
/// of trained rows are taught before.
pub(super) fn check_taught(planned: &PlannedRow, loaded: &[Loaded]) -> Result<(), ExperimentError> {
    let config = &planned.config;
    let is_taught = |name: &&String| {
        let knows_nothing = config.imitation.pretrained || config.is_random(name);
        knows_nothing && config.trains(name) && !config.is_critic(name)
    };
    let is_loaded = |name: &String| loaded.iter().any(|known| known.policy == *name);
    let mut taught = config.policies.keys().filter(|_| config.imitation.enabled).filter(is_taught);
    let Some(name) = taught.find(|name| !is_loaded(name)) else { return Ok(()) };
    Err(ExperimentError::Refused {
        row: planned.row.label(),
        reason: format!(
            "it is only examined, and `{name}` would be so before it has imitated the expert, as \
             policies that are trained do first; to examine it as it is, set \
             \"imitation.enabled=false\" in the row"
        ),
    })
}

/// Rows that are trained as another is have its configuration.
fn resolve_all(
    rows: &[Row],
    exam: &Exam,
    program: &Program,
    jobs: usize,
) -> Result<Vec<Config>, ExperimentError> {
    let of = |row: &Row| match &row.source {
        Source::Of(other) => {
            rows.iter().position(|known| known.part == row.part && known.name == *other)
        }
        _ => None,
    };
    let own: Vec<usize> = (0..rows.len()).filter(|&place| of(&rows[place]).is_none()).collect();
    let asked: Vec<&Row> = own.iter().map(|&place| &rows[place]).collect();
    let shares = asked.chunks(asked.len().div_ceil(jobs).max(1));
    let resolved = parallel::try_in_order(jobs, shares, |share| resolve(share, exam, program))?;
    let known: BTreeMap<usize, Config> =
        own.into_iter().zip(resolved.into_iter().flatten()).collect();
    let config = |(place, row)| known[&of(row).unwrap_or(place)].clone();
    Ok(rows.iter().enumerate().map(config).collect())
}

fn with_sets(row: &Row, config: &Config) -> Result<Config, ExperimentError> {
    let mut changed = config.clone();
    for set in &row.exam_sets {
        changed = changed.with(set).map_err(|error| ExperimentError::Refused {
            row: row.label(),
            reason: format!("exam_set: {error}"),
        })?;
    }
    Ok(changed)
}
