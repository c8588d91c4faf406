//! `host advantage`: what other estimators make of a run's answers.

use std::collections::BTreeMap;

use super::args::AdvantageArgs;
use super::report;
use crate::advantage::{Memory, compare};
use crate::audit::{Audit, Tallies, take_in};
use crate::config::{AdvantageConfig, Config, ConfigError};
use crate::credit::Credits;
use crate::error::ExitCode;
use crate::run::{find_config, list_tables};
use crate::storage::StorageError;
use crate::table::{Row, read_table};
use crate::trajectory::Sample;

pub fn run(args: AdvantageArgs) -> anyhow::Result<ExitCode> {
    let config = Config::load(Some(&find_config(&args.run)?), &[])?;
    let estimators = estimators(&config, &args.compare)?;
    let mut tables = list_tables(&args.run)?;
    tables.retain(|(step, _)| (args.first..=args.last.unwrap_or(usize::MAX)).contains(step));
    if tables.is_empty() {
        let reason = "it has no table of these steps; a run keeps its answers unless rollout.store \
                      says otherwise";
        return Err(StorageError::Unfit { path: args.run, reason: reason.to_owned() }.into());
    }
    let mut estimators: Vec<(AdvantageConfig, Memory)> =
        estimators.into_iter().map(|config| (config, Memory::default())).collect();
    let mut memory = Memory::default();
    let mut tallies = vec![Tallies::new(); estimators.len()];
    let (mut rows_in_all, mut same) = (0, 0);
    let bar = report::Bar::new("advantage", 0, tables.len(), "steps");
    for (index, (_, path)) in tables.iter().enumerate() {
        let rows = read_table(path)?;
        let samples: Vec<Sample> = rows.iter().map(|row| row.sample.clone()).collect();
        let learns = |sample: &Sample| config.trains(&sample.policy);
        rows_in_all += rows.len();
        same += as_stored(&rows, &samples, &config.advantage, &mut memory, learns);
        take_in(&mut tallies, &mut estimators, &samples, learns);
        bar.step_to(index + 1, String::new());
    }
    bar.finish();
    let steps = tables.len();
    show(&args, steps, (same, rows_in_all), &tallies)?;
    Ok(ExitCode::Success)
}

/// The run's settings with each of the estimators; one that does not fit the
/// run's sampling is refused as it would be in a run.
fn estimators(config: &Config, names: &[String]) -> Result<Vec<AdvantageConfig>, ConfigError> {
    let named = |name: &String| {
        let mut advantage = config.advantage.clone();
        (advantage.unit, advantage.worth, advantage.same, advantage.scale) = Default::default();
        let plain = Config { advantage, ..config.clone() };
        Ok(plain.with(&format!("advantage.estimator={name}"))?.advantage)
    };
    names.iter().map(named).collect()
}

/// How many advantages come out as they were stored, to the last bit.
fn as_stored(
    rows: &[Row],
    samples: &[Sample],
    config: &AdvantageConfig,
    memory: &mut Memory,
    learns: impl Fn(&Sample) -> bool,
) -> usize {
    let Credits { advantages, weights } = compare(samples, config, memory, learns).credits;
    let bits =
        |advantage: Option<f32>, weight: f32| (advantage.map(f32::to_bits), weight.to_bits());
    let again = advantages.into_iter().zip(weights);
    let both = rows.iter().zip(again);
    both.filter(|(row, (advantage, weight))| {
        bits(row.advantage, row.weight) == bits(*advantage, *weight)
    })
    .count()
}

fn show(
    args: &AdvantageArgs,
    steps: usize,
    (same, all): (usize, usize),
    tallies: &[Tallies],
) -> anyhow::Result<()> {
    let audits: Vec<(&String, BTreeMap<&String, Audit>)> = args
        .compare
        .iter()
        .zip(tallies)
        .map(|(name, tallies)| {
            (name, tallies.iter().map(|(role, tally)| (role, tally.audit())).collect())
        })
        .collect();
    if args.json {
        let estimators: BTreeMap<_, _> = audits.into_iter().collect();
        let shown = serde_json::json!({
            "steps": steps, "answers": all, "as_stored": same, "estimators": estimators,
        });
        report::line(&shown.to_string());
        return Ok(());
    }
    report::line(&format!(
        "{steps} steps, {all} answers; the advantages of {same} come out as they were stored"
    ));
    let mut rows = Vec::new();
    for (name, roles) in &audits {
        for (role, audit) in roles {
            rows.push(vec![
                (*name).clone(),
                (*role).clone(),
                audit.groups.to_string(),
                report::percent(audit.flat),
                format!("{:.3}", audit.magnitude),
                format!("{:.2}", audit.inflation),
                format!("{:.3}", audit.rank_correlation),
                report::percent(audit.changed_signs),
            ]);
        }
    }
    let header = [
        "estimator",
        "role",
        "groups",
        "flat",
        "mean |A|",
        "inflation",
        "rank corr.",
        "other sign",
    ];
    report::table(&header, &rows);
    Ok(())
}
