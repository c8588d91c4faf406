//! Which rows may be compared: those that were examined on the same tasks after the same budget.

use super::address::Addresses;
use super::error::{ExperimentError, invalid};
use super::file::{Claim, ExperimentFile};
use super::plan::PlannedRow;
use super::row::Source;
use crate::config::Config;
use crate::error::suggestion;

/// The pairs of rows that a claim is about, part by part.
pub(super) fn pairs<'r>(
    claim: &Claim,
    rows: &'r [PlannedRow],
) -> Vec<(&'r PlannedRow, &'r PlannedRow)> {
    let find = |part: &str, name: &str| {
        rows.iter().find(|planned| planned.row.part == part && planned.row.name == name)
    };
    let mut pairs = Vec::new();
    for better in rows.iter().filter(|planned| planned.row.name == claim.better) {
        let part = &better.row.part;
        if !claim.on.is_empty() && !claim.on.contains(part) {
            continue;
        }
        pairs.extend(find(part, &claim.than).map(|than| (better, than)));
    }
    pairs
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
            check_pair(file, better, than, addresses)?;
        }
    }
    Ok(())
}

fn check_pair(
    file: &ExperimentFile,
    better: &PlannedRow,
    than: &PlannedRow,
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
    if trains(better) && trains(than) {
        check_budgets(&better.config, &than.config).map_err(incomparable)?;
    }
    Ok(())
}

fn trains(planned: &PlannedRow) -> bool {
    matches!(planned.row.source, Source::Trained | Source::Of(_))
}

fn check_budgets(one: &Config, other: &Config) -> Result<(), String> {
    if one.train.budget != other.train.budget {
        let reason = "their budgets differ: `train.budget` is to be the same in both";
        return Err(reason.to_owned());
    }
    let unlimited = one.train.budget == Default::default();
    if unlimited && one.train.steps != other.train.steps {
        return Err(format!(
            "one trains for {} steps and one for {}; give both a budget",
            one.train.steps, other.train.steps
        ));
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
