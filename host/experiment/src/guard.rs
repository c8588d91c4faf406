//! Which rows may be compared: those that were examined on the same tasks after the same budget.

use std::collections::BTreeMap;

use super::address::Addresses;
use super::error::{ExperimentError, invalid};
use super::file::{Claim, Equal, ExperimentFile};
use super::planned::PlannedRow;
use super::row::{Row, Source};
use troupe_core::config::Config;
use troupe_core::error::suggestion;

/// The pairs of rows that a claim is about, part by part.
pub(super) fn pairs<'r, R: AsRef<Row>>(claim: &Claim, rows: &'r [R]) -> Vec<(&'r R, &'r R)> {
    let find = |part: &str, name: &str| {
        rows.iter().find(|known| known.as_ref().part == part && known.as_ref().name == name)
    };
    let mut pairs = Vec::new();
    for better in rows.iter().filter(|known| known.as_ref().name == claim.better) {
        let part = &better.as_ref().part;
        if !claim.on.is_empty() && !claim.on.contains(part) {
            continue;
        }
        pairs.extend(find(part, &claim.than).map(|than| (better, than)));
    }
    pairs
}

/// How many claims each family has, over all rows of a file: chances are corrected for all that
/// was claimed, whatever part of the table is looked at.
pub(super) fn families(claims: &[Claim], rows: &[Row]) -> BTreeMap<String, usize> {
    let mut families = BTreeMap::new();
    for claim in claims {
        for (better, _) in pairs(claim, rows) {
            *families.entry(claim.family_in(&better.part).to_owned()).or_default() += 1;
        }
    }
    families
}

/// Every claim is about rows that are there, unless it is known that some are left out, and that
/// may be compared.
pub(super) fn check_claims(
    file: &ExperimentFile,
    rows: &[PlannedRow],
    some_left_out: bool,
    addresses: &mut Addresses,
) -> Result<(), ExperimentError> {
    for (place, claim) in file.compare.iter().enumerate() {
        let key = format!("compare[{place}]");
        let known = rows.iter().map(|planned| planned.row.name.as_str());
        let sides = [(&claim.better, "better"), (&claim.than, "than")];
        let unknown =
            sides.into_iter().find(|(name, _)| !known.clone().any(|known| known == *name));
        if let Some((name, side)) = unknown.filter(|_| !some_left_out) {
            let hint = suggestion(name, known);
            return Err(invalid(
                format!("{key}.{side}"),
                format!("there is no row `{name}`{hint}"),
            ));
        }
        let pairs = pairs(claim, rows);
        if pairs.is_empty() && !some_left_out {
            let reason = "no environment has both rows, so there is nothing to compare";
            return Err(invalid(key, reason));
        }
        for (better, than) in pairs {
            check_pair(file, claim.budget, (better, than), rows, addresses)?;
        }
    }
    Ok(())
}

fn check_pair(
    file: &ExperimentFile,
    equal: Equal,
    (better, than): (&PlannedRow, &PlannedRow),
    rows: &[PlannedRow],
    addresses: &mut Addresses,
) -> Result<(), ExperimentError> {
    let incomparable = |reason: String| ExperimentError::Incomparable {
        better: better.row.label(),
        than: than.row.label(),
        reason,
    };
    let both = [&better.exam_config, &than.exam_config];
    let [one, other] = both.map(environments);
    if one != other {
        let reason =
            format!("they are examined on `{}` and on `{}`", one.join("+"), other.join("+"));
        return Err(incomparable(reason));
    }
    for name in &one {
        let mut digest = |config: &Config| -> Result<Option<String>, ExperimentError> {
            let named = |file: &&std::path::PathBuf| {
                file.file_stem().is_some_and(|stem| stem == name.as_str())
            };
            config.plugins.files.iter().find(named).map(|file| addresses.digest(file)).transpose()
        };
        if digest(both[0])? != digest(both[1])? {
            return Err(incomparable(format!("two different files are called `{name}`")));
        }
    }
    let [one, other] = both.map(|config| tasks(config, &file.exam.ignore));
    if let Some(key) = one.keys().chain(other.keys()).find(|key| one.get(*key) != other.get(*key)) {
        return Err(incomparable(format!(
            "`{key}` is not the same, so their tasks may differ; if it does not change which tasks \
             there are, add it to exam.ignore"
        )));
    }
    let [better, than] = [better, than].map(|planned| Spending::of(planned, equal, rows));
    check_budgets(&better, &than).map_err(incomparable)
}

/// What it takes to train the policies of a row: a run, or one for each row that it is put
/// together of; none if nothing is trained.
struct Spending<'r> {
    row: &'r str,
    equal: Equal,
    runs: Vec<(&'r str, &'r Config)>,
}

impl<'r> Spending<'r> {
    fn of(planned: &'r PlannedRow, equal: Equal, rows: &'r [PlannedRow]) -> Self {
        let row = planned.row.name.as_str();
        let runs = match &planned.row.source {
            Source::Trained | Source::Of(_) => vec![(row, &planned.config)],
            Source::Prompted => Vec::new(),
            Source::Combined(parts) => {
                let is_part = |other: &&PlannedRow| {
                    other.row.part == planned.row.part
                        && parts.values().any(|name| *name == other.row.name)
                };
                let parts = rows.iter().filter(is_part);
                parts.map(|part| (part.row.name.as_str(), &part.config)).collect()
            }
        };
        Spending { row, equal, runs }
    }

    /// So much of one kind together; nothing if there is no limit to it.
    fn sum(&self, of: Limit) -> Result<Option<f64>, String> {
        let limits: Vec<Option<f64>> = self.runs.iter().map(|(_, config)| of(config)).collect();
        if limits.iter().any(Option::is_some) && limits.contains(&None) {
            let Spending { row, .. } = self;
            return Err(format!(
                "one of the rows that `{row}` is put together of has a limit that another has \
                 not: give both the same `budget`"
            ));
        }
        let sum: Option<f64> = limits.into_iter().sum();
        Ok(sum.map(|sum| sum / self.sharing()))
    }

    /// By how many what is spent is shared.
    fn sharing(&self) -> f64 {
        let trained = |config: &Config| config.policies.values().filter(|one| one.train).count();
        match self.equal {
            Equal::Total => 1.0,
            Equal::Policy => {
                self.runs.iter().map(|(_, config)| trained(config)).sum::<usize>().max(1) as f64
            }
        }
    }

    /// Such as "`a` and `b` together, of which `c` is put together, spend 400000".
    fn said(&self, amount: Option<f64>) -> String {
        let amount = amount.map_or("no limit".to_owned(), |amount| amount.to_string());
        let Spending { row, runs, .. } = self;
        match &runs[..] {
            [_, _, ..] => {
                let names: Vec<String> = runs.iter().map(|(name, _)| format!("`{name}`")).collect();
                format!("`{row}` has {amount} ({} together)", names.join(" and "))
            }
            _ if self.equal == Equal::Policy => format!("each policy of `{row}` has {amount}"),
            _ => format!("`{row}` has {amount}"),
        }
    }
}

type Limit = fn(&Config) -> Option<f64>;

/// What a budget may limit, by its setting.
const LIMITS: [(&str, Limit); 3] = [
    ("completion_tokens", |config| Some(config.train.budget.completion_tokens? as f64)),
    ("samples", |config| Some(config.train.budget.samples? as f64)),
    ("seconds", |config| config.train.budget.seconds),
];

fn check_budgets(one: &Spending, other: &Spending) -> Result<(), String> {
    if one.runs.is_empty() || other.runs.is_empty() {
        return Ok(());
    }
    let mut limited = false;
    for (name, limit) in LIMITS {
        let (own, others) = (one.sum(limit)?, other.sum(limit)?);
        limited |= own.is_some();
        if own != others {
            return Err(format!(
                "their budgets differ: of `train.budget.{name}` {}, and {}; together both are to \
                 spend the same",
                one.said(own),
                other.said(others)
            ));
        }
    }
    let steps = |spending: &Spending| -> f64 {
        let steps: usize = spending.runs.iter().map(|(_, config)| config.train.steps).sum();
        steps as f64 / spending.sharing()
    };
    let (own, others) = (steps(one), steps(other));
    if !limited && own != others {
        return Err(format!("one trains for {own} steps and one for {others}; give both a budget"));
    }
    Ok(())
}

/// The environments of a configuration, each once.
fn environments(config: &Config) -> Vec<String> {
    let mut names: Vec<String> =
        config.families().into_iter().filter_map(|family| family.environment).collect();
    names.dedup();
    names
}

/// What decides which tasks there are: the settings of environments and the records, by key.
fn tasks(config: &Config, ignore: &[String]) -> toml::Table {
    let mut tasks = toml::Table::new();
    for family in config.families() {
        let prefix = match config.mix.is_empty() {
            true => "environment".to_owned(),
            false => format!("mix.{}", family.family.clone().unwrap_or_default()),
        };
        for (key, value) in family.settings {
            tasks.insert(format!("{prefix}.{key}"), value);
        }
        let records = &family.tasks;
        let lists = [&records.files, &records.validation, &records.test];
        for (name, files) in ["files", "validation", "test"].into_iter().zip(lists) {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            tasks.insert(format!("{prefix}: tasks.{name}"), names.into());
        }
        let limit = i64::try_from(records.limit).unwrap_or(i64::MAX);
        tasks.insert(format!("{prefix}: tasks.limit"), limit.into());
        tasks.insert(format!("{prefix}: tasks.split_field"), records.split_field.clone().into());
    }
    tasks.retain(|key, _| !ignore.iter().any(|ignored| ignored == key));
    tasks
}
