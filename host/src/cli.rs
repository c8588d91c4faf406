//! The command line of the engine: the commands that work with policies.

mod advantage;
mod eval;
mod imitate;
mod inventory;
mod play;
mod policy;
mod ranks;
mod report;
mod serve;
mod stop;
mod train;
mod truths;

use std::process;

use runtime::cli::{args, load_config, perform, with_workers};

use args::{Cli, Command};

use crate::config::DeviceChoice;
use crate::error::{Asked, ask};
use crate::family::FamilyError;
use crate::guard::Alarm;
use crate::imitation::{ImitationError, RecordingError};
use crate::policy::{Device, PolicyError};
use crate::publication::PublicationError;
use crate::ranks::RanksError;
use crate::rehearsal::RehearsalError;
use crate::rollout::{RoleMapError, RolloutError};
use crate::team::{Team, TeamError};
use crate::trainer::{DoesNotFit, TrainerError};
use crate::training::TrainingError;
use crate::truth::TruthError;

/// The errors of this crate that say how the process ends.
const KINDS: [Asked; 15] = [
    ask::<Alarm>,
    ask::<DoesNotFit>,
    ask::<FamilyError>,
    ask::<ImitationError>,
    ask::<PolicyError>,
    ask::<PublicationError>,
    ask::<RanksError>,
    ask::<RecordingError>,
    ask::<RehearsalError>,
    ask::<RoleMapError>,
    ask::<RolloutError>,
    ask::<TeamError>,
    ask::<TrainerError>,
    ask::<TrainingError>,
    ask::<TruthError>,
];

/// Run the engine.
pub fn main() -> process::ExitCode {
    perform(carry_out, &kinds())
}

/// All errors that say how the process ends.
fn kinds() -> Vec<Asked> {
    [&KINDS[..], &runtime::cli::KINDS].concat()
}

fn carry_out(cli: Cli) -> anyhow::Result<u8> {
    let choice = cli.command.device().unwrap_or(DeviceChoice::Automatic);
    let device = || Device::choose(choice);
    with_workers(|| {
        let code = match cli.command {
            Command::Train(args) => return train::run(args, device),
            Command::Eval(args) => eval::run(args, device),
            Command::Advantage(args) => advantage::run(args, device),
            Command::Imitate(args) => imitate::run(args, device),
            Command::Policy(args) => policy::run(args.command, device),
            Command::Play(args) => play::run(args, device),
            Command::Serve(args) => serve::run(&args, device),
            other => Err(anyhow::anyhow!("`host` does this without the engine: {other:?}")),
        };
        code.map(|code| code as u8)
    })
}

/// What has to be said of environments on servers.
fn say_caveats(team: &Team) {
    for foreign in team.families.iter().filter_map(|family| family.scenario.environment.foreign()) {
        report::note(&format!("note: {}", foreign.caveat()));
    }
}

#[cfg(test)]
mod tests;
