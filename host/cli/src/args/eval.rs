//! Arguments of the commands that play held-out tasks.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::{ConfigArgs, DeviceArg};
use troupe_guests::plugin::Split;

/// `host eval`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host eval --run runs/plan-path-planner-executor
  host eval --run runs/plan-path-planner-executor --split test --tasks 2000 --sampled
  host eval --run runs/plan-path-planner-executor --step last
  host eval --run runs/one --run runs/other --split test --samples 8 --outcomes outcomes.jsonl
  host eval --run runs/plan-path-planner-executor --split train --tasks 500 --record teacher.jsonl
  host eval --run runs/plan-path-planner-executor --split test --inspect-log logs/test.eval
  host eval --run runs/one --run runs/other --split test --tasks 4096 --decide --difference 2
  host eval configs/plan-path/quickstart.toml --set policies.shared.path=policies/mine
  host eval my-ensemble.toml --situations situations.json")]
pub struct EvalArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Take the configuration and the policies from this run; several runs make one table.
    #[arg(long, value_name = "RUN", conflicts_with = "config")]
    pub run: Vec<PathBuf>,
    /// Which checkpoint of the run: best (by its validation; the last, if none was validated),
    /// last, or the number of a step. A policy whose path is given with --set is taken from there.
    #[arg(long, value_name = "STEP", default_value = "best", requires = "run")]
    pub step: CheckpointName,
    /// The tasks to measure on.
    #[arg(long, value_enum, default_value = "validation")]
    pub split: SplitName,
    /// How many tasks; by default validation.tasks.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: Option<u32>,
    /// Sample, as [validation] and [rollout] say, instead of taking the likeliest token.
    #[arg(long)]
    pub sampled: bool,
    /// Sample so many episodes of each task, and say how good one is, the best of them, and what
    /// most of them did.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub samples: Option<u32>,
    /// Write what became of every episode into this file, one a line.
    #[arg(long, value_name = "FILE")]
    pub outcomes: Option<PathBuf>,
    /// Write the episodes into this file, one a line, for `host imitate --from`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Write the episodes into this file as a log of Inspect's (its name ends in .eval), for
    /// `inspect view` and the Python package inspect_ai.
    #[arg(long, value_name = "FILE")]
    pub inspect_log: Option<PathBuf>,
    /// Examine the members of the policy that is several (policies.<name>.ensemble) one after the
    /// other, and write how good each is in which situation into this file, by which by =
    /// "situation" chooses. Make it of other tasks than those you report on, such as validation.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inspect_log", "outcomes", "record"])]
    pub situations: Option<PathBuf>,
    /// Compare the members in the same states: let each play on so many times from where a play of
    /// members drawn at random meets a situation. Without it each plays alone, and gets to states
    /// of its own. More than once is of use with --sampled.
    #[arg(long, value_name = "N", requires = "situations",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub forks: Option<u32>,
    /// Play the tasks of two runs a few at a time, with the same draws, until it is known which
    /// solves more. The interval holds however often one looks.
    #[arg(long, conflicts_with_all = ["situations", "inspect_log", "outcomes", "record"])]
    pub decide: bool,
    /// With --decide, also stop once it is known that they differ by less than so many points.
    #[arg(long, value_name = "POINTS", requires = "decide")]
    pub difference: Option<f64>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// A checkpoint of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointName {
    /// The latest.
    Last,
    /// The one that solved most during training.
    Best,
    /// The one after this many steps.
    Step(usize),
}

impl FromStr for CheckpointName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "last" => Ok(CheckpointName::Last),
            "best" => Ok(CheckpointName::Best),
            step => step
                .parse()
                .map(CheckpointName::Step)
                .map_err(|_| "it is neither `last` nor `best` nor the number of a step".to_owned()),
        }
    }
}

/// A part of an environment's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitName {
    /// What is trained on.
    Train,
    /// What is watched during training.
    Validation,
    /// What training never sees.
    Test,
}

impl From<SplitName> for Split {
    fn from(name: SplitName) -> Self {
        match name {
            SplitName::Train => Split::Train,
            SplitName::Validation => Split::Validation,
            SplitName::Test => Split::Test,
        }
    }
}

/// `host play`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host play --plugins sudoku --oracle
  host play --plugins plan-path --oracle --draw --svg drawings
  host play --plugins plan-path --workflow solo --human
  host play --run runs/plan-path-planner-executor --task 3")]
pub struct PlayArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Play with the policies of this run.
    #[arg(long, value_name = "RUN", conflicts_with = "config")]
    pub run: Option<PathBuf>,
    /// Which checkpoint of the run: best, last, or the number of a step.
    #[arg(long, value_name = "STEP", default_value = "best", requires = "run")]
    pub step: CheckpointName,
    /// Let the environment's expert play.
    #[arg(long, conflicts_with_all = ["run", "human"])]
    pub oracle: bool,
    /// Type the answers yourself.
    #[arg(long, conflicts_with = "run")]
    pub human: bool,
    /// Show how the episode looks before every answer, if the environment draws.
    #[arg(long)]
    pub draw: bool,
    /// Write that as images into this folder: 000.svg and so on.
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// Use this workflow instead of the environment's first choice.
    #[arg(long)]
    pub workflow: Option<String>,
    /// Play a task of this family; by default of the first.
    #[arg(long)]
    pub family: Option<String>,
    /// The part of the tasks.
    #[arg(long, value_enum, default_value = "validation")]
    pub split: SplitName,
    /// Which task of the split.
    #[arg(long, default_value_t = 0)]
    pub task: u32,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}
