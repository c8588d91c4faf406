//! The command line: parses, calls the library, prints, and turns errors into
//! exit codes in one place.

mod args;
mod eval;
mod grade;
mod imitate;
mod play;
mod plugin;
mod policy;
mod report;
mod run;
mod serve;
mod train;

use std::process;

use clap::Parser;

use args::{Cli, Command, ConfigArgs};

use crate::config::{Config, ConfigError};
use crate::error::ExitCode;
use crate::grading::GradingError;
use crate::imitation::{ImitationError, RecordingError};
use crate::plugin::{PluginError, PluginFailure, THREAD_STACK_BYTES};
use crate::policy::{Device, DeviceChoice, PolicyError};
use crate::program::SandboxError;
use crate::rollout::{CastError, RolloutError};
use crate::sandbox::{StartError, work};
use crate::server::ServeError;
use crate::storage::StorageError;
use crate::team::TeamError;
use crate::trainer::{DoesNotFit, TrainerError};
use crate::training::TrainingError;

/// Run the program.
pub fn main() -> process::ExitCode {
    let code = match Cli::try_parse() {
        Ok(cli) => match run(cli) {
            Ok(code) => code,
            Err(error) => {
                report::error(&error);
                exit_code(&error) as u8
            }
        },
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

/// What is asked for cannot be done as it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

fn run(cli: Cli) -> anyhow::Result<u8> {
    let choice = cli.device.unwrap_or(DeviceChoice::Automatic);
    let device = || Device::choose(choice);
    if !matches!(cli.command, Command::SandboxWorker) {
        // Plugins run on these threads and need room for their stack.
        rayon::ThreadPoolBuilder::new().stack_size(THREAD_STACK_BYTES).build_global()?;
    }
    let code = match cli.command {
        Command::Train(args) => train::run(args, device),
        Command::Eval(args) => eval::run(args, device),
        Command::Imitate(args) => imitate::run(args, device),
        Command::Policy(command) => policy::run(command, device),
        Command::Plugin(command) => plugin::run(command),
        Command::Play(args) => play::run(args, device),
        Command::Run(args) => return run::run(&args),
        Command::Grade(args) => grade::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::SandboxWorker => work().map(|()| ExitCode::Success).map_err(Into::into),
    };
    code.map(|code| code as u8)
}

/// The configuration that the flags describe.
fn load_config(args: &ConfigArgs) -> Result<Config, ConfigError> {
    let mut config = Config::load(args.config.as_deref(), &args.set)?;
    if !args.plugins.is_empty() {
        config.plugins.files.clone_from(&args.plugins);
    }
    config.sandbox.grant.extend(args.grant_sandbox.iter().cloned());
    Ok(config)
}

/// The exit code of the layer an error comes from.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    for cause in error.chain() {
        let setting = matches!(cause.downcast_ref(), Some(PluginError::Setting { .. }));
        if cause.is::<ConfigError>() || cause.is::<UsageError>() || setting {
            return ExitCode::Usage;
        }
        if cause.is::<GradingError>() || cause.is::<RecordingError>() {
            return ExitCode::Usage;
        }
        if cause.is::<grade::MostlyVoid>() {
            return ExitCode::Run;
        }
        if let Some(code) = of_team(cause).or_else(|| of_training(cause)) {
            return code;
        }
        if cause.is::<PluginError>() || cause.is::<PluginFailure>() {
            return ExitCode::Plugin;
        }
        match cause.downcast_ref::<ServeError>() {
            Some(ServeError::NotLoopback { .. } | ServeError::Bind { .. }) => {
                return ExitCode::Usage;
            }
            Some(ServeError::System(_)) | None => {}
        }
        match cause.downcast_ref::<SandboxError>() {
            Some(SandboxError::UnknownLanguage { .. }) => return ExitCode::Plugin,
            Some(SandboxError::Harness { .. }) => return ExitCode::Run,
            None if cause.is::<StartError>() => return ExitCode::Plugin,
            None => {}
        }
        match cause.downcast_ref::<PolicyError>() {
            Some(PolicyError::Storage(_)) => return ExitCode::Storage,
            Some(_) => return ExitCode::Policy,
            None if cause.is::<StorageError>() => return ExitCode::Storage,
            None => {}
        }
    }
    ExitCode::Internal
}

fn of_team(cause: &(dyn std::error::Error + 'static)) -> Option<ExitCode> {
    if cause.is::<CastError>() {
        return Some(ExitCode::Usage);
    }
    Some(match cause.downcast_ref::<TeamError>()? {
        TeamError::Plugin(PluginError::Setting { .. }) | TeamError::Cast(_) => ExitCode::Usage,
        TeamError::Plugin(_) | TeamError::Failure(_) | TeamError::Sandbox(_) => ExitCode::Plugin,
        TeamError::Policy { .. } | TeamError::Tokenizer { .. } => ExitCode::Policy,
    })
}

fn of_training(cause: &(dyn std::error::Error + 'static)) -> Option<ExitCode> {
    if let Some(error) = cause.downcast_ref::<TrainingError>() {
        return Some(match error {
            TrainingError::Storage(_) => ExitCode::Storage,
            TrainingError::Policy(_) => ExitCode::Policy,
            _ => ExitCode::Run,
        });
    }
    if cause.is::<DoesNotFit>() {
        return Some(ExitCode::Usage);
    }
    let stopped =
        cause.is::<ImitationError>() || cause.is::<RolloutError>() || cause.is::<TrainerError>();
    stopped.then_some(ExitCode::Run)
}
