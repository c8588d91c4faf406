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

use std::error::Error;
use std::process;

use runtime::cli::{args, code_of as code_of_runtime, load_config, perform, with_workers};

use args::{Cli, Command};

use crate::config::DeviceChoice;
use crate::error::ExitCode;
use crate::family::FamilyError;
use crate::imitation::{ImitationError, RecordingError};
use crate::policy::{Device, PolicyError};
use crate::ranks::RanksError;
use crate::rehearsal::RehearsalError;
use crate::rollout::{RoleMapError, RolloutError};
use crate::team::{Team, TeamError};
use crate::trainer::{DoesNotFit, TrainerError};
use crate::training::TrainingError;

/// Run the engine.
pub fn main() -> process::ExitCode {
    perform(carry_out, code_of)
}

fn carry_out(cli: Cli) -> anyhow::Result<u8> {
    let choice = cli.device.unwrap_or(DeviceChoice::Automatic);
    let device = || Device::choose(choice);
    with_workers(|| {
        let code = match cli.command {
            Command::Train(args) => return train::run(args, device),
            Command::Eval(args) => eval::run(args, device),
            Command::Advantage(args) => advantage::run(args, device),
            Command::Imitate(args) => imitate::run(args, device),
            Command::Policy(command) => policy::run(command, device),
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

/// The exit code of the layer an error comes from.
fn code_of(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    if cause.is::<RecordingError>() || cause.is::<RoleMapError>() || cause.is::<DoesNotFit>() {
        return Some(ExitCode::Usage);
    }
    if let Some(error) = cause.downcast_ref::<PolicyError>() {
        return Some(of_policy(error));
    }
    if is_lost(cause) {
        return Some(ExitCode::Lost);
    }
    of_team(cause)
        .or_else(|| cause.downcast_ref().map(of_rehearsal))
        .or_else(|| of_family(cause))
        .or_else(|| of_training(cause))
        .or_else(|| code_of_runtime(cause))
}

/// Whether it comes of the other processes of the run, or of a server that draws its answers.
fn is_lost(cause: &(dyn Error + 'static)) -> bool {
    let in_rollout = |error: &RolloutError| match error {
        RolloutError::Ranks(_) => true,
        RolloutError::Unanswered { failure, .. } => failure.kind.is_lost(),
        _ => false,
    };
    let in_trainer = |error: &TrainerError| matches!(error, TrainerError::Ranks(_));
    let in_training = |error: &TrainingError| match error {
        TrainingError::Ranks(_) => true,
        TrainingError::Publication(error) => error.is_lost(),
        TrainingError::Rollout(error) => in_rollout(error),
        TrainingError::Trainer(error) => in_trainer(error),
        _ => false,
    };
    let in_imitation = |error: &ImitationError| match error {
        ImitationError::Rollout(error) => in_rollout(error),
        ImitationError::Trainer(error) => in_trainer(error),
        _ => false,
    };
    cause.is::<RanksError>()
        || cause.downcast_ref().is_some_and(in_training)
        || cause.downcast_ref().is_some_and(in_imitation)
}

fn of_policy(error: &PolicyError) -> ExitCode {
    match error {
        PolicyError::Storage(_) => ExitCode::Storage,
        _ => ExitCode::Policy,
    }
}

fn of_team(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    Some(match cause.downcast_ref::<TeamError>()? {
        TeamError::Family(error) => return of_family(error),
        TeamError::RoleMap(_) | TeamError::Stale { .. } | TeamError::StaleRanks => ExitCode::Usage,
        TeamError::Policy { reason, .. } => of_policy(reason),
        TeamError::Tokenizer { .. } => ExitCode::Policy,
    })
}

fn of_rehearsal(error: &RehearsalError) -> ExitCode {
    match error {
        RehearsalError::Task { .. } | RehearsalError::Expert { .. } => ExitCode::Plugin,
        RehearsalError::NoExpert { .. } => ExitCode::Usage,
        RehearsalError::OpenText { .. } => ExitCode::Policy,
    }
}

fn of_family(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    Some(match cause.downcast_ref::<FamilyError>()? {
        FamilyError::Unknown { .. } | FamilyError::Rung { .. } => ExitCode::Usage,
        FamilyError::Load(error) => return code_of_runtime(error),
        FamilyError::Scenario(error) => return code_of_runtime(error),
    })
}

fn of_training(cause: &(dyn Error + 'static)) -> Option<ExitCode> {
    if let Some(error) = cause.downcast_ref::<TrainingError>() {
        return Some(match error {
            TrainingError::Storage(_) => ExitCode::Storage,
            TrainingError::Policy(_) => ExitCode::Policy,
            TrainingError::Team(error) => return of_team(error),
            _ => ExitCode::Run,
        });
    }
    let stopped =
        cause.is::<ImitationError>() || cause.is::<RolloutError>() || cause.is::<TrainerError>();
    stopped.then_some(ExitCode::Run)
}
