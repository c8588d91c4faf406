//! The groups of a step, as `--drop-group` names them.

use super::table_of;
use crate::advantage::solved_shares;
use crate::report;
use troupe_cli::args::ReplayArgs;
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_core::storage::StorageError;
use troupe_core::table::{Row, read_table};
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
    let table = read_table(&path)?;
    let groups = formed(&table, config);
    let rows: Vec<Vec<String>> =
        groups.iter().enumerate().map(|(place, group)| row(place, group, &table)).collect();
    if args.json {
        report::line(&serde_json::to_string(&rows)?);
    } else {
        report::table(&["group", "task", "role", "turn", "answers", "worth", "rows"], &rows);
    }
    Ok(ExitCode::Success)
}

/// Those that the step formed: of policies that learn, and of tasks within the band.
fn formed(table: &[Row], config: &Config) -> Vec<Group> {
    let samples: Vec<Sample> = table.iter().map(|row| row.sample.clone()).collect();
    let shares = solved_shares(table);
    let learns = |sample: &Sample| {
        config.trains(&sample.policy) && shares.are_within(sample, &config.advantage)
    };
    compare(&samples, &config.advantage, &mut Memory::default(), learns).formed
}

fn row(place: usize, group: &Group, table: &[Row]) -> Vec<String> {
    let members: Vec<usize> = group.rows().collect();
    let first = members.first().map(|&row| &table[row].sample);
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

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::tree_of;
    use troupe_core::table::rows_of;
    use troupe_core::trajectory::{Ending, Episode};

    #[test]
    fn groups_of_tasks_outside_the_band_are_not_numbered() {
        let samples = tree_of(3, 1, &["solver"], 2);
        let episode = |(task, ending): (usize, Ending)| Episode {
            task,
            family: "maze".to_owned(),
            split: "train".to_owned(),
            seed: 0,
            episode: 0,
            events: Vec::new(),
            ending,
        };
        let endings = [Ending::Failed, Ending::Solved, Ending::Failed];
        let episodes: Vec<Episode> = endings.into_iter().enumerate().map(episode).collect();
        let (advantages, weights) = (vec![None; samples.len()], vec![1.0; samples.len()]);
        let credits = (&advantages[..], &weights[..]);
        let table = rows_of((1, |_: &str| 0), &samples, credits, &episodes, |_| true);
        let mut config = Config::default();
        let tasks = |config: &Config| -> Vec<usize> {
            let groups = formed(&table, config);
            groups
                .iter()
                .filter_map(|group| Some(table[group.rows().next()?].sample.task))
                .collect()
        };
        assert_eq!(tasks(&config), [0, 1, 2]);
        config.advantage.least_solved = 0.1;
        assert_eq!(tasks(&config), [1]);
    }
}
