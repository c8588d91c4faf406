//! `host eval --decide`: two runs on the same tasks with the same draws, until it is known which of
//! them is better.

use std::path::Path;

use serde::Serialize;

use super::eval::{config_and_step, held_out};
use super::{assemble, report, say_caveats};
use troupe_cli::args::EvalArgs;
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_core::statistics::{AlwaysValid, Interval, mean, pairs_for};
use troupe_model::Device;
use troupe_terminal::UsageError;
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::team::Team;

/// Tasks between two looks.
const BATCH: usize = 32;
/// The difference that is reckoned with before the start, where none was named.
const DIFFERENCE: f64 = 0.05;

/// One of the two.
struct Side {
    name: String,
    config: Config,
    team: Team,
    solved: Vec<f64>,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Decision {
    runs: [String; 2],
    success: [f64; 2],
    /// What the second solves more, and the interval that holds at every look.
    difference: f64,
    interval: Interval,
    /// Tasks that were played, and that there were to play.
    tasks: usize,
    of: usize,
    decided: bool,
}

pub fn run(args: &EvalArgs, device: Device) -> anyhow::Result<ExitCode> {
    let [first, second] = &args.run[..] else {
        return Err(UsageError("--decide compares two runs; name --run twice".to_owned()).into());
    };
    if args.difference.is_some_and(|points| !(points > 0.0 && points < 100.0)) {
        let message = "--difference is a number of points between 0 and 100";
        return Err(UsageError(message.to_owned()).into());
    }
    let mut first = open(args, first, device)?;
    let mut second = open(args, second, device)?;
    let tasks = held_out(args, &first.config);
    let all = tasks.tasks;
    announce(args, all);
    let mut sequence = AlwaysValid::between(-1.0, 1.0);
    let bar = report::Bar::at_most("decide", all, "tasks");
    while first.solved.len() < all && !is_decided(&sequence, args.difference) {
        let from = first.solved.len();
        let count = BATCH.min(all - from);
        // Both draw from the same seeds, by task, role and turn.
        let batch = HeldOutTasks { from: from as u32, tasks: count, ..tasks };
        for side in [&mut first, &mut second] {
            side.play(batch)?;
        }
        if first.solved.len() == from {
            // The split has no more.
            break;
        }
        for (one, other) in first.solved[from..].iter().zip(&second.solved[from..]) {
            sequence.take(other - one);
        }
        bar.step_to(first.solved.len(), String::new());
    }
    bar.finish();
    let decided = is_decided(&sequence, args.difference);
    let decision = Decision {
        success: [mean(&first.solved), mean(&second.solved)],
        difference: sequence.mean(),
        interval: sequence.interval(),
        tasks: first.solved.len(),
        of: all,
        decided,
        runs: [first.name, second.name],
    };
    match args.json {
        true => report::line(&serde_json::to_string(&decision)?),
        false => show(&decision, args.difference),
    }
    Ok(ExitCode::Success)
}

fn open(args: &EvalArgs, run: &Path, device: Device) -> anyhow::Result<Side> {
    let (config, _) = config_and_step(&args.config, Some(run), args.step)?;
    let (config, mut team) = assemble(config, device)?;
    team.open_distant(&config, false)?;
    say_caveats(&team);
    Ok(Side { name: run.display().to_string(), config, team, solved: Vec::new() })
}

impl Side {
    /// The share of each task's episodes that solve it.
    fn play(&mut self, batch: HeldOutTasks) -> anyhow::Result<()> {
        let evaluation = evaluate(&self.team, batch, &self.config)?;
        for episodes in evaluation.rollout.episodes.chunks(batch.samples) {
            let solved = episodes.iter().filter(|episode| episode.solved()).count();
            self.solved.push(solved as f64 / episodes.len() as f64);
        }
        Ok(())
    }
}

/// Whether it is known which is better, or that neither is by so much.
fn is_decided(sequence: &AlwaysValid, difference: Option<f64>) -> bool {
    let Interval { low, high } = sequence.interval();
    let is_equal = difference.is_some_and(|points| {
        let share = points / 100.0;
        -share < low && high < share
    });
    low > 0.0 || high < 0.0 || is_equal
}

fn announce(args: &EvalArgs, all: usize) {
    let share = args.difference.map_or(DIFFERENCE, |points| points / 100.0);
    report::note(&format!(
        "a difference of {:.1} points takes some {} tasks if the two differ on a tenth of them, {} \
         if on half; there are {all}",
        100.0 * share,
        pairs_for(share, 0.1),
        pairs_for(share, 0.5)
    ));
}

fn show(decision: &Decision, difference: Option<f64>) {
    let Decision { runs, success, interval: Interval { low, high }, tasks, of, .. } = decision;
    let rows: Vec<Vec<String>> = runs
        .iter()
        .zip(success)
        .map(|(name, share)| vec![name.clone(), report::percent(*share)])
        .collect();
    report::table(&["run", &format!("solved of {tasks} tasks")], &rows);
    report::line(&format!(
        "  the second solves {:+.1} points more ({:+.1} to {:+.1}, at 95 % for all looks together)",
        100.0 * decision.difference,
        100.0 * low,
        100.0 * high
    ));
    report::line(&match (decision.decided, difference) {
        (false, _) => format!("  not decided by {tasks} tasks"),
        (true, Some(points)) if *low <= 0.0 && *high >= 0.0 => format!(
            "  decided: they differ by less than {points} points; {} of {of} tasks were saved",
            of - tasks
        ),
        (true, _) => format!("  decided; {} of {of} tasks were saved", of - tasks),
    });
}
