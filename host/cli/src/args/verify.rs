//! Arguments of `host verify`.

use std::path::PathBuf;

use clap::Args;

use super::DeviceArg;

/// `host verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host verify runs/plan-path-planner-executor --steps 0
  host verify runs/plan-path-planner-executor
  host verify runs/plan-path-planner-executor --steps 20 --seed 7
  host verify runs/plan-path-planner-executor --bundle for-a-reviewer

Exit code 7 says that something is not what the run left. What is checked, and what that shows, is
in docs/verify.md.")]
pub struct VerifyArgs {
    /// The run, or what `--bundle` made of one.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Compute so many steps again, drawn at random, each from the nearest checkpoint before it,
    /// and compare all bits.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub steps: usize,
    /// Which steps are drawn; by default it depends on the time, so that nobody can know before.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Draw only from steps that are at most so many after a checkpoint.
    #[arg(long, value_name = "N")]
    pub reach: Option<usize>,
    /// Compute again although the run was computed on another kind of processor, where last digits
    /// may differ.
    #[arg(long)]
    pub anyway: bool,
    /// Put what somebody else needs to verify the run into this folder, and stop.
    #[arg(long, value_name = "FOLDER",
        conflicts_with_all = ["steps", "seed", "reach", "anyway", "json"])]
    pub bundle: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}
