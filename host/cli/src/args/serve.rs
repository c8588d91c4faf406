//! Arguments of `host serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::DeviceArg;
use super::grant::GrantArg;
use super::policy::DtypeName;
use super::programs::LimitArgs;
use troupe_server::{ServeError, Token};

/// Where OpenEnv's clients look for an environment.
const OPENENV_PORT: u16 = 8000;
/// Where everything else is.
const HTTP_PORT: u16 = 8080;

/// What one run of a program may use: no concern of an environment or a policy. (`host run`
/// has these, too, so they cannot say so themselves.)
const LIMITS: [&str; 4] = ["fuel", "timeout_ms", "memory_mib", "output_kib"];
/// What is served by those who serve no environment.
const OTHERS: [&str; 2] = ["grader", "policy"];

/// `host serve`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["grader", "environment", "policy"]),
    after_help = "\
Examples:
  host serve --environment sudoku
  host serve --environment plan-path --workflow planner-executor --set environment.walls=20
  host serve --environment sudoku --listen 0.0.0.0:8000 --token-file token.txt
  host serve --policy models/SmolLM2-135M-Instruct
  host serve --grader --listen 127.0.0.1:0 --jobs 8 --queue 1024
  curl http://127.0.0.1:8080/run_code -d '{\"language\": \"python\", \"code\": \"print(1)\"}'

One line on standard output says where it listens. SIGTERM or ctrl-c ends it
after what runs; a second one at once. An environment is served as OpenEnv has
it (docs/openenv.md), with a page to play it by hand at /; a policy as OpenAI's
API has it (docs/serve-policies.md); the grader's routes are in docs/server.md."
)]
pub struct ServeArgs {
    /// Serve POST /run_code (with SandboxFusion's fields), POST /grade and GET /health.
    #[arg(long)]
    pub grader: bool,
    /// Serve this environment to OpenEnv's clients: a file, or a bare name.
    #[arg(long, value_name = "FILE", conflicts_with_all = LIMITS)]
    pub environment: Option<PathBuf>,
    /// Serve this policy to clients of OpenAI's API: /v1/models, /v1/completions and
    /// /v1/chat/completions. Its model is called as its folder is.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = LIMITS)]
    pub policy: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free. By default 127.0.0.1:8000 for an environment
    /// and 127.0.0.1:8080 for what else is served.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// A file with a secret that clients show as `Authorization: Bearer`; an address that other
    /// machines can reach needs it, except with --grader (--public).
    #[arg(long, value_name = "FILE", conflicts_with = "grader")]
    pub token_file: Option<PathBuf>,
    /// Programs that run, or episodes that are stepped, at a time; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "policy")]
    pub jobs: usize,
    /// How long a client may take to send the head of a request, and again its body.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub receive_timeout_ms: u64,
    /// Of an environment.
    #[command(flatten)]
    pub sessions: SessionArgs,
    /// Of a policy.
    #[command(flatten)]
    pub models: ModelArgs,
    /// Of the grader and a policy.
    #[command(flatten)]
    pub requests: RequestArgs,
    /// Of the grader.
    #[command(flatten)]
    pub programs: GraderArgs,
}

impl ServeArgs {
    /// Where to listen: if nobody says, only this machine is served.
    pub fn address(&self) -> SocketAddr {
        let port = if self.environment.is_some() { OPENENV_PORT } else { HTTP_PORT };
        self.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into())
    }

    /// What clients have to show, if anything.
    ///
    /// # Errors
    /// There is no token in the file.
    pub fn token(&self) -> Result<Option<Token>, ServeError> {
        self.token_file.as_deref().map(Token::read).transpose()
    }
}

/// How a policy is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --policy")]
pub struct ModelArgs {
    /// Serve an adapter over that policy, too, under a name of its own; may be repeated.
    #[arg(long, value_name = "NAME=FOLDER", value_parser = named_folder,
          conflicts_with_all = ["grader", "environment"])]
    pub adapter: Vec<(String, PathBuf)>,
    /// Let clients load adapters from folders within this one, and unload them, as with vLLM:
    /// POST /v1/load_lora_adapter and /v1/unload_lora_adapter.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["grader", "environment"])]
    pub adapters_within: Option<PathBuf>,
    /// Type of the weights; by default the checkpoint's.
    #[arg(long, value_enum, conflicts_with_all = ["grader", "environment"])]
    pub dtype: Option<DtypeName>,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

/// How requests are taken.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --grader or --policy")]
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
    /// Let other machines reach it; whoever reaches it can run programs.
    #[arg(long, conflicts_with_all = ["environment", "policy"])]
    pub public: bool,
    /// What a run may use, whatever a request asks for.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// How an environment is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --environment")]
pub struct SessionArgs {
    /// Have this workflow order the roles, and clients answer for them: a file, or a bare name.
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHERS)]
    pub workflow: Option<PathBuf>,
    /// Override a setting, such as environment.walls=20 or rollout.max_turns=50.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = OTHERS)]
    pub set: Vec<String>,
    /// Grant a plugin what it asks for: `sandbox`, `search`.
    #[arg(long, value_name = "PLUGIN=RIGHT,…", conflicts_with_all = OTHERS)]
    pub grant: Vec<GrantArg>,
    /// Sessions at a time; a further client is told CAPACITY_REACHED.
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = up_to_a_million, conflicts_with_all = OTHERS)]
    pub sessions: usize,
    /// End a session that was asked nothing for so long.
    #[arg(long, value_name = "N", default_value_t = 3600.0,
          value_parser = seconds, conflicts_with_all = OTHERS)]
    pub idle_timeout_s: f64,
    /// Close a socket from which nothing came for so long, not even the answer to a ping.
    #[arg(long, value_name = "N", default_value_t = 60.0,
          value_parser = seconds, conflicts_with_all = OTHERS)]
    pub silence_timeout_s: f64,
    /// The largest frame, and the largest body of a request.
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = up_to_a_million, conflicts_with_all = OTHERS)]
    pub max_frame_kib: usize,
    /// Requests of one session in a second; further ones wait their turn.
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with_all = OTHERS,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate: u32,
}

fn named_folder(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => {
            Ok((name.to_owned(), folder.into()))
        }
        _ => Err(format!("`{text}` is no NAME=FOLDER")),
    }
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
