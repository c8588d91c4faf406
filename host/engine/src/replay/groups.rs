//! The groups of a step, as `--drop-group` names them.

use super::table_of;
use crate::report;
use troupe_cli::args::ReplayArgs;
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_core::storage::StorageError;
use troupe_core::table::read_table;
use troupe_core::trajectory::Sample;
use troupe_estimators::advantage::{Memory, compare};
use troupe_estimators::group::Group;

/// Print them.
pub fn list(args: &ReplayArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let path = table_of(&args.run, args.at as usize);
    if !path.is_file() {
        let reason = format!("the run has no table of step {} (rollout.store)", args.at);
        return Err(StorageError::Unfit { path: args.run.clone(), reason }.into());
    }
    let samples: Vec<Sample> = read_table(&path)?.into_iter().map(|row| row.sample).collect();
    let learns = |sample: &Sample| config.trains(&sample.policy);
    let compared = compare(&samples, &config.advantage, &mut Memory::default(), learns);
    let rows: Vec<Vec<String>> = compared
        .formed
        .iter()
        .enumerate()
        .map(|(place, group)| row(place, group, &samples))
        .collect();
    if args.json {
        report::line(&serde_json::to_string(&rows)?);
    } else {
        report::table(&["group", "task", "role", "turn", "answers", "worth", "rows"], &rows);
    }
    Ok(ExitCode::Success)
}

fn row(place: usize, group: &Group, samples: &[Sample]) -> Vec<String> {
    let members: Vec<usize> = group.rows().collect();
    let first = members.first().map(|&row| &samples[row]);
    let (task, turn) = first.map_or((0, 0), |sample| (sample.task, sample.turn));
    let ends = group.extremes();
    let roles: Vec<&str> = group.roles.iter().map(String::as_str).collect();
    let (from, to) = (members.iter().min().copied(), members.iter().max().copied());
    vec![
        place.to_string(),
        task.to_string(),
        roles.join(", "),
        (turn + 1).to_string(),
        group.units.len().to_string(),
        format!("{:+.2} to {:+.2}", ends.0, ends.1),
        format!("{} to {}", from.unwrap_or(0), to.unwrap_or(0)),
    ]
}
