//! `host serve`: the grader, or an environment, as a service.

mod args;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use args::{GraderArgs, RequestArgs, SessionArgs};

use crate::{
    EnvironmentServer, GalleryServer, Game, Grader, GraderOptions, HttpServer, Languages,
    OpenEnvOptions, Token, allow_many_files,
};
use troupe_core::config::{Audience, Config, SandboxConfig};
use troupe_guests::scenario::{Alone, Scenario};
use troupe_sandbox::Sandbox;
use troupe_sandbox::loading::load_plugins;
use troupe_terminal::{self as terminal, UsageError};

/// How a service listens, whatever it serves.
pub struct Listening {
    /// Where.
    pub address: SocketAddr,
    /// What every request has to show, if anything.
    pub token: Option<Token>,
    /// Requests worked on at a time; 0 means one per core.
    pub jobs: usize,
    /// How long a request may take to arrive.
    pub patience: Duration,
}

/// Serve the grader until told to stop.
///
/// # Errors
/// If there is no interpreter, or the address cannot be had.
pub fn serve_grader(
    listening: Listening,
    args: &GraderArgs,
    requests: &RequestArgs,
) -> anyhow::Result<()> {
    let config = SandboxConfig { jobs: listening.jobs, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(&config, &[])?;
    let options = GraderOptions {
        listen: listening.address,
        public: args.public,
        queue: requests.queue,
        caps: args.limits.limits(),
        body_bytes: requests.max_body_mib << 20,
        patience: listening.patience,
    };
    options.check()?;
    let server = HttpServer::listen(options.listen)?;
    let mut languages = Languages::load(&sandbox)?;
    languages.check(&sandbox, &args.limits.limits()).map_err(UsageError)?;
    let grader = Grader::new(&sandbox, languages, options);
    terminal::line(&format!("listening on http://{}", server.address()));
    Ok(grader.serve(server)?)
}

/// Serve environments until told to stop: one by itself, several below their names.
///
/// # Errors
/// If an environment cannot be loaded, two have the same name, or the address cannot be had.
pub fn serve_environments(
    listening: Listening,
    args: &SessionArgs,
    environments: &[PathBuf],
) -> anyhow::Result<()> {
    let options = options(listening, args);
    options.check()?;
    allow_many_files();
    let server = HttpServer::listen(options.listen)?;
    let mut games: Vec<Game> = Vec::new();
    for environment in environments {
        let game = game(&config(args, environment)?, args.workflow.is_some())?;
        if games.iter().any(|known| known.name() == game.name()) {
            let name = game.name();
            return Err(
                UsageError(format!("two environments are called `{name}`; serve one")).into()
            );
        }
        games.push(game);
    }
    let address = format!("listening on http://{}", server.address());
    if games.len() > 1 {
        let service = GalleryServer::new(games, options);
        terminal::line(&address);
        return Ok(service.serve(server)?);
    }
    let only = games.pop().ok_or_else(|| UsageError("no environment was named".to_owned()))?;
    let service = EnvironmentServer::new(only, options);
    terminal::line(&address);
    Ok(service.serve(server)?)
}

fn options(listening: Listening, args: &SessionArgs) -> OpenEnvOptions {
    let jobs = match listening.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    OpenEnvOptions {
        listen: listening.address,
        token: listening.token,
        jobs,
        sessions: args.sessions,
        frame_bytes: args.max_frame_kib << 10,
        idle: Duration::from_secs_f64(args.idle_timeout_s),
        silence: Duration::from_secs_f64(args.silence_timeout_s),
        patience: listening.patience,
        rate: args.rate,
    }
}

fn config(args: &SessionArgs, environment: &Path) -> anyhow::Result<Config> {
    let mut config = Config::layered(&[] as &[&Path], &args.set)?;
    config.plugins.files = [Some(environment), args.workflow.as_deref()]
        .into_iter()
        .flatten()
        .map(Path::to_owned)
        .collect();
    args.grant.iter().for_each(|grant| grant.apply(&mut config));
    Ok(config)
}

/// What the configuration's only family of tasks is played with. A client that comes over
/// a network is no tiny policy, so the environment speaks to language models.
fn game(config: &Config, with_workflow: bool) -> anyhow::Result<Game> {
    let (library, _sandbox) = load_plugins(config)?;
    let families = config.families();
    let [family] = &families[..] else {
        return Err(
            UsageError("one family of tasks is served; leave out [[mix]]".to_owned()).into()
        );
    };
    let audience = Audience::Language;
    if with_workflow {
        let scenario = Scenario::assemble(config, family, audience, &library)?;
        return Ok(Game::Team(Box::new(scenario)));
    }
    Ok(Game::Alone(Box::new(Alone::assemble(config, family, audience, &library)?)))
}
