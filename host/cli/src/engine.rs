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

use crate::{args, load_config, perform, with_workers};

use args::{Cli, Command};

use troupe_core::config::DeviceChoice;
use troupe_core::error::{Asked, ask};
use troupe_model::{Device, PolicyError};
use troupe_trainer::ranks::RanksError;
use troupe_trainer::{DoesNotFit, TrainerError};
use troupe_training::family::FamilyError;
use troupe_training::guard::Alarm;
use troupe_training::imitation::{ImitationError, RecordingError};
use troupe_training::publication::PublicationError;
use troupe_training::rehearsal::RehearsalError;
use troupe_training::rollout::{RoleMapError, RolloutError};
use troupe_training::team::{Team, TeamError};
use troupe_training::training::TrainingError;
use troupe_training::truth::TruthError;

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
    [&KINDS[..], &crate::KINDS].concat()
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
