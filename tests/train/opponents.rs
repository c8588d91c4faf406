//! Opponents that are earlier states of what is trained.

use std::fs;
use std::path::{Path, PathBuf};

use troupe_core::config::{Config, GroupFilter, PolicyConfig, Roles};
use troupe_core::storage::digest_file;
use troupe_model::Device;
use troupe_training::checkpoint::load_latest;
use troupe_training::run::RunFolder;
use troupe_training::team::Team;
use troupe_training::training::Training;

use crate::script::{begin, config as small};
use crate::support::run;

/// The first seat learns against what it was up to two steps ago.
fn config(folder: &Path) -> Config {
    let mut config = small();
    let roles = [("first", "learner"), ("second", "old")];
    config.roles = Roles::named(roles);
    let of = Some("learner".to_owned());
    let old = PolicyConfig { snapshot_of: of, every: 2, ..PolicyConfig::default() };
    config.policies =
        [("learner".to_owned(), PolicyConfig::default()), ("old".to_owned(), old)].into();
    config.advantage.filter = GroupFilter::Off;
    config.validation.tasks = 2;
    config.validation.tasks_during_training = 2;
    config.train.steps = 5;
    config.checkpoint.every = 1;
    config.checkpoint.keep = 9;
    config.run.dir = folder.to_owned();
    config
}

/// Digest of a policy's weights in a checkpoint.
fn weights(run: &Path, step: usize, policy: &str) -> String {
    let folder = format!("checkpoints/step-{step:06}/policies/{policy}/model.safetensors");
    digest_file(&run.join(folder)).unwrap()
}

fn train(folder: &Path) -> PathBuf {
    let mut training = begin(&config(folder));
    while !training.is_done() {
        let record = training.step().unwrap();
        assert_eq!(record.updates.keys().collect::<Vec<_>>(), ["learner"]);
    }
    training.finish().unwrap().1.path().to_owned()
}

#[test]
fn a_snapshot_is_what_its_source_was_when_it_was_last_due() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = train(folder.path());
    for (step, taken) in [(0, 0), (1, 0), (2, 2), (3, 2), (4, 4), (5, 4)] {
        let (old, source) =
            (weights(&run_folder, step, "old"), weights(&run_folder, taken, "learner"));
        assert_eq!(old, source, "step {step}");
    }
    assert_ne!(weights(&run_folder, 2, "learner"), weights(&run_folder, 3, "learner"));
    let run_folder = run_folder.to_str().unwrap();
    let (code, _, said) = run(&["eval", "--run", run_folder, "--tasks", "2"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_snapshot_of_what_nobody_plays_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    let of = Some("idle".to_owned());
    config.policies.insert("idle".to_owned(), PolicyConfig::default());
    config.policies.get_mut("old").unwrap().snapshot_of = of;
    let error = Team::assemble(&config, Device::cpu()).err().unwrap().to_string();
    assert!(error.contains("`old` is a snapshot of `idle`, which plays no role"), "{error}");
}

#[test]
fn a_resumed_run_has_the_opponents_it_would_have_had() {
    let (whole, parted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = train(whole.path());
    let config = config(parted.path());
    let mut training = begin(&config);
    (0..3).for_each(|_| drop(training.step().unwrap()));
    let path = training.stop().unwrap().path().to_owned();
    let folder = RunFolder::open(&path).unwrap();
    let config = Config::load(Some(&folder.config_path()), &[]).unwrap();
    let found = load_latest(&folder.checkpoints()).unwrap().unwrap();
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    let mut training = Training::resume(config, team, folder, found).unwrap();
    while !training.is_done() {
        training.step().unwrap();
    }
    for policy in ["learner", "old"] {
        assert_eq!(weights(&whole, 5, policy), weights(&path, 5, policy), "{policy}");
    }
    // What the opponent said, too: its weights at step 4 were taken at step 2.
    for step in 1..=5 {
        let table = format!("table/step-{step:06}.parquet");
        assert_eq!(fs::read(whole.join(&table)).unwrap(), fs::read(path.join(&table)).unwrap());
    }
}
