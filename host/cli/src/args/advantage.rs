//! Arguments of `host advantage`.

use std::path::PathBuf;

use clap::Args;

use super::DeviceArg;

/// `host advantage`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host advantage --run runs/plan-path-planner-executor --compare at-grpo,rloo,gdpo,naive
  host advantage --run runs/sudoku-filler-checker --compare at-grpo,naive --first 1 --last 20 --json
  host advantage --run runs/plan-path-planner-executor --compare at-grpo,naive --truth 32

What the columns mean is in docs/table.md.")]
pub struct AdvantageArgs {
    /// The run whose stored answers are compared anew.
    #[arg(long, value_name = "RUN")]
    pub run: PathBuf,
    /// Estimators, or `stored` for what the run itself made of its answers, a critic's verdicts
    /// perhaps; all are set beside the first.
    #[arg(long, value_delimiter = ',', required = true, value_name = "ESTIMATOR")]
    pub compare: Vec<String>,
    /// The first step.
    #[arg(long, default_value_t = 1)]
    pub first: usize,
    /// The last step; by default the last that was stored.
    #[arg(long)]
    pub last: Option<usize>,
    /// Play on from stored states, so often with each answer and as often with a fresh
    /// one, and say how far each estimator is from what answers were really worth.
    #[arg(long, value_name = "EPISODES", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub truth: Option<u32>,
    /// With --truth, how many states of a step.
    #[arg(long, default_value_t = 64, value_name = "STATES", requires = "truth")]
    pub states: usize,
    /// With --truth, count what the whole team earns, and not what a seat earns for itself, such as
    /// a judge's praise.
    #[arg(long, requires = "truth")]
    pub team_only: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}
