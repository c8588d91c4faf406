use std::io;
use std::path::Path;

use troupe_core::error::{ExitCode, code_of};
use troupe_core::storage::StorageError;
use troupe_guests::plugin::PluginError;
use troupe_sandbox::loading::LoadError;

use super::*;
use troupe_model::PolicyError;
use troupe_trainer::ranks::RanksError;
use troupe_trainer::{DoesNotFit, TrainerError};
use troupe_training::examination::ExaminationError;
use troupe_training::family::FamilyError;
use troupe_training::imitation::{ImitationError, RecordingError};
use troupe_training::publication::PublicationError;
use troupe_training::rollout::{RoleMapError, RolloutError};
use troupe_training::states::StateError;
use troupe_training::team::TeamError;
use troupe_training::training::TrainingError;
use troupe_training::truth::TruthError;
use troupe_training::watch::Alarm;

fn storage() -> StorageError {
    let full = io::Error::from(io::ErrorKind::StorageFull);
    StorageError::io("write", Path::new("checkpoints"))(full)
}

fn lost() -> RanksError {
    RanksError::Exchange("gone".to_owned())
}

fn template() -> PolicyError {
    PolicyError::Template("no".to_owned())
}

#[test]
fn an_error_ends_the_process_with_the_code_of_its_layer() {
    use ExitCode::{Lost, Plugin, Policy, Run, Storage, Usage};
    let text = || "x".to_owned();
    let plugin = || PluginError::Engine { reason: text() };
    let in_team = |error| TeamError::Policy { name: text(), reason: error };
    let state = || TrainerError::State { folder: text(), reason: text() };
    let rows: Vec<(anyhow::Error, ExitCode)> = vec![
        // A checkpoint that does not fit on the disk.
        (TrainingError::Trainer(TrainerError::Storage(storage())).into(), Storage),
        (TrainingError::Policy(PolicyError::Storage(storage())).into(), Storage),
        (TrainingError::Storage(storage()).into(), Storage),
        (
            TrainingError::Trainer(TrainerError::Policy(PolicyError::Storage(storage()))).into(),
            Storage,
        ),
        (TrainingError::Publication(PublicationError::Storage(storage())).into(), Storage),
        (ImitationError::Trainer(TrainerError::Storage(storage())).into(), Storage),
        (RolloutError::Engine(PolicyError::Storage(storage())).into(), Storage),
        (state().into(), Storage),
        // What happened in the run.
        (TrainingError::Rollout(RolloutError::Engine(PolicyError::Diverged)).into(), Run),
        (TrainingError::Trainer(TrainerError::Greedy).into(), Run),
        (TrainingError::Alarm(Alarm::Hopeless { steps: 3 }).into(), Run),
        (Alarm::Hopeless { steps: 3 }.into(), Run),
        (TrainingError::Publication(PublicationError::Policy(template())).into(), Run),
        (ImitationError::Rollout(RolloutError::Engine(template())).into(), Run),
        (ImitationError::Unreached { reached: 0.1, steps: 1, wanted: 0.2 }.into(), Run),
        // Other processes.
        (TrainingError::Ranks(lost()).into(), Lost),
        (TrainingError::Rollout(RolloutError::Ranks(lost())).into(), Lost),
        (ImitationError::Trainer(TrainerError::Ranks(lost())).into(), Lost),
        (TrainingError::Publication(PublicationError::Ranks(lost())).into(), Lost),
        (lost().into(), Lost),
        // Policies.
        (template().into(), Policy),
        (TrainingError::Policy(template()).into(), Policy),
        (TrainingError::Team(in_team(template())).into(), Policy),
        (in_team(PolicyError::Storage(storage())).into(), Storage),
        // Plugins, and the command line.
        (TeamError::Family(FamilyError::Load(LoadError::Plugin(plugin()))).into(), Plugin),
        (FamilyError::Unknown { family: text(), suggestion: text() }.into(), Usage),
        (TeamError::StaleRanks.into(), Usage),
        (RoleMapError::Vacant { role: text() }.into(), Usage),
        (RecordingError::Empty(text()).into(), Usage),
        (TruthError::State(StateError::Other { task: 1, round: 2 }).into(), Usage),
        (ExaminationError::Nobody.into(), Usage),
        (ExaminationError::Team(in_team(template())).into(), Policy),
        (DoesNotFit { needed: 2, memory: 1, advice: text() }.into(), Usage),
        (plugin().into(), Plugin),
    ];
    for (error, expected) in rows {
        let said = format!("{error:?}");
        assert_eq!(code_of(error.chain(), &errors()), Some(expected), "{said}");
    }
}

#[test]
fn a_state_on_a_server_that_is_named_is_taken_and_not_that_of_the_checkpoint() {
    let server = r#"url = "http://127.0.0.1:8000", base = "org/base", tokenizer = "base""#;
    let used = |more: &str| {
        let set = vec![format!("policies.a.tinker={{ {server} }}"), more.to_owned()];
        let mut config = Config::load(None, &set).unwrap();
        eval::use_policies(&mut config, Path::new("step"), &set[1..]);
        config.policies["a"].tinker.clone().and_then(|tinker| tinker.path)
    };
    let other = Some(Path::new("other").to_owned());
    assert_eq!(used("policies.a.tinker.path=other"), other);
    assert_eq!(used(&format!("policies.a.tinker={{ {server}, path = \"other\" }}")), other);
    assert_eq!(used("train.steps=3"), Some(Path::new("step/policies/a").to_owned()));
}
