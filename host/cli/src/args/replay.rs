//! Arguments of `host replay`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::DeviceArg;

/// `host replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  host replay runs/plan-path-planner-executor --at 40 --set train.learning_rate=3e-4 --steps 20
  host replay runs/plan-path-planner-executor --at 40 --groups
  host replay runs/plan-path-planner-executor --at 40 --drop-group 17 --drop-group 23
  host replay runs/plan-path-planner-executor --at 35 --steps 10 --influence

What is compared is in docs/replay.md.")]
pub struct ReplayArgs {
    /// The run, which stays as it is.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The first step that is to be otherwise.
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u32).range(1..))]
    pub at: u32,
    /// How many steps to go on for.
    #[arg(long, default_value_t = 10, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub steps: u32,
    /// Change a setting from that step on.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave a group of that step out, as if it had not been drawn.
    #[arg(long, value_name = "GROUP")]
    pub drop_group: Vec<usize>,
    /// Multiply the advantages of a group of that step.
    #[arg(long, value_name = "GROUP=FACTOR")]
    pub weigh_group: Vec<Weighed>,
    /// Have two answers of that step, rows of its table, exchange their advantages.
    #[arg(long, value_name = "ROW:ROW")]
    pub swap_sample: Vec<Swapped>,
    /// Find the groups of that step, and of the next ones, that made policies worse.
    #[arg(long, conflicts_with_all = ["set", "drop_group", "weigh_group", "swap_sample", "groups"])]
    pub influence: bool,
    /// List the groups of that step, and stop; the step's table has to be there.
    #[arg(long, conflicts_with_all = ["set", "drop_group", "weigh_group", "swap_sample", "steps",
        "tasks"])]
    pub groups: bool,
    /// Validation tasks by which both futures are measured at their ends, and steps by --influence.
    #[arg(long, default_value_t = 256, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// A group and what its advantages are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed(pub usize, pub f32);

impl FromStr for Weighed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('=').and_then(|(group, factor)| {
            let factor: f32 = factor.trim().parse().ok()?;
            Some(Weighed(group.trim().parse().ok()?, factor)).filter(|_| factor.is_finite())
        });
        parsed.ok_or_else(|| "it is not a group and a number, such as 17=0.5".to_owned())
    }
}

/// Two rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swapped(pub usize, pub usize);

impl FromStr for Swapped {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(one, other)| {
            Some(Swapped(one.trim().parse().ok()?, other.trim().parse().ok()?))
        });
        parsed.ok_or_else(|| "it is not two rows of the table, such as 3:5".to_owned())
    }
}
