//! The command line: parses, prints, turns errors into exit codes, and carries
//! out the commands that need no policies. The others are `host-engine`'s.

pub mod args;
mod check_answer;
mod data;
mod compare;
mod become_engine;
#[cfg(feature = "engine")]
pub mod engine;
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
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use signal_hook::consts::SIGXFSZ;

use args::{Cli, Command, ConfigArgs};

use troupe_author::project::ProjectError;
use troupe_core::config::{Config, ConfigError};
use troupe_core::error::{Asked, Coded, ExitCode, ask, code_of};
use troupe_core::program::SandboxError;
use troupe_core::rank::{Rank, RankError, processors};
use troupe_core::storage::StorageError;
use troupe_data::{ImportError, RecordFileError};
use troupe_experiment::ExperimentError;
use troupe_grading::GradingError;
use troupe_guests::foreign::ForeignError;
use troupe_guests::plugin::{
    PluginError, PluginFailure, THREAD_STACK_BYTES, announce_compilations,
};
use troupe_guests::records::RecordError;
use troupe_guests::retrieval::CorpusError;
use troupe_guests::scenario::ScenarioError;
use troupe_sandbox::loading::LoadError;
use troupe_sandbox::{StartError, work};
use troupe_server::ServeError;

/// What is asked for cannot be done as it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl Coded for UsageError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// The errors of this crate that say how the process ends.
pub const KINDS: [Asked; 22] = [
    ask::<check_answer::PairError>,
    ask::<ConfigError>,
    ask::<CorpusError>,
    ask::<ExperimentError>,
    ask::<ForeignError>,
    ask::<GradingError>,
    ask::<grade::MostlyVoid>,
    ask::<ImportError>,
    ask::<LoadError>,
    ask::<PluginError>,
    ask::<PluginFailure>,
    ask::<ProjectError>,
    ask::<RankError>,
    ask::<RecordError>,
    ask::<RecordFileError>,
    ask::<SandboxError>,
    ask::<ScenarioError>,
    ask::<ServeError>,
    ask::<StartError>,
    ask::<StorageError>,
    ask::<UsageError>,
    // Last: whoever says what it was about knows better.
    ask::<io::Error>,
];

/// Run `host`.
pub fn main() -> process::ExitCode {
    perform(carry_out, &KINDS)
}

/// Parse the command line, carry it out, and say how that ended. `kinds` are the errors that know
/// with which exit code.
pub fn perform(
    carry_out: impl FnOnce(Cli) -> anyhow::Result<u8>,
    kinds: &[Asked],
) -> process::ExitCode {
    announce_compilations(report::note);
    outlive_file_limits();
    let code = match Cli::try_parse() {
        Ok(cli) => carry_out(cli).unwrap_or_else(|error| {
            report::error(&error);
            code_of(error.chain(), kinds).unwrap_or(ExitCode::Internal) as u8
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

/// A write beyond the largest file that this process may write is an error of the write, and not
/// the end of the process by a signal.
fn outlive_file_limits() {
    // Without a handler, a limit that is met ends the process: nothing is lost by trying.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

fn carry_out(cli: Cli) -> anyhow::Result<u8> {
    let code = match cli.command {
        Command::SandboxWorker => work().map(|()| ExitCode::Success).map_err(Into::into),
        Command::Run(args) => return run::run(&args),
        Command::Data(command) => data::run(command),
        Command::Report(args) => with_workers(|| page::run(&args)),
        Command::Watch(args) => watch::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Experiment(args) => return experiment::run(&args),
        Command::Grade(args) => with_workers(|| grade::run(&args)),
        Command::CheckAnswer(args) => check_answer::run(&args).map_err(Into::into),
        Command::Serve(args) if args.policy.is_some() => Err(become_engine::become_engine().into()),
        Command::Serve(args) => with_workers(|| serve::run(&args)),
        Command::Plugin(command) => with_workers(|| plugin::run(command)),
        Command::Train(args) => match processes::to_start(&args)? {
            Some(count) => return processes::run(count),
            None => Err(become_engine::become_engine().into()),
        },
        Command::Advantage(_)
        | Command::Eval(_)
        | Command::Imitate(_)
        | Command::Policy(_)
        | Command::Play(_) => Err(become_engine::become_engine().into()),
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

#[cfg(test)]
mod tests;
