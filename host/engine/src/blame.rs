//! `host blame`: which turns of which role gained and lost how much.

mod tables;

use std::path::Path;

use super::eval::config_and_step;
use super::{assemble, knock_out, report, say_caveats};
use troupe_cli::args::BlameArgs;
use troupe_core::blame::{Blame, FILE};
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_core::storage::write_file;
use troupe_core::trajectory::Episode;
use troupe_guests::plugin::Split;
use troupe_model::{Device, PolicyError};
use troupe_terminal::{ConfigArgs, UsageError};
use troupe_training::blame::{Inquiry, blame, play_recorded, tasks_of};
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::imitation::episodes_of;
use troupe_training::metrics::{Answers, Totals};
use troupe_training::rollout::{Rollout, TaskSeed};
use troupe_training::team::Team;

pub fn run(
    args: &BlameArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    if !(args.margin >= 0.0 && args.margin.is_finite()) {
        return Err(UsageError("--margin is a number of at least 0".to_owned()).into());
    }
    let device = device()?;
    if args.roles {
        return knock_out::on_demand(args, device);
    }
    let of_run = ConfigArgs::default();
    let (config, step) = config_and_step(&of_run, Some(&args.run), args.step)?;
    let (config, mut team) = assemble(config, device)?;
    team.open_distant(&config, false)?;
    say_caveats(&team);
    let held_out = HeldOutTasks {
        split: args.split.into(),
        from: args.task.unwrap_or(0),
        tasks: args.task.map_or(args.tasks as usize, |_| 1),
        answers: if args.greedy { Answers::Greedy } else { Answers::Sampled },
        samples: args.samples as usize,
        seed: Seed::new(config.run.seed).named("evaluation"),
    };
    let (tasks, rollout, origins) = match args.episodes.is_empty() {
        true => {
            let rollout = evaluate(&team, held_out, &config)?.rollout;
            (tasks_of(&team, held_out, &config), rollout, Vec::new())
        }
        false => recorded(args, &team, held_out.seed)?,
    };
    let episodes = &rollout.episodes;
    let is_wanted = |episode: &Episode| !(episode.is_void() || args.failures && episode.solved());
    let wanted = episodes.iter().filter(|episode| is_wanted(episode)).count();
    let inquiry = Inquiry {
        forks: args.forks as usize,
        at_most: args.at_most.max(args.forks) as usize,
        margin: args.margin,
        measure: args.by.into(),
    };
    let bar = report::Bar::new("blame", 0, wanted, "episodes");
    let mut found: Vec<Blame> = Vec::new();
    let spent = blame(&team, &config, (&tasks, &rollout), inquiry, is_wanted, |mut blame| {
        let task = blame.episode.task;
        (blame.step, blame.episode.task) = origins.get(task).copied().unwrap_or((step, task));
        found.push(blame);
        bar.step_to(found.len(), String::new());
    })?;
    bar.finish();
    let out = args.out.clone().unwrap_or_else(|| args.run.join(FILE));
    let lines = keep(&out, &found)?;
    if args.json {
        lines.lines().for_each(report::line);
    } else {
        let played = episodes.len();
        show(args, &found, played, spent);
    }
    Ok(ExitCode::Success)
}

/// Where an episode stands among those of its run: the step, if its file says so, and the task.
type Whereabouts = (Option<usize>, usize);

/// The episodes of files, played again, and where each task of them was recorded.
fn recorded(
    args: &BlameArgs,
    team: &Team,
    seed: Seed,
) -> anyhow::Result<(Vec<TaskSeed>, Rollout, Vec<Whereabouts>)> {
    let mut recorded = episodes_of(&args.episodes)?;
    let is_asked_for = |task: u32| args.task.is_none_or(|asked| asked == task);
    recorded.retain(|(_, episode)| is_asked_for(episode.seed) && !episode.is_void());
    let origins = recorded.iter().map(|(step, episode)| (*step, episode.task)).collect();
    let episodes = recorded.into_iter().map(|(_, episode)| episode).collect();
    let (tasks, rollout) = play_recorded(team, episodes, seed)?;
    Ok((tasks, rollout, origins))
}

/// Write what was found, a line for each episode. Nothing is no reason to lose what was found
/// before.
fn keep(out: &Path, found: &[Blame]) -> anyhow::Result<String> {
    let mut lines = String::new();
    for blame in found {
        lines += &serde_json::to_string(blame)?;
        lines.push('\n');
    }
    if !found.is_empty() {
        write_file(out, lines.as_bytes())?;
    } else if out.is_file() {
        report::note(&format!("note: nothing was found; {} stays as it was", out.display()));
    }
    Ok(lines)
}

fn show(args: &BlameArgs, found: &[Blame], played: usize, spent: Totals) {
    if found.is_empty() {
        let split = Split::from(args.split);
        let what = match (args.failures, args.task) {
            (true, _) => format!("all {played} episodes were solved, or are void"),
            (false, Some(task)) if !args.episodes.is_empty() => {
                format!("no episode is of the task {task}")
            }
            (false, Some(task)) => format!("the {} split has no task {task}", split),
            (false, None) => format!("all {played} episodes are void"),
        };
        return report::line(&format!("nothing to look into: {what}"));
    }
    if !args.failures {
        found.iter().for_each(|blame| tables::episode(blame, args.margin, args.task.is_some()));
    }
    tables::roles(found, args.margin);
    if args.failures {
        tables::failures(found, args.margin);
    }
    report::line(&format!("  {}", tables::adds_up(found)));
    report::line(&format!("  {}", report::spent(&spent)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_before_stays_where_nothing_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join(FILE);
        assert_eq!(keep(&out, &[]).unwrap(), "");
        assert!(!out.exists());
        std::fs::write(&out, "earlier\n").unwrap();
        keep(&out, &[]).unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "earlier\n");
    }
}
