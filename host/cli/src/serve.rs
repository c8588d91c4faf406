//! `host serve`: the grader, or an environment, as a service.

use std::path::Path;
use std::time::Duration;

use super::args::{ServeArgs, SessionArgs};
use super::{UsageError, report};
use troupe_core::config::{Audience, Config, SandboxConfig};
use troupe_core::error::ExitCode;
use troupe_guests::scenario::{Alone, Scenario};
use troupe_sandbox::Sandbox;
use troupe_sandbox::loading::load_plugins;
use troupe_server::{
    EnvironmentServer, Game, Grader, GraderOptions, HttpServer, Languages, OpenEnvOptions,
    allow_many_files,
};

/// Serves until it is told to stop.
pub fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    match &args.environment {
        Some(environment) => serve_environment(args, environment)?,
        None => serve_grader(args)?,
    }
    Ok(ExitCode::Success)
}

fn serve_grader(args: &ServeArgs) -> anyhow::Result<()> {
    let programs = &args.programs;
    let config = SandboxConfig { jobs: args.jobs, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(&config, &[])?;
    let options = GraderOptions {
        listen: args.address(),
        public: programs.public,
        queue: args.requests.queue,
        caps: programs.limits.limits(),
        body_bytes: args.requests.max_body_mib << 20,
        patience: Duration::from_millis(args.receive_timeout_ms),
    };
    options.check()?;
    let server = HttpServer::listen(options.listen)?;
    let mut languages = Languages::load(&sandbox)?;
    languages.check(&sandbox, &programs.limits.limits()).map_err(UsageError)?;
    let grader = Grader::new(&sandbox, languages, options);
    report::line(&format!("listening on http://{}", server.address()));
    Ok(grader.serve(server)?)
}

fn serve_environment(args: &ServeArgs, environment: &Path) -> anyhow::Result<()> {
    let options = options(args)?;
    options.check()?;
    allow_many_files();
    let server = HttpServer::listen(options.listen)?;
    let config = config(&args.sessions, environment)?;
    let game = game(&config, args.sessions.workflow.is_some())?;
    let service = EnvironmentServer::new(game, options);
    report::line(&format!("listening on http://{}", server.address()));
    Ok(service.serve(server)?)
}

fn options(args: &ServeArgs) -> anyhow::Result<OpenEnvOptions> {
    let sessions = &args.sessions;
    let jobs = match args.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    Ok(OpenEnvOptions {
        listen: args.address(),
        token: args.token()?,
        jobs,
        sessions: sessions.sessions,
        frame_bytes: sessions.max_frame_kib << 10,
        idle: Duration::from_secs_f64(sessions.idle_timeout_s),
        silence: Duration::from_secs_f64(sessions.silence_timeout_s),
        patience: Duration::from_millis(args.receive_timeout_ms),
        rate: sessions.rate,
    })
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

/// What the configuration's only family of tasks is played with. Whoever comes over
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
