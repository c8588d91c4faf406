//! The command line of the engine: the commands that work with policies.

mod advantage;
mod again;
mod blame;
mod decide;
mod eval;
mod imitate;
mod forecast;
mod inspect_log;
mod inventory;
mod knock_out;
mod play;
mod policy;
mod ranks;
mod replay;
mod report;
mod serve;
mod situations;
mod stop;
mod team_desk;
mod train;
mod verify;
mod truths;

use std::io::{self, Write};
use std::process;

use troupe_cli::{args, perform, resolve_rows};
use troupe_terminal::{load_config, with_workers};

use args::{Cli, Command};

use troupe_core::config::{Config, DeviceChoice};
use troupe_core::error::Asked;
use troupe_model::Device;
use troupe_training::team::{Team, TeamError};

/// The errors of what is below, which say how the process ends.
fn errors() -> Vec<Asked> {
    let of_policies = [
        troupe_model::ERRORS,
        troupe_tinker::ERRORS,
        troupe_trainer::ERRORS,
        troupe_training::ERRORS,
    ];
    [of_policies.concat(), troupe_cli::errors()].concat()
}

/// Run the engine.
pub fn main() -> process::ExitCode {
    let code = perform(carry_out, &errors());
    // All is saved and dropped. What is left are libtorch's tables of operators, which take an
    // eighth of a second to take apart one by one.
    if io::stdout().flush().is_ok() {
        signal_hook::low_level::exit(code.into());
    }
    code.into()
}

fn carry_out(cli: Cli) -> anyhow::Result<u8> {
    let choice = cli.command.device().unwrap_or(DeviceChoice::Automatic);
    let device = || Device::choose(choice);
    with_workers(|| {
        let code = match cli.command {
            Command::Train(args) => return train::run(args, device),
            Command::Eval(args) => eval::run(args, device),
            Command::Advantage(args) => advantage::run(args, device),
            Command::Blame(args) => blame::run(&args, device),
            Command::Verify(args) => verify::run(&args, device),
            Command::Replay(args) => replay::run(&args, device),
            Command::ResolveRows(_) => {
                let device = device()?;
                resolve_rows(|args| train::outlined(&load_config(args)?, device))
            }
            Command::Imitate(args) => imitate::run(args, device),
            Command::Policy(args) => policy::run(args.command, device),
            Command::Play(args) => play::run(args, device),
            Command::Serve(args) => serve::run(&args, device),
            other => Err(anyhow::anyhow!("`host` does this without the engine: {other:?}")),
        };
        code.map(|code| code as u8)
    })
}

/// The team of a configuration, and the configuration with the policies that its roles imply.
fn assemble(config: Config, device: Device) -> Result<(Config, Team), TeamError> {
    let team = Team::assemble(&config, device)?;
    Ok((config.with_implied_policies(&team.roles()), team))
}

/// What has to be said of environments on servers.
fn say_caveats(team: &Team) {
    for foreign in team.families.iter().filter_map(|family| family.scenario.environment.foreign()) {
        report::note(&format!("note: {}", foreign.caveat()));
    }
}

#[cfg(test)]
mod tests;
