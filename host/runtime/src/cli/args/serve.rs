//! Arguments of `host serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::grant::GrantArg;
use super::programs::LimitArgs;

/// `host serve`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["grader", "environment"]),
    after_help = "\
Examples:
  host serve --environment sudoku
  host serve --environment plan-path --workflow planner-executor --set environment.walls=20
  host serve --environment sudoku --listen 0.0.0.0:8000 --token-file token.txt
  host serve --grader --listen 127.0.0.1:0 --jobs 8 --queue 1024
  curl http://127.0.0.1:8080/run_code -d '{\"language\": \"python\", \"code\": \"print(1)\"}'

One line on standard output says where it listens. SIGTERM or ctrl-c ends it
after what runs; a second one at once. An environment is served as OpenEnv has
it (docs/openenv.md), with a page to play it by hand at /."
)]
pub struct ServeArgs {
    /// Serve POST /run_code (with SandboxFusion's fields), POST /grade and GET /health.
    #[arg(long)]
    pub grader: bool,
    /// Serve this environment to OpenEnv's clients: a file, or a bare name.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "public", "queue", "max_body_mib", "fuel", "timeout_ms", "memory_mib", "output_kib",
        ]
    )]
    pub environment: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free. By default 127.0.0.1:8080 for the grader and
    /// 127.0.0.1:8000 for an environment.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Programs that run, or episodes that are stepped, at a time; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// How long a client may take to send the head of a request, and again its body.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub receive_timeout_ms: u64,
    /// Of the grader.
    #[command(flatten)]
    pub programs: GraderArgs,
    /// Of an environment.
    #[command(flatten)]
    pub sessions: SessionArgs,
}

/// How the grader is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --grader")]
pub struct GraderArgs {
    /// Let other machines reach it; whoever reaches it can run programs.
    #[arg(long)]
    pub public: bool,
    /// Requests that may wait besides; further ones are answered 429.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub queue: usize,
    /// The largest body of a request.
    #[arg(long, value_name = "N", default_value = "64", value_parser = at_most_a_tib)]
    pub max_body_mib: usize,
    /// What a run may use, whatever a request asks for.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// How an environment is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --environment")]
pub struct SessionArgs {
    /// Have this workflow order the roles, and clients answer for them: a file, or a bare name.
    #[arg(long, value_name = "FILE", conflicts_with = "grader")]
    pub workflow: Option<PathBuf>,
    /// Override a setting, such as environment.walls=20 or rollout.max_turns=50.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "grader")]
    pub set: Vec<String>,
    /// Grant a plugin what it asks for: `sandbox`, `search`.
    #[arg(long, value_name = "PLUGIN=RIGHT,…", conflicts_with = "grader")]
    pub grant: Vec<GrantArg>,
    /// A file with a secret that clients show as `Authorization: Bearer`; an address that other
    /// machines can reach needs it.
    #[arg(long, value_name = "FILE", conflicts_with = "grader")]
    pub token_file: Option<PathBuf>,
    /// Sessions at a time; a further client is told CAPACITY_REACHED.
    #[arg(long, value_name = "N", default_value_t = 4096, conflicts_with = "grader",
          value_parser = up_to_a_million)]
    pub sessions: usize,
    /// End a session that was asked nothing for so long.
    #[arg(long, value_name = "N", default_value_t = 3600.0, conflicts_with = "grader",
          value_parser = seconds)]
    pub idle_timeout_s: f64,
    /// Close a socket from which nothing came for so long, not even the answer to a ping.
    #[arg(long, value_name = "N", default_value_t = 60.0, conflicts_with = "grader",
          value_parser = seconds)]
    pub silence_timeout_s: f64,
    /// The largest frame, and the largest body of a request.
    #[arg(long, value_name = "N", default_value_t = 1024, conflicts_with = "grader",
          value_parser = up_to_a_million)]
    pub max_frame_kib: usize,
    /// Requests of one session in a second; further ones wait their turn.
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "grader",
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
