//! What was found of the claims of an experiment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::ExperimentError;
use super::estimates::{ByTask, difference, signed};
use super::file::Claim;
use super::guard::pairs;
use super::plan::Plan;
use super::planned::PlannedRow;
use super::results::{RowResult, named};
use super::sitting::Sitting;
use troupe_core::statistics::{Estimate, Verdict, holm};

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
    /// The claims among which it is one of several, and for whose number it is corrected.
    pub family: String,
    /// The difference, paired by seed and task, of the seeds that both rows have; nothing if one
    /// failed.
    pub difference: Option<Estimate>,
    /// The chance of such a difference if there is none, corrected for the family.
    pub chance: Option<f64>,
    /// The margin within which a difference is negligible, if the file says one.
    pub margin: Option<f64>,
    /// The chance of such a difference if the true one is not within the margin, corrected.
    pub outside: Option<f64>,
    /// What that says.
    pub verdict: Verdict,
    /// What has to be said with it.
    pub remarks: Vec<String>,
}

impl ClaimResult {
    /// The verdict with all that has to be said with it.
    pub fn said(&self) -> String {
        let words = [self.verdict.words().to_owned()];
        words.iter().chain(&self.remarks).cloned().collect::<Vec<_>>().join("; ")
    }
}

/// A claim in one part of the table, with what is known of its rows.
struct Side<'a> {
    planned: &'a PlannedRow,
    result: &'a RowResult,
    sittings: &'a [Sitting],
}

impl Side<'_> {
    /// How often its tasks were solved, by the answers that its figures are of.
    fn solved(&self, sitting: &Sitting) -> ByTask {
        sitting.after.solved_shares(self.planned.row.answers)
    }
}

/// What was found of all claims, in the order of the file, part by part.
pub(super) fn claims(
    plan: &Plan,
    rows: &[RowResult],
    sittings: &[Vec<Sitting>],
) -> Result<Vec<ClaimResult>, ExperimentError> {
    let of = |planned: &PlannedRow| {
        let place = plan.rows.iter().position(|known| std::ptr::eq(known, planned))?;
        let planned = &plan.rows[place];
        Some(Side { planned, result: &rows[place], sittings: &sittings[place] })
    };
    let mut results = Vec::new();
    for claim in &plan.file.compare {
        for (better, than) in pairs(claim, &plan.rows) {
            if let (Some(better), Some(than)) = (of(better), of(than)) {
                results.push(found(claim, plan, &better, &than)?);
            }
        }
    }
    judge(&mut results, &plan.families);
    Ok(results.into_iter().map(|found| found.result).collect())
}

/// A claim, and whether both rows have all their seeds.
struct Found {
    result: ClaimResult,
    is_whole: bool,
}

/// The figures of a claim; what they say follows from the others of its family, too.
fn found(claim: &Claim, plan: &Plan, better: &Side, than: &Side) -> Result<Found, ExperimentError> {
    let mut remarks: Vec<String> = [better, than].into_iter().filter_map(unfinished).collect();
    let is_whole = remarks.is_empty();
    let failed = better.result.failed || than.result.failed;
    let difference = if failed { None } else { paired(better, than)? };
    remarks.extend(fallen(than)?);
    let part = better.planned.row.part.clone();
    let result = ClaimResult {
        family: claim.family_in(&part).to_owned(),
        part,
        better: better.planned.row.name.clone(),
        than: than.planned.row.name.clone(),
        claim: claim.claim.clone(),
        difference,
        chance: None,
        margin: claim.margin.or(plan.file.margin),
        outside: None,
        verdict: Verdict::Withheld,
        remarks,
    };
    Ok(Found { result, is_whole })
}

/// Why nothing can be said of a row: those of its seeds that have no figures. What failed is no
/// accident that others are free of, so a mean without it would be of those that went well.
fn unfinished(side: &Side) -> Option<String> {
    let lacking = side.planned.cells.iter().map(|cell| cell.seed);
    let lacking: Vec<u64> = lacking.filter(|seed| !side.result.seeds.contains(seed)).collect();
    let (seeds, are) = named(&lacking)?;
    let what = match side.result.failed {
        true => "failed".to_owned(),
        false => format!("{are} still to come"),
    };
    Some(format!("{seeds} of `{}` {what}", side.planned.row.name))
}

fn paired(better: &Side, than: &Side) -> Result<Option<Estimate>, ExperimentError> {
    let pairs = better.sittings.iter().filter_map(|one| {
        let other = than.sittings.iter().find(|other| other.seed == one.seed)?;
        Some((one.seed, difference(&than.solved(other), better.solved(one))))
    });
    let label = format!("{} − {}", better.planned.row.label(), than.planned.row.label());
    signed(pairs.collect(), &label)
}

/// What a row, or one that its policies are taken from, has lost by its training: to be better
/// than what was ruined says little.
fn fallen(side: &Side) -> Result<Vec<String>, ExperimentError> {
    let mut gains: BTreeMap<&String, Vec<(u64, ByTask)>> = BTreeMap::new();
    for sitting in side.sittings {
        for training in &sitting.trainings {
            let answers = side.planned.row.answers;
            let before = training.before.solved_shares(answers);
            let gained = difference(&before, training.after.solved_shares(answers));
            gains.entry(&training.label).or_default().push((sitting.seed, gained));
        }
    }
    let mut fallen = Vec::new();
    for (label, gained) in gains {
        let name = label.rsplit('/').next().unwrap_or(label);
        let Some(gained) = signed(gained, label)?.filter(|gained| gained.mean < 0.0) else {
            continue;
        };
        let ends = gained.crossed.map_or(String::new(), |ends| {
            format!(" ({:+.1} to {:+.1})", 100.0 * ends.low, 100.0 * ends.high)
        });
        // A minus is one; what joins the parts of a name is none.
        let (lost, ends) = (-100.0 * gained.mean, ends.replace('-', "−"));
        fallen.push(format!("`{name}` ended {lost:.1} points below its own start{ends}"));
    }
    Ok(fallen)
}

/// Correct what was found for the number of claims in each family, and say what it says.
fn judge(results: &mut [Found], families: &BTreeMap<String, usize>) {
    let mut found_of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, found) in results.iter().enumerate() {
        found_of.entry(found.result.family.clone()).or_default().push(place);
    }
    for (family, places) in found_of {
        let size = families.get(&family).map_or(places.len(), |size| places.len().max(*size));
        // Claims about rows that are left out were made, too.
        let corrected = |mut chances: Vec<Option<f64>>| {
            chances.resize(size, None);
            holm(&chances)
        };
        // Who judged before all seeds are there could go on until the verdict pleases.
        let found = |place: &usize| {
            let Found { result, is_whole } = &results[*place];
            result.difference.as_ref().filter(|_| *is_whole)
        };
        let none = |place| found(place)?.chance_of_no_difference();
        let outside = |place| found(place)?.chance_of_a_margin(results[*place].result.margin?);
        let none = corrected(places.iter().map(none).collect());
        let outside = corrected(places.iter().map(outside).collect());
        for (place, (chance, outside)) in places.into_iter().zip(none.into_iter().zip(outside)) {
            let Found { result, is_whole: true } = &mut results[place] else { continue };
            (result.chance, result.outside) = (chance, outside);
            let Some(found) = &result.difference else { continue };
            result.verdict = Verdict::of(found, chance, outside);
            result.remarks.splice(0..0, within(result));
        }
    }
}

/// How near equivalent rows are, or that a difference that is there is as good as none.
fn within(result: &ClaimResult) -> Option<String> {
    let margin = result.margin.filter(|_| result.outside.is_some_and(|chance| chance < 0.05))?;
    let points = format!("{:.1} points", 100.0 * margin);
    Some(match result.verdict {
        Verdict::Equivalent => format!("they differ by less than {points}"),
        _ => format!("but by less than {points}"),
    })
}
