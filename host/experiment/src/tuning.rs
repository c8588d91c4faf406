//! Settings that are chosen for a row before it is made: every combination of values is trained
//! with seeds of its own, and the one that solves most validation tasks is taken.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::{ExperimentError, invalid};
use super::file::{Budget, Exam, ExperimentFile, RowEntry};
use super::folder::Folder;
use super::plan::Plan;
use super::planned::PlannedRow;
use super::results::sittings_of;
use super::row::{Row, expand};
use super::schedule::State;
use troupe_core::statistics::mean;

/// How settings are chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// The rows that they are chosen for, in each part of the table.
    pub rows: Vec<String>,
    /// The values of each setting; every combination is tried.
    pub values: BTreeMap<String, Vec<toml::Value>>,
    /// The seeds that each is tried with.
    pub seeds: Vec<u64>,
    /// What a trial may spend, if not what the row may.
    #[serde(default)]
    pub budget: Option<Budget>,
    /// The same as a share of what the row may.
    #[serde(default)]
    pub share: Option<f64>,
}

/// What was chosen for a row, and of what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The part of the table.
    pub part: String,
    /// The row.
    pub row: String,
    /// What was tried.
    pub trials: Vec<Trial>,
    /// The place of what was chosen.
    pub chosen: usize,
}

/// A combination of settings, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The settings.
    pub set: Vec<String>,
    /// The share of validation tasks that each seed solves at the end.
    pub by_seed: Vec<f64>,
    /// Their mean; nothing if a seed failed.
    pub solved: Option<f64>,
}

impl Tune {
    /// Refuse what would choose nothing, or choose by what is reported.
    pub(super) fn check(&self, file: &ExperimentFile) -> Result<(), ExperimentError> {
        if self.rows.is_empty() {
            return Err(invalid("tune.rows", "there is none; name rows that are trained"));
        }
        if file.exam.split != "test" {
            let reason = "settings are chosen by validation tasks, and with `exam.split = \"validation\"` \
                          they would be reported by these, too; leave out `tune`, or examine on \
                          `test`";
            return Err(invalid("tune", reason));
        }
        if self.values.is_empty() || self.values.values().any(Vec::is_empty) {
            let reason = "name settings with their values, such as \"train.learning_rate\" = \
                          [1e-3, 5e-4]";
            return Err(invalid("tune.values", reason));
        }
        if let Some(share) = self.share {
            if !(0.0 < share && share <= 1.0) {
                return Err(invalid(
                    "tune.share",
                    "it is a share of a row's budget, above 0 and at most 1",
                ));
            }
            if self.budget.is_some() {
                return Err(invalid("tune.share", "there is `tune.budget`, too; leave out one"));
            }
        }
        if self.seeds.is_empty() {
            return Err(invalid("tune.seeds", "there is none; name one or more, such as [11, 12]"));
        }
        match self.seeds.iter().find(|seed| file.seeds.contains(seed)) {
            None => Ok(()),
            Some(seed) => {
                let reason = format!(
                    "{seed} is one of `seeds`, too, and what was chosen by it would look better \
                     with it than it is; name others"
                );
                Err(invalid("tune.seeds", reason))
            }
        }
    }

    /// Every combination of values, as `--set` has them: the first values first.
    fn combinations(&self) -> Vec<Vec<String>> {
        self.values.iter().fold(vec![Vec::new()], |before, (key, values)| {
            let with = |sets: &Vec<String>| {
                let longer = |value| [&sets[..], &[format!("{key}={value}")]].concat();
                values.iter().map(longer).collect::<Vec<_>>()
            };
            before.iter().flat_map(with).collect()
        })
    }

    /// An experiment whose rows are the trials, and the labels of those that are wanted: trials of
    /// rows that are in `wanted`, by label.
    pub(super) fn trials(
        &self,
        file: &ExperimentFile,
        wanted: &BTreeSet<String>,
    ) -> Result<(ExperimentFile, Vec<String>), ExperimentError> {
        let mut trials = ExperimentFile {
            seeds: self.seeds.clone(),
            // Nothing is looked at but validation tasks.
            exam: Exam { tasks: 1, ..Exam::default() },
            compare: Vec::new(),
            tune: None,
            ..file.clone()
        };
        if let Some(budget) = &self.budget {
            trials.budget = budget.clone();
            trials.environments.iter_mut().for_each(|part| part.budget = None);
        }
        if let Some(share) = self.share {
            let parts = trials.environments.iter_mut().filter_map(|part| part.budget.as_mut());
            parts.chain([&mut trials.budget]).for_each(|budget| *budget = budget.part(share));
        }
        let mut rows = BTreeMap::new();
        for name in &self.rows {
            let row = file.rows.iter().find(|row| row.name == *name);
            let row = row.filter(|row| row.of.is_none() && row.combine.is_empty());
            let row = row.ok_or_else(|| {
                invalid("tune.rows", format!("there is no row `{name}` that is trained"))
            })?;
            for set in self.combinations() {
                let name = trial_name(&row.name, &set);
                rows.insert(name.clone(), row.name.clone());
                trials.rows.push(RowEntry {
                    name,
                    like: Some(row.name.clone()),
                    // Its own warm start is that of the row that it is like.
                    on: row.on.clone(),
                    set,
                    ..RowEntry::default()
                });
            }
        }
        let of_wanted = |row: &&Row| {
            rows.get(&row.name).is_some_and(|name| wanted.contains(&row.label_of(name)))
        };
        let all = expand(&trials)?;
        let labels = all.iter().filter(of_wanted).map(|row| row.label()).collect();
        Ok((trials, labels))
    }

    /// What is chosen for each row: of equals, what was tried first.
    ///
    /// Nothing is chosen for a row of which a trial is still to come, if only a table of what is
    /// there is `drawn`.
    ///
    /// # Errors
    /// If a trial is still to come, or all of a row's failed.
    pub(super) fn choose(
        &self,
        plan: &Plan,
        states: &[State],
        folder: &Folder,
        drawn: bool,
    ) -> Result<Vec<Tuned>, ExperimentError> {
        let mut parts: Vec<&String> = plan.rows.iter().map(|row| &row.row.part).collect();
        parts.dedup();
        let mut tuned = Vec::new();
        for part in parts {
            for row in &self.rows {
                let planned = |set: Vec<String>| {
                    let name = trial_name(row, &set);
                    let is_it =
                        |known: &&PlannedRow| known.row.part == *part && known.row.name == name;
                    Some((plan.rows.iter().find(is_it)?, set))
                };
                let planned: Vec<_> = self.combinations().into_iter().filter_map(planned).collect();
                let waits = |(row, _): &(&PlannedRow, _)| to_come(row, states).is_some();
                if drawn && planned.iter().any(waits) {
                    continue;
                }
                let trial = |(row, set)| trial(row, set, states, plan, folder);
                let trials: Vec<Trial> =
                    planned.into_iter().map(trial).collect::<Result<_, _>>()?;
                if !trials.is_empty() {
                    tuned.push(Tuned::of(part, row, trials)?);
                }
            }
        }
        Ok(tuned)
    }
}

/// What a trial is called: its row and its values.
fn trial_name(row: &str, set: &[String]) -> String {
    let short = |set: &String| {
        let (key, value) = set.split_once('=').unwrap_or((set, ""));
        let value: String = value.chars().filter(|c| !"[]\" ".contains(*c)).collect();
        let value = if value.is_empty() { "none".to_owned() } else { value };
        format!("{}={value}", key.rsplit('.').next().unwrap_or(key))
    };
    let values: Vec<String> = set.iter().map(short).collect();
    format!("{row} with {}", values.join(" "))
}

/// The job of a trial that is still to be done, if there is one.
fn to_come(planned: &PlannedRow, states: &[State]) -> Option<usize> {
    let is_over = |place: &usize| !matches!(states[*place], State::Waiting | State::Running);
    planned.cells.iter().filter_map(|cell| cell.last()).find(|place| !is_over(place))
}

fn trial(
    planned: &PlannedRow,
    set: Vec<String>,
    states: &[State],
    plan: &Plan,
    folder: &Folder,
) -> Result<Trial, ExperimentError> {
    if let Some(place) = to_come(planned, states) {
        let job = &plan.jobs[place];
        let reason = format!(
            "the trial with seed {} is still to come, and what is chosen decides what the table's \
             rows are; call again without --table",
            job.seed
        );
        return Err(ExperimentError::Refused { row: planned.row.label(), reason });
    }
    let sittings = sittings_of(planned, states, plan, folder)?;
    let last = sittings.iter().filter_map(|sitting| Some(sitting.curve.last()?.success));
    let by_seed: Vec<f64> = last.collect();
    let is_whole = by_seed.len() == planned.kept.len() + planned.cells.len();
    let solved = is_whole.then(|| mean(&by_seed));
    Ok(Trial { set, by_seed, solved })
}

impl Tuned {
    fn of(part: &str, row: &str, trials: Vec<Trial>) -> Result<Self, ExperimentError> {
        let figures =
            trials.iter().enumerate().filter_map(|(place, one)| Some((place, one.solved?)));
        // Of equals `max_by` takes the last one.
        let best = figures.rev().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((chosen, _)) = best else {
            let reason = "all that was tried for it failed; look into logs/ for why";
            return Err(ExperimentError::Refused {
                row: row.to_owned(),
                reason: reason.to_owned(),
            });
        };
        Ok(Tuned { part: part.to_owned(), row: row.to_owned(), trials, chosen })
    }

    /// The settings.
    pub fn set(&self) -> &[String] {
        &self.trials[self.chosen].set
    }
}
