//! Arguments of the commands that set runs beside each other.

use std::path::PathBuf;

use clap::Args;

use super::DeviceArg;

/// `host experiment`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host experiment configs/experiments/rows.toml
  host experiment configs/experiments/rows.toml --jobs 4
  host experiment configs/experiments/rows.toml --set exam.tasks=64 --set seeds=[1,2] --only team

A second call does what is missing: runs that were killed or stopped go on, and nothing is made
twice. How to write such a file is in docs/experiment-files.md.")]
pub struct ExperimentArgs {
    /// The experiment: a TOML file.
    pub file: PathBuf,
    /// Runs at a time; by default as many as there are processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to fill; by default experiments/ and the file's name.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Override a key of the file, such as exam.tasks=64 or seeds=[1,2].
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Only these rows, and the claims about them.
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    pub only: Vec<String>,
    /// Draw the table of what is there, and start nothing.
    #[arg(long)]
    pub table: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// `host compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host compare runs/plan-path-planner-executor
  host compare runs/before runs/after --json
  host compare before.jsonl after.jsonl")]
pub struct CompareArgs {
    /// A run, or a file that `host eval --outcomes` wrote: what was solved before. A run alone is
    /// compared with itself, before and after training.
    pub before: PathBuf,
    /// Another: what was solved after.
    pub after: Option<PathBuf>,
    /// How many sampled episodes of a task count; by default as many as both have.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub samples: Option<u32>,
    /// The part of the tasks.
    #[arg(long, value_name = "SPLIT", default_value = "test")]
    pub split: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
