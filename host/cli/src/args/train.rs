//! Arguments of the commands that train policies.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::{ConfigArgs, DeviceArg};

/// `host train`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host train --plugins sudoku.wasm
  host train configs/plan-path/quickstart.toml --set run.seed=7 --set train.steps=50
  host train --plugins plan-path --set roles=per-role --print-config
  host train --resume runs/plan-path-planner-executor
  host train malt.toml --from-tables runs/trees --set policies.shared.path=policies/warm/shared
  host train configs/plan-path/quickstart.toml --processes 2
  host train configs/language-models/team.toml --plan 24
  host train configs/plan-path/quickstart.toml --forecast
  host train --explain advantage.estimator")]
pub struct TrainArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Go on with a run that was stopped.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "plugins", "set"])]
    pub resume: Option<PathBuf>,
    /// Resume although the run was begun with other settings, plugins, policies
    /// or another device; they are its own from then on.
    #[arg(long, requires = "resume")]
    pub accept_changes: bool,
    /// Learn from the stored answers of these runs, a table in every step, instead of drawing
    /// answers.
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "resume")]
    pub from_tables: Vec<PathBuf>,
    /// Work with so many processes on this machine, among which its processors are
    /// shared out. Over several machines, `torchrun` starts them.
    #[arg(long, value_name = "N", conflicts_with_all = ["print_config", "plan"])]
    pub processes: Option<NonZeroUsize>,
    /// Print the resolved configuration and stop.
    #[arg(long)]
    pub print_config: bool,
    /// Say what a setting, or each of a table, means, accepts and is here, and stop.
    #[arg(long, value_name = "KEY",
        conflicts_with_all = ["resume", "processes", "print_config", "plan", "forecast"])]
    pub explain: Option<String>,
    /// Print what the run would take of a card with so many GB of memory, which need not be here,
    /// and stop.
    #[arg(long, value_name = "GB", conflicts_with = "print_config")]
    pub plan: Option<NonZeroU32>,
    /// Say how long the run will take, how many tokens it will draw and how much disk it will fill,
    /// from a warm start and two steps that are thrown away, and stop.
    #[arg(long, conflicts_with_all = ["resume", "print_config", "plan", "processes"])]
    pub forecast: bool,
    /// Rescore every sampled token with the training graph and print the
    /// largest difference of log-probabilities.
    #[arg(long)]
    pub verify_logprobs: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// `host imitate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host imitate --plugins plan-path --out policies/warm
  host imitate --plugins sudoku --set imitation.success=0.8 --set imitation.ceiling=1.01 --out policies/good
  host imitate --plugins plan-path --from teacher.jsonl --from runs/plan-path-planner-executor --out policies/pupil")]
pub struct ImitateArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Imitate the solved training episodes recorded in these runs or files
    /// instead of the environment's expert.
    #[arg(long, value_name = "RUN|FILE")]
    pub from: Vec<PathBuf>,
    /// Folder to write the policies into, one folder each.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Replace policies that are there already.
    #[arg(long)]
    pub force: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}
