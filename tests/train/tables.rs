//! The answers of a run on disk, and what can be computed from them again.

use std::fs;
use std::path::{Path, PathBuf};

use troupe_core::archive::list_tables;
use troupe_core::config::{Config, Estimator, SamplingScheme, Store};
use troupe_core::table::read_table;

use crate::script::{begin, config as small};
use crate::support::run;

fn config(folder: &Path) -> Config {
    let mut config = small();
    config.run.dir = folder.to_owned();
    config.validation.tasks = 2;
    config.validation.tasks_during_training = 2;
    config.train.steps = 3;
    config
}

/// A whole run: its folder, and what it warned of.
fn train(config: &Config) -> (PathBuf, Vec<String>) {
    let mut training = begin(config);
    let mut warnings = Vec::new();
    while !training.is_done() {
        warnings.extend(training.step().unwrap().warnings);
    }
    (training.finish().unwrap().1.path().to_owned(), warnings)
}

fn audit(run_folder: &Path, compare: &str) -> serde_json::Value {
    let run_folder = run_folder.to_str().unwrap();
    let arguments = ["advantage", "--run", run_folder, "--compare", compare, "--json"];
    let (code, shown, said) = run(&arguments);
    assert_eq!(code, 0, "{said}");
    serde_json::from_str(&shown).unwrap()
}

#[test]
fn a_stored_table_gives_the_advantages_of_the_run_that_wrote_it_to_the_last_bit() {
    for (estimator, sampling, compare) in [
        (Estimator::AtGrpo, SamplingScheme::Tree, "at-grpo,rloo,gdpo,naive"),
        (Estimator::Gdpo, SamplingScheme::Tree, "gdpo,at-grpo"),
        (Estimator::Drmas, SamplingScheme::Trajectory, "drmas,grpo,team-grpo,turn-grpo,gigpo"),
        (Estimator::Rae, SamplingScheme::Trajectory, "rae,grpo"),
        (Estimator::Mhgpo, SamplingScheme::RoundRobin, "mhgpo,drmas"),
        (Estimator::Malt, SamplingScheme::Exhaustive, "malt,at-grpo,max-rl"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        (config.advantage.estimator, config.rollout.scheme) = (estimator, sampling);
        config.rollout.branches = 2;
        config.advantage.then = vec!["whiten".parse().unwrap()];
        let (run_folder, _) = train(&config);
        let shown = audit(&run_folder, compare);
        assert_eq!(shown["steps"], 3);
        assert_eq!(shown["as_stored"], shown["answers"], "{estimator:?}");
        for (index, name) in compare.split(',').enumerate() {
            let roles = shown["estimators"][name].as_object().unwrap();
            assert_eq!(roles.keys().collect::<Vec<_>>(), ["first", "second"], "{name}");
            let agrees = roles["first"]["changed_signs"] == 0.0;
            assert!(index > 0 || agrees, "{name} disagrees with itself: {shown}");
        }
        // Told another estimator's settings, the same rows come out otherwise.
        let told = fs::read_to_string(run_folder.join("config.toml")).unwrap();
        let other = told.replace("then = [\"whiten\"]", "then = []");
        fs::write(run_folder.join("config.toml"), other).unwrap();
        let shown = audit(&run_folder, compare);
        assert_ne!(shown["as_stored"], shown["answers"], "{estimator:?}");
    }
}

#[test]
fn a_resumed_run_has_the_tables_it_would_have_had() {
    let (whole, parted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (whole, _) = train(&config(whole.path()));
    let mut training = begin(&config(parted.path()));
    training.step().unwrap();
    let path = training.stop().unwrap().path().to_owned();
    // A table of a step that no checkpoint has seen.
    fs::write(path.join("table/step-000002.parquet"), b"half").unwrap();
    let arguments = ["train", "--resume", path.to_str().unwrap()];
    let (code, _, said) = run(&arguments);
    assert_eq!(code, 0, "{said}");
    let tables = list_tables(&whole).unwrap();
    assert_eq!(tables.len(), 3);
    for (step, table) in tables {
        let other = path.join("table").join(table.file_name().unwrap());
        assert_eq!(fs::read(table).unwrap(), fs::read(other).unwrap(), "step {step}");
    }
}

#[test]
fn a_run_keeps_all_answers_or_those_it_went_on_from_or_none_and_not_more_than_it_may() {
    let kept = |store, store_mib| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        (config.rollout.store, config.rollout.store_mib) = (store, store_mib);
        let (run_folder, warnings) = train(&config);
        let tables = list_tables(&run_folder).unwrap();
        let rows = tables.iter().map(|(_, table)| read_table(table).unwrap());
        let rows: Vec<_> = rows.flatten().collect();
        let all_kept = rows.iter().all(|row| row.sample.kept);
        (tables.len(), rows.len(), all_kept, warnings)
    };
    // 3 steps, 4 tasks, 2 turns, 2 seats, 4 answers each.
    assert_eq!(kept(Store::All, 1024), (3, 192, false, Vec::new()));
    assert_eq!(kept(Store::Kept, 1024), (3, 48, true, Vec::new()));
    assert_eq!(kept(Store::None, 1024), (0, 0, true, Vec::new()));
}

#[test]
fn who_asks_for_what_a_run_has_not_is_told_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let (run_folder, _) = train(&config(folder.path()));
    let run_folder = run_folder.to_str().unwrap();
    let (code, _, said) = run(&["advantage", "--run", run_folder, "--compare", "at-grpo,grpo"]);
    assert_eq!(code, 2);
    assert!(said.contains("`grpo` compares what whole episodes are worth"), "{said}");
    let truth =
        ["advantage", "--run", run_folder, "--compare", "at-grpo", "--json", "--truth", "2"];
    let (code, shown, said) = run(&truth);
    assert_eq!(code, 0, "{said}");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["truth"]["at-grpo"]["first"]["answers"].as_u64().unwrap() > 0, "{shown}");
    let (code, _, said) = run(&["advantage", "--run", run_folder, "--compare", "at-gripo"]);
    assert_eq!(code, 2);
    assert!(said.contains("\"at-grpo\" or \"grpo\""), "{said}");
    let late = ["advantage", "--run", run_folder, "--compare", "at-grpo", "--first", "9"];
    let (code, _, said) = run(&late);
    assert_eq!(code, 5);
    assert!(said.contains("it has no table of these steps"), "{said}");
}
