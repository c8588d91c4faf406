//! Arguments of `host serve` that are the grader's or an environment's.

use std::path::PathBuf;

use clap::Args;

use troupe_terminal::{GrantArg, LimitArgs};

/// What is served by those who serve no environment and no run.
const OTHERS: [&str; 2] = ["grader", "policy"];
/// What is served by those who serve no environment.
const NO_ENVIRONMENT: [&str; 3] = ["grader", "policy", "run"];

/// How requests are taken.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --grader, --policy or --run")]
pub struct RequestArgs {
    /// Requests that may wait besides those whose programs run, or that are answered by a policy
    /// at a time; further ones get 429.
    #[arg(long, value_name = "N", default_value_t = 256, conflicts_with = "environment")]
    pub queue: usize,
    /// The largest body of a request.
    #[arg(long, value_name = "N", default_value = "64", value_parser = at_most_a_tib,
          conflicts_with = "environment")]
    pub max_body_mib: usize,
}

/// How the grader is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --grader")]
pub struct GraderArgs {
    /// Let other machines reach it; anyone who does can run programs.
    #[arg(long, conflicts_with_all = ["environment", "policy", "run"])]
    pub public: bool,
    /// What a run may use, whatever a request asks for.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// How an environment is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --environment (--set and --grant: also with --run)")]
pub struct SessionArgs {
    /// Have this workflow order the roles, and clients answer for them: a file, or a bare name.
    #[arg(long, value_name = "FILE", conflicts_with_all = NO_ENVIRONMENT)]
    pub workflow: Option<PathBuf>,
    /// Override a setting, such as environment.walls=20 or rollout.max_turns=50.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = OTHERS)]
    pub set: Vec<String>,
    /// Grant a plugin what it asks for: `sandbox`, `search`.
    #[arg(long, value_name = "PLUGIN=RIGHT,…", conflicts_with_all = OTHERS)]
    pub grant: Vec<GrantArg>,
    /// Sessions at a time; a further client is told CAPACITY_REACHED.
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = up_to_a_million, conflicts_with_all = NO_ENVIRONMENT)]
    pub sessions: usize,
    /// End a session that was asked nothing for so long.
    #[arg(long, value_name = "N", default_value_t = 3600.0,
          value_parser = seconds, conflicts_with_all = NO_ENVIRONMENT)]
    pub idle_timeout_s: f64,
    /// Close a socket from which nothing came for so long, not even the answer to a ping.
    #[arg(long, value_name = "N", default_value_t = 60.0,
          value_parser = seconds, conflicts_with_all = NO_ENVIRONMENT)]
    pub silence_timeout_s: f64,
    /// The largest frame, and the largest body of a request.
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = up_to_a_million, conflicts_with_all = NO_ENVIRONMENT)]
    pub max_frame_kib: usize,
    /// Requests of one session in a second; further ones wait their turn.
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with_all = NO_ENVIRONMENT,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate: u32,
}

/// A number of MiB that as bytes still fits.
fn at_most_a_tib(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(mib) if mib <= 1 << 20 => Ok(mib),
        _ => Err(format!("`{text}` is no number of MiB up to {}", 1 << 20)),
    }
}

fn up_to_a_million(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=1_000_000).contains(&count) => Ok(count),
        _ => Err(format!("`{text}` is no number from 1 to 1000000")),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=1e7).contains(&seconds) => Ok(seconds),
        _ => Err(format!("`{text}` is no number of seconds from 0.01 to 10000000")),
    }
}
