//! `host eval --situations`: how good each of several policies is in which situation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{assemble, eval, report, say_caveats};
use troupe_cli::args::EvalArgs;
use troupe_core::config::{Config, EnsembleBy};
use troupe_core::error::ExitCode;
use troupe_core::storage::write_json;
use troupe_guests::plugin::Split;
use troupe_model::Device;
use troupe_terminal::UsageError;
use troupe_training::examination::examine;
use troupe_training::metrics::Answers;
use troupe_training::situations::{Cell, SituationTable};
use troupe_training::team::Team;

/// Examine the members and write the table.
pub fn make(args: &EvalArgs, file: &Path, device: Device) -> anyhow::Result<ExitCode> {
    if args.run.len() > 1 {
        let message = "--situations makes the table of one team; name one --run";
        return Err(UsageError(message.to_owned()).into());
    }
    let run = args.run.first().map(PathBuf::as_path);
    let config = without_tables(eval::config_of(&args.config, run, args.step)?);
    let held_out = eval::held_out(args, &config);
    let forks = args.forks.map(|times| times as usize);
    if held_out.answers == Answers::Greedy && forks.is_some_and(|times| times > 1) {
        let message =
            "the likeliest answers are the same each time; add --sampled, or set --forks 1";
        return Err(UsageError(message.to_owned()).into());
    }
    let (config, mut team) = assemble(config, device)?;
    team.open_distant(&config, false)?;
    say_caveats(&team);
    let table = examine(&mut team, &config, held_out, forks)?;
    write_json(file, &table)?;
    match args.json {
        true => report::line(&serde_json::to_string(&table)?),
        false => show(&table, file),
    }
    Ok(ExitCode::Success)
}

/// The table that is made now is not read before.
fn without_tables(mut config: Config) -> Config {
    let ensembles = config.policies.values_mut().filter_map(|policy| policy.ensemble.as_mut());
    for ensemble in ensembles {
        (ensemble.by, ensemble.table) = (EnsembleBy::Random, None);
    }
    config
}

/// Say so if what is measured was chosen by.
pub fn warn(team: &Team, split: Split) {
    for (policy, table) in &team.situations {
        if table.split == split.name() {
            report::note(&format!(
                "note: the table of `{policy}` was made of tasks of the same split, {split}, so that \
                 it looks better than it is; measure it on another"
            ));
        }
    }
}

fn show(table: &SituationTable, file: &Path) {
    let members: Vec<&str> = table.members.keys().map(String::as_str).collect();
    let header: Vec<&str> = ["role", "situation"].into_iter().chain(members.clone()).collect();
    let mut rows: BTreeMap<(&str, Option<&str>), BTreeMap<&str, &Cell>> = BTreeMap::new();
    for cell in &table.cells {
        let row = rows.entry((&cell.role, cell.situation.as_deref())).or_default();
        row.insert(&cell.member, cell);
    }
    let cell = |cell: Option<&&Cell>| match cell {
        None => "–".to_owned(),
        Some(Cell { mean, solved, episodes, .. }) => {
            format!("{mean:+.3} ({solved} of {episodes} solved)")
        }
    };
    let rows = rows.into_iter().map(|((role, situation), cells)| {
        let first = [role.to_owned(), situation.unwrap_or("all").to_owned()].into_iter();
        first.chain(members.iter().map(|member| cell(cells.get(member)))).collect()
    });
    report::table(&header, &rows.collect::<Vec<_>>());
    report::line(&format!("  {}", report::spent(&table.spent)));
    report::line(&format!("  written to {}", file.display()));
}
