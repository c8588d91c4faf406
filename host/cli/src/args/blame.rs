//! Arguments of `host blame`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CheckpointName, DeviceArg, SplitName};
use troupe_core::blame::Measure;

/// `host blame`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host blame runs/plan-path-planner-executor
  host blame runs/plan-path-planner-executor --tasks 200 --failures
  host blame runs/plan-path-planner-executor --task 17 --forks 256
  host blame runs/plan-path-planner-executor --task 17 --json
  host blame runs/plan-path-planner-executor --episodes recorded.jsonl --failures
  host blame runs/plan-path-planner-executor --roles --split test --tasks 512

`host report` shows what was found beside each episode. How it is found is in docs/blame.md.")]
pub struct BlameArgs {
    /// The run.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Which checkpoint: best (by its validation; the last, if none was validated), last, or the
    /// number of a step.
    #[arg(long, value_name = "STEP", default_value = "best")]
    pub step: CheckpointName,
    /// The tasks to play.
    #[arg(long, value_enum, default_value = "validation")]
    pub split: SplitName,
    /// How many of them.
    #[arg(long, default_value_t = 20, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: u32,
    /// Look into the episodes of these files, or run folders, as `host eval --record` and runs
    /// write them. Forks are answered by the checkpoint.
    #[arg(long, value_name = "PATH", value_delimiter = ',',
        conflicts_with_all = ["split", "tasks", "samples", "greedy", "roles"])]
    pub episodes: Vec<PathBuf>,
    /// Look into this task alone.
    #[arg(long, value_name = "TASK", conflicts_with_all = ["tasks", "failures"])]
    pub task: Option<u32>,
    /// Episodes of each task.
    #[arg(long, default_value_t = 1, value_name = "K",
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub samples: u32,
    /// Look into the episodes with the likeliest answers, those of `host eval`; forks are drawn
    /// even so.
    #[arg(long, conflicts_with = "samples")]
    pub greedy: bool,
    /// Look into episodes that were not solved alone, and say which role in which situation lost
    /// them.
    #[arg(long)]
    pub failures: bool,
    /// Pairs of forks at each state.
    #[arg(long, default_value_t = 64, value_name = "N",
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub forks: u32,
    /// Where it is open whether a turn changed more than the margin, up to so many.
    #[arg(long, default_value_t = 256, value_name = "N",
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub at_most: u32,
    /// What a turn has to change to be named.
    #[arg(long, default_value_t = 0.1)]
    pub margin: f64,
    /// What an outcome is: 1 if the task was solved, or what the team earned.
    #[arg(long, value_enum, default_value = "solved")]
    pub by: MeasureName,
    /// Say instead what each role is good for: the tasks once more with the role played by its
    /// policy as it began, by one that has learned nothing, and by the expert, and each role's
    /// part (Shapley value) in what the team solves more than it did when it began.
    #[arg(long, conflicts_with_all = ["task", "samples", "greedy", "failures", "forks", "at_most",
        "margin", "by", "out"])]
    pub roles: bool,
    /// Write what is found into this file, one episode a line, in place of the run's blame.jsonl.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print that instead of tables.
    #[arg(long)]
    pub json: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// What an outcome is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeasureName {
    /// 1 if the task was solved.
    Solved,
    /// What the team earned.
    Reward,
}

impl From<MeasureName> for Measure {
    fn from(name: MeasureName) -> Self {
        match name {
            MeasureName::Solved => Measure::Solved,
            MeasureName::Reward => Measure::Reward,
        }
    }
}
