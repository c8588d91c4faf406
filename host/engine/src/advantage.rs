//! `host advantage`: what other estimators make of a run's answers.

use std::collections::BTreeMap;

use super::report;
use super::truths::Truths;
use troupe_cli::args::AdvantageArgs;
use troupe_core::archive::{find_config, list_tables};
use troupe_core::config::{AdvantageConfig, Config, ConfigError};
use troupe_core::error::ExitCode;
use troupe_core::storage::StorageError;
use troupe_core::table::{Row, read_table};
use troupe_core::trajectory::{Ending, Sample};
use troupe_estimators::advantage::{Memory, compare};
use troupe_estimators::audit::{Audit, Source, Tallies, take_in};
use troupe_estimators::band::SolvedShares;
use troupe_estimators::credit::Credits;
use troupe_model::{Device, PolicyError};
use troupe_training::truth::Distance;

/// What `--compare` calls the advantages as they were stored.
pub(super) const STORED: &str = "stored";

pub fn run(
    args: AdvantageArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = Config::load(Some(&find_config(&args.run)?), &[])?;
    let mut estimators = estimators(&config, &args.compare)?;
    let tables = list_tables(&args.run)?;
    let is_asked_for = |step: usize| (args.first..=args.last.unwrap_or(usize::MAX)).contains(&step);
    let steps = tables.iter().filter(|(step, _)| is_asked_for(*step)).count();
    if steps == 0 {
        let reason = "it has no table of these steps; a run keeps its answers unless rollout.store \
                      says otherwise";
        return Err(StorageError::Unfit { path: args.run, reason: reason.to_owned() }.into());
    }
    let mut truths = match args.truth {
        Some(episodes) => Some(Truths::new(&args, episodes as usize, &config, device()?)),
        None => None,
    };
    let mut memory = Memory::default();
    let mut tallies = vec![Tallies::new(); estimators.len()];
    let (mut rows_in_all, mut same) = (0, 0);
    let bar = report::Bar::new("advantage", 0, tables.len(), "steps");
    for (index, (step, path)) in tables.iter().enumerate() {
        let rows = read_table(path)?;
        let samples: Vec<Sample> = rows.iter().map(|row| row.sample.clone()).collect();
        let shares = solved_shares(&rows);
        let trains = |sample: &Sample| config.trains(&sample.policy);
        let in_band = |sample: &Sample| shares.are_within(sample, &config.advantage);
        let again = as_stored(&rows, &samples, &config.advantage, &mut memory, |sample| {
            trains(sample) && in_band(sample)
        });
        let compared_at_all = learning(&config, &rows);
        let learns = |sample: &Sample| compared_at_all(sample) && in_band(sample);
        // What an estimator remembers comes from all the steps before.
        let mut passed_over = vec![Tallies::new(); estimators.len()];
        let asked_for = is_asked_for(*step);
        let tallies = if asked_for { &mut tallies } else { &mut passed_over };
        let stored = stored(&rows);
        let compared = take_in(tallies, &mut estimators, (&samples, &stored), learns);
        if asked_for {
            (rows_in_all, same) = (rows_in_all + rows.len(), same + again);
            if let Some(truths) = &mut truths {
                truths.take_in(*step, &rows, &compared)?;
            }
        }
        bar.step_to(index + 1, String::new());
    }
    bar.finish();
    let truths = truths.map(Truths::distances).transpose()?;
    show(&args, steps, (same, rows_in_all), &tallies, truths.as_deref())?;
    Ok(ExitCode::Success)
}

/// The share of each task's episodes that was solved.
pub(super) fn solved_shares(rows: &[Row]) -> SolvedShares {
    let solved = |row: &Row| row.ending == Ending::Solved.word();
    SolvedShares::of(rows.iter().map(|row| ((row.sample.task, row.sample.episode), solved(row))))
}

/// Answers of policies that learn or, where none does and a critic perhaps judged them all, every
/// one.
pub(super) fn learning<'a>(
    config: &'a Config,
    rows: &[Row],
) -> impl Fn(&Sample) -> bool + Copy + 'a {
    let none = !rows.iter().any(|row| config.trains(&row.sample.policy));
    move |sample| none || config.trains(&sample.policy)
}

/// The run's settings with each of the estimators; one that does not fit the
/// run's sampling is refused as it would be in a run.
fn estimators(config: &Config, names: &[String]) -> Result<Vec<Source>, ConfigError> {
    let named = |name: &String| {
        if name == STORED {
            return Ok(Source::Stored(config.advantage.clone()));
        }
        let mut advantage = config.advantage.clone();
        (advantage.unit, advantage.worth, advantage.same, advantage.scale) = Default::default();
        advantage.roles.clear();
        let plain = Config { advantage, ..config.clone() };
        let config = plain.with(&format!("advantage.estimator={name}"))?;
        Ok(Source::Estimator(config.advantage, Memory::default()))
    };
    names.iter().map(named).collect()
}

/// What the run made of its answers.
fn stored(rows: &[Row]) -> Credits {
    let (advantages, weights) = rows.iter().map(|row| (row.advantage, row.weight)).unzip();
    Credits { advantages, weights }
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
    truths: Option<&[BTreeMap<String, Distance>]>,
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
        let mut shown = serde_json::json!({
            "steps": steps, "answers": all, "as_stored": same, "estimators": estimators,
        });
        if let Some(truths) = truths {
            let named: BTreeMap<_, _> = args.compare.iter().zip(truths).collect();
            shown["truth"] = serde_json::to_value(named)?;
        }
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
    truths.into_iter().for_each(|truths| show_truths(&args.compare, truths));
    Ok(())
}

fn show_truths(names: &[String], truths: &[BTreeMap<String, Distance>]) {
    let mut rows = Vec::new();
    for (name, roles) in names.iter().zip(truths) {
        for (role, distance) in roles {
            rows.push(vec![
                name.clone(),
                role.clone(),
                distance.answers.to_string(),
                format!("{:.3}", distance.correlation),
                format!("{:.3}", distance.rank_correlation),
                report::percent(distance.right_signs),
                format!("{:+.4}", distance.bias),
                distance.variance.map_or_else(|| "?".to_owned(), |share| format!("{share:.3}")),
                distance.wrong_labels.map_or_else(String::new, report::percent),
            ]);
        }
    }
    report::line("");
    let header = [
        "estimator",
        "role",
        "answers",
        "corr. with truth",
        "rank corr.",
        "right sign",
        "bias",
        "variance",
        "wrong labels",
    ];
    report::table(&header, &rows);
}
