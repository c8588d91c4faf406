//! Arguments of `host serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::policy::DtypeName;
use super::{CheckpointName, DeviceArg};
use troupe_core::error::ExitCode;
use troupe_server::command::{
    GraderArgs, Listening, RequestArgs, SessionArgs, serve_environments, serve_grader,
};
use troupe_server::{ServeError, Token};

/// Where OpenEnv's clients look for an environment.
const OPENENV_PORT: u16 = 8000;
/// Where everything else is.
const HTTP_PORT: u16 = 8080;

/// What one run of a program may use: no concern of an environment or a policy. (`host run`
/// has these, too, so they cannot say so themselves.)
const LIMITS: [&str; 4] = ["fuel", "timeout_ms", "memory_mib", "output_kib"];

/// `host serve`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["grader", "environment", "policy", "run"]),
    after_help = "\
Examples:
  host serve --environment sudoku
  host serve --environment sudoku --environment plan-path
  host serve --environment plan-path --workflow planner-executor --set environment.walls=20
  host serve --environment sudoku --listen 0.0.0.0:8000 --token-file token.txt
  host serve --policy models/SmolLM2-135M-Instruct
  host serve --run runs/math-solver-verifier
  host serve --grader --listen 127.0.0.1:0 --jobs 8 --queue 1024
  curl http://127.0.0.1:8080/run_code -d '{\"language\": \"python\", \"code\": \"print(1)\"}'

One line on standard output says where it listens. SIGTERM or ctrl-c ends it
after what runs; a second one at once. An environment is served as OpenEnv has
it (docs/openenv.md), with a page to play it by hand at /; a policy or a team as
OpenAI's API has it (docs/serve-policies.md); the grader's routes are in docs/server.md."
)]
pub struct ServeArgs {
    /// Serve POST /run_code (with SandboxFusion's fields), POST /grade and GET /health.
    #[arg(long)]
    pub grader: bool,
    /// Serve this environment to OpenEnv's clients: a file, or a bare name. Of several, each is
    /// served below its name.
    #[arg(long, value_delimiter = ',', value_name = "FILE", conflicts_with_all = LIMITS)]
    pub environment: Vec<PathBuf>,
    /// Serve this policy to clients of OpenAI's API: /v1/models, /v1/completions and
    /// /v1/chat/completions. Its model is called as its folder is.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = LIMITS)]
    pub policy: Option<PathBuf>,
    /// Serve the team of this run as one model of that API: a question becomes a task that it
    /// plays. The model is called as the run is.
    #[arg(long, value_name = "RUN", conflicts_with_all = LIMITS)]
    pub run: Option<PathBuf>,
    /// Which checkpoint of the run: best (by its validation; the last, if none was validated),
    /// last, or the number of a step.
    #[arg(long, value_name = "STEP", default_value = "best", requires = "run")]
    pub step: CheckpointName,
    /// Where to listen; port 0 is any that is free. By default 127.0.0.1:8000 for an environment
    /// and 127.0.0.1:8080 for what else is served.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// A file with a secret that clients show as `Authorization: Bearer`; an address that other
    /// machines can reach needs it, except with --grader (--public).
    #[arg(long, value_name = "FILE", conflicts_with = "grader")]
    pub token_file: Option<PathBuf>,
    /// Programs that run, or episodes that are stepped, at a time; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["policy", "run"])]
    pub jobs: usize,
    /// How long a client may take to send the head of a request, and again its body.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    pub receive_timeout_ms: u64,
    /// Of an environment.
    #[command(flatten)]
    pub sessions: SessionArgs,
    /// Options of a policy.
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
    /// Where to listen; by default only this machine is served.
    pub fn address(&self) -> SocketAddr {
        let port = if self.environment.is_empty() { HTTP_PORT } else { OPENENV_PORT };
        self.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into())
    }

    /// What clients have to show, if anything.
    ///
    /// # Errors
    /// There is no token in the file.
    pub fn token(&self) -> Result<Option<Token>, ServeError> {
        self.token_file.as_deref().map(Token::read).transpose()
    }

    /// How it listens, whatever is served.
    ///
    /// # Errors
    /// If the token cannot be read.
    pub fn listening(&self) -> Result<Listening, ServeError> {
        Ok(Listening {
            address: self.address(),
            token: self.token()?,
            jobs: self.jobs,
            patience: Duration::from_millis(self.receive_timeout_ms),
        })
    }

    /// Serve the grader or an environment until told to stop.
    ///
    /// # Errors
    /// If what is served cannot be loaded, or the address cannot be had.
    pub fn serve(&self) -> anyhow::Result<ExitCode> {
        let listening = self.listening()?;
        match self.environment.as_slice() {
            [] => serve_grader(listening, &self.programs, &self.requests)?,
            environments => serve_environments(listening, &self.sessions, environments)?,
        }
        Ok(ExitCode::Success)
    }
}

/// How a policy is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --policy (the device: also with --run)")]
pub struct ModelArgs {
    /// Serve an adapter over that policy, too, under a name of its own; may be repeated.
    #[arg(long, value_name = "NAME=FOLDER", value_parser = named_folder,
          conflicts_with_all = ["grader", "environment", "run"])]
    pub adapter: Vec<(String, PathBuf)>,
    /// Let clients load adapters from folders within this one, and unload them, as with vLLM:
    /// POST /v1/load_lora_adapter and /v1/unload_lora_adapter.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["grader", "environment", "run"])]
    pub adapters_within: Option<PathBuf>,
    /// Type of the weights; by default the checkpoint's. Where float32 is asked for, none is
    /// rounded to answer faster.
    #[arg(long, value_enum, conflicts_with_all = ["grader", "environment", "run"])]
    pub dtype: Option<DtypeName>,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArg,
}

fn named_folder(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => {
            Ok((name.to_owned(), folder.into()))
        }
        _ => Err(format!("`{text}` is no NAME=FOLDER")),
    }
}
