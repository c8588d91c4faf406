//! Arguments of the commands that show runs.

use std::path::PathBuf;

use clap::Args;

use crate::page::Bounds;

/// `host report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host report runs/plan-path-planner-executor
  host report runs/shared runs/per-role --out compared.html")]
pub struct ReportArgs {
    /// Folders of runs; several are laid over each other.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The file to write; by default report.html in the run's folder, or, of several runs, in the
    /// current one.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Show so many recorded episodes at most.
    #[arg(long, value_name = "N", default_value_t = Bounds::default().episodes)]
    pub episodes: usize,
    /// Show so many answers of the tables at most.
    #[arg(long, value_name = "N", default_value_t = Bounds::default().answers)]
    pub answers: usize,
    /// Cut texts after so many bytes.
    #[arg(long, value_name = "N", default_value_t = Bounds::default().text_bytes)]
    pub text_bytes: usize,
    /// Fill so many MiB at most with episodes, answers and drawings.
    #[arg(long, value_name = "N", default_value_t = (Bounds::default().bytes >> 20) as u64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub mib: u64,
}

/// `host watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host watch runs/plan-path-planner-executor
  host watch runs/plan-path-planner-executor | head -60

Tab and the arrow keys, or 1 to 4, change the view; q ends it. Where there is no
terminal, everything is printed once.")]
pub struct WatchArgs {
    /// The run's folder.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
}

/// `host compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host compare runs/plan-path-planner-executor
  host compare runs/before runs/after --json
  host compare before.jsonl after.jsonl
  host compare before.jsonl after.jsonl --also strict-before.jsonl strict-after.jsonl")]
pub struct CompareArgs {
    /// A run, or a file that `host eval --outcomes` wrote: what was solved before. A run alone is
    /// compared with itself, before and after training.
    pub before: PathBuf,
    /// Another: what was solved after.
    pub after: Option<PathBuf>,
    /// The same two under another evaluator, as under another format or step limit: what it sees
    /// more or less of what was gained and lost, task by task.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    pub also: Vec<PathBuf>,
    /// How many sampled episodes of a task count; by default as many as all have.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub samples: Option<u32>,
    /// The part of the tasks.
    #[arg(long, value_name = "SPLIT", default_value = "test")]
    pub split: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
