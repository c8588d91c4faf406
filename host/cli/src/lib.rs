//! The command line: parses, prints, turns errors into exit codes, and carries
//! out the commands that need no policies. The others are `host-engine`'s.

pub mod args;
mod torch;
mod become_engine;
mod explain;
mod processes;
mod resolve_rows;
mod run;

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use signal_hook::consts::SIGXFSZ;

use args::{Cli, Command, ConfigArgs, TrainArgs};
use become_engine::become_engine;
pub use resolve_rows::resolve_rows;

use troupe_author::commands::provide;
use troupe_core::config::{Config, ConfigError};
use troupe_core::error::{Asked, ExitCode, ask, code_of};
use troupe_core::rank::Rank;
use troupe_grading::commands::{check_answer, grade};
use troupe_guests::plugin::announce_compilations;
use troupe_report::commands::{compare, report, watch};
use troupe_sandbox::work;
use troupe_terminal::with_workers;

/// The errors of what is below, which say how the process ends.
pub fn errors() -> Vec<Asked> {
    let of_wings = [
        troupe_author::ERRORS,
        troupe_core::ERRORS,
        troupe_data::ERRORS,
        troupe_experiment::ERRORS,
        troupe_grading::ERRORS,
        troupe_guests::ERRORS,
        troupe_registry::ERRORS,
        troupe_sandbox::ERRORS,
        troupe_server::ERRORS,
        troupe_terminal::ERRORS,
    ];
    // Last: an error that names its subject knows better.
    [of_wings.concat(), vec![ask::<io::Error>]].concat()
}

/// Run `host`.
pub fn main() -> process::ExitCode {
    perform(carry_out, &errors()).into()
}

/// Parse the command line, carry it out, say how that ended, and return the exit code. `kinds` are
/// the errors that know with which.
pub fn perform(carry_out: impl FnOnce(Cli) -> anyhow::Result<u8>, kinds: &[Asked]) -> u8 {
    announce_compilations(troupe_terminal::note);
    outlive_file_limits();
    match Cli::try_parse() {
        Ok(cli) => carry_out(cli).unwrap_or_else(|error| {
            troupe_terminal::error(&error);
            code_of(error.chain(), kinds).unwrap_or(ExitCode::Internal) as u8
        }),
        Err(error) => {
            // Help and version come this way, too, and go to standard output.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Success };
            // If even the terminal is gone, there is no reader.
            let _ = error.print();
            code as u8
        }
    }
}

/// A write beyond the largest file that this process may write is an error of the write, and not
/// the end of the process by a signal.
fn outlive_file_limits() {
    // Without a handler, a limit that is met ends the process: nothing is lost by trying.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

fn carry_out(cli: Cli) -> anyhow::Result<u8> {
    if let Command::Train(TrainArgs { explain: Some(key), config, .. }) = &cli.command {
        explain::run(key, config)?;
        return Ok(ExitCode::Success as u8);
    }
    if let Command::Train(args) = &cli.command
        && args.resume.is_none()
        && matches!(Rank::from_environment(), Ok(None))
    {
        look_at(&args.config)?;
    }
    if let Some(config) = cli.command.config() {
        provide(config)?;
    }
    let code = match cli.command {
        Command::SandboxWorker => work().map(|()| ExitCode::Success).map_err(Into::into),
        Command::Run(args) => return run::run(&args),
        Command::Data(command) => troupe_data::commands::run(command),
        Command::Report(args) => with_workers(|| report::run(&args)),
        Command::Watch(args) => watch::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Experiment(args) => return troupe_experiment::command::run(&args),
        Command::Grade(args) => with_workers(|| grade::run(&args)),
        Command::CheckAnswer(args) => check_answer::run(&args).map_err(Into::into),
        Command::Serve(args) if args.policy.is_some() || args.run.is_some() => {
            Err(become_engine().into())
        }
        Command::Serve(args) => with_workers(|| args.serve()),
        Command::Plugin(command) => with_workers(|| troupe_author::commands::run(command)),
        Command::Train(args) => match processes::to_start(&args)? {
            Some(count) => return processes::run(count),
            None => Err(become_engine().into()),
        },
        Command::Advantage(_)
        | Command::Blame(_)
        | Command::Eval(_)
        | Command::Imitate(_)
        | Command::Policy(_)
        | Command::Play(_)
        | Command::Replay(_)
        | Command::ResolveRows(_)
        | Command::Verify(_) => Err(become_engine().into()),
    };
    code.map(|code| code as u8)
}

/// What is wrong with a configuration is said at once, and not after libtorch has been loaded.
fn look_at(args: &ConfigArgs) -> Result<(), ConfigError> {
    args.settle_plugins(&mut Config::layered(&args.config, &args.set)?)
}

#[cfg(test)]
mod tests;
