//! The command line: parses, prints, turns errors into exit codes, and carries
//! out the commands that need no policies. The others are `host-engine`'s.

pub mod args;
mod check_answer;
mod data;
mod compare;
mod engine;
mod experiment;
mod grade;
mod page;
mod plugin;
mod processes;
pub mod report;
mod run;
mod serve;
mod watch;

use std::env;
use std::error::Error;
use std::process;

use clap::Parser;

use args::{Cli, Command, ConfigArgs};

use crate::config::{Config, ConfigError};
use crate::data::{ImportError, RecordFileError};
use crate::error::ExitCode;
use crate::experiment::ExperimentError;
use crate::foreign::ForeignError;
use crate::grading::GradingError;
use crate::loading::LoadError;
use crate::plugin::{PluginError, PluginFailure, THREAD_STACK_BYTES, announce_compilations};
use crate::program::SandboxError;
use crate::project::ProjectError;
use crate::rank::{Rank, RankError, processors};
use crate::sandbox::{StartError, work};
use crate::scenario::ScenarioError;
use crate::server::ServeError;
use crate::storage::StorageError;

/// What is asked for cannot be done as it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Run `host`.
pub fn main() -> process::ExitCode {
    perform(carry_out, code_of)
}

/// Parse the command line, carry it out, and say how that ended. `code_of` knows
/// the exit code of an error, if it knows the error.
pub fn perform(
    carry_out: impl FnOnce(Cli) -> anyhow::Result<u8>,
    code_of: impl Fn(&(dyn Error + 'static)) -> Option<ExitCode>,
) -> process::ExitCode {
    announce_compilations(report::note);
    let code = match Cli::try_parse() {
        Ok(cli) => carry_out(cli).unwrap_or_else(|error| {
            report::error(&error);
            error.chain().find_map(code_of).unwrap_or(ExitCode::Internal) as u8
        }),
        Err(error) => {
            // Help and version come this way, too, and go to standard output.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Success };
            // If even the terminal is gone, there is nobody to tell.
            let _ = error.print();
            code as u8
        }
    };
    process::ExitCode::from(code)
}

fn carry_out(cli: Cli) -> anyhow::Result<u8> {
    let code = match cli.command {
        Command::SandboxWorker => work().map(|()| ExitCode::Success).map_err(Into::into),
        Command::Run(args) => return run::run(&args),
        Command::Data(command) => data::run(command),
        Command::Report(args) => with_workers(|| page::run(&args)),
        Command::Watch(args) => watch::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Experiment(args) => return experiment::run(&args, cli.device),
        Command::Grade(args) => with_workers(|| grade::run(&args)),
        Command::CheckAnswer(args) => check_answer::run(&args).map_err(Into::into),
        Command::Serve(args) if args.policy.is_some() => Err(engine::become_engine().into()),
        Command::Serve(args) => with_workers(|| serve::run(&args)),
        Command::Plugin(command) => with_workers(|| plugin::run(command)),
        Command::Train(args) => match processes::to_start(&args)? {
            Some(count) => return processes::run(count),
            None => Err(engine::become_engine().into()),
        },
        Command::Advantage(_)
        | Command::Eval(_)
        | Command::Imitate(_)
        | Command::Policy(_)
        | Command::Play(_) => Err(engine::become_engine().into()),
    };
    code.map(|code| code as u8)
}

/// Do something on a machine whose threads have room for the plugins' stack.
///
/// # Errors
/// If there are no threads to be had, or it fails itself.
pub fn with_workers<R>(work: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<R> {
    let mut pool = rayon::ThreadPoolBuilder::new().stack_size(THREAD_STACK_BYTES);
    if Rank::of_environment()?.is_some() && env::var_os("RAYON_NUM_THREADS").is_none() {
        pool = pool.num_threads(processors());
    }
    pool.build_global()?;
    work()
}

/// The configuration that the flags describe.
///
/// # Errors
/// If the file cannot be read, or a setting is wrong.
pub fn load_config(args: &ConfigArgs) -> Result<Config, ConfigError> {
    let mut config = Config::layered(&args.config, &args.set)?;
    if !args.plugins.is_empty() {
        config.plugins.files.clone_from(&args.plugins);
    }
    args.grant(&mut config);
    Ok(config)
}

/// The exit code of the layer an error comes from, if it is one of these layers.
pub fn code_of(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    if cause.is::<ConfigError>()
        || cause.is::<UsageError>()
        || cause.is::<RankError>()
        || cause.is::<GradingError>()
        || cause.is::<check_answer::PairError>()
        || cause.is::<RecordFileError>()
    {
        return Some(ExitCode::Usage);
    }
    if cause.is::<grade::MostlyVoid>() {
        return Some(ExitCode::Run);
    }
    if cause.is::<StorageError>() {
        return Some(ExitCode::Storage);
    }
    if let Some(error) = cause.downcast_ref::<ExperimentError>() {
        return match error {
            ExperimentError::Storage(_) => Some(ExitCode::Storage),
            ExperimentError::Missing(_) | ExperimentError::Start { .. } => None,
            _ => Some(ExitCode::Usage),
        };
    }
    of_plugins(cause).or_else(|| of_programs(cause)).or_else(|| of_data(cause))
}

fn of_data(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    cause.downcast_ref().map(|error| match error {
        ImportError::Storage(_) => ExitCode::Storage,
        _ => ExitCode::Usage,
    })
}

fn of_plugins(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    let of = |error: &PluginError| match error {
        PluginError::Setting { .. } => ExitCode::Usage,
        _ => ExitCode::Plugin,
    };
    if let Some(error) = cause.downcast_ref::<LoadError>() {
        return Some(match error {
            LoadError::Plugin(error) => of(error),
            LoadError::Sandbox(_) => ExitCode::Plugin,
            LoadError::Corpus(_) => ExitCode::Usage,
        });
    }
    let of_server = |error: &ForeignError| match error {
        ForeignError::Server { .. } => ExitCode::Plugin,
        _ => ExitCode::Usage,
    };
    if let Some(error) = cause.downcast_ref::<ForeignError>() {
        return Some(of_server(error));
    }
    if let Some(error) = cause.downcast_ref::<ScenarioError>() {
        return Some(match error {
            ScenarioError::Plugin(error) => of(error),
            ScenarioError::Failure(_) => ExitCode::Plugin,
            ScenarioError::Foreign(error) => of_server(error),
            _ => ExitCode::Usage,
        });
    }
    if let Some(error) = cause.downcast_ref::<ProjectError>() {
        return Some(match error {
            ProjectError::Build(_) | ProjectError::NotAPlugin(..) => ExitCode::Plugin,
            ProjectError::Storage(_) => ExitCode::Storage,
            _ => ExitCode::Usage,
        });
    }
    let failed = || cause.is::<PluginFailure>().then_some(ExitCode::Plugin);
    cause.downcast_ref().map(of).or_else(failed)
}

fn of_programs(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    if cause.is::<StartError>() {
        return Some(ExitCode::Plugin);
    }
    if let Some(error) = cause.downcast_ref::<ServeError>() {
        return match error {
            ServeError::System(_) => None,
            _ => Some(ExitCode::Usage),
        };
    }
    cause.downcast_ref::<SandboxError>().map(|error| match error {
        SandboxError::UnknownLanguage { .. } => ExitCode::Plugin,
        SandboxError::Harness { .. } => ExitCode::Run,
    })
}
