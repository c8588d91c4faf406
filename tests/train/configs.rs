//! The shipped configurations: each sets its tasks up, alone and under every row
//! of the paper.

use std::path::{Path, PathBuf};

use troupe_core::config::{Config, Estimator, Roles, SamplingScheme};
use troupe_training::family::set_families;

use crate::support::components::folder;

fn below(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    below(folder).into_iter().filter(is_toml).collect()
}

fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs")
}

fn layered(files: &[&Path]) -> Config {
    let mut config =
        Config::layered(files, &[]).unwrap_or_else(|error| panic!("{files:?}: {error}"));
    config.plugins.path = vec![folder()];
    for corpus in &mut config.retrieval.corpus {
        *corpus = configs().join("..").join(&*corpus);
    }
    config
}

#[test]
fn every_shipped_configuration_sets_its_tasks_up_under_every_row() {
    let rows = toml_files(&configs().join("rows"));
    let mut tried = 0;
    for environment in below(&configs()) {
        // Language models and methods say for themselves how they are trained; experiments are
        // tables of runs.
        let others = ["rows", "language-models", "experiments", "methods"];
        if others.iter().any(|other| environment.ends_with(other)) {
            continue;
        }
        for file in toml_files(&environment) {
            let config = layered(&[&file]);
            set_families(&config).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let is_mixed = !config.mix.is_empty();
            for row in rows.iter().filter(|_| !is_mixed) {
                let config = layered(&[&file, row]);
                set_families(&config).unwrap_or_else(|error| {
                    panic!("{} {}: {error}", file.display(), row.display())
                });
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried} pairs of a file and a row");
    for file in toml_files(&configs().join("language-models")) {
        set_families(&layered(&[&file])).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_stage_of_the_methods_experiments_sets_its_tasks_up() {
    let file = configs().join("methods/experiments.toml");
    let plan: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
    let texts = |list: &toml::Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let root = configs().parent().unwrap().to_owned();
    let set_up = |arguments: &[String], sets: &[String]| {
        let is_set = |at: usize| at > 0 && arguments[at - 1] == "--set";
        let all = || arguments.iter().enumerate();
        let files = all().filter(|(at, text)| !is_set(*at) && text.ends_with(".toml"));
        let files: Vec<PathBuf> = files.map(|(_, text)| root.join(text)).collect();
        // What is made by earlier stages is not there, so nothing can be known of it.
        let set = all().filter(|(at, text)| is_set(*at) && !text.contains(".path={"));
        let set = set.map(|(_, text)| text.clone());
        let sets: Vec<String> = set.chain(sets.iter().cloned()).collect();
        let mut config =
            Config::layered(&files, &sets).unwrap_or_else(|error| panic!("{files:?}: {error}"));
        config.plugins.path = vec![folder()];
        set_families(&config).unwrap_or_else(|error| panic!("{files:?}: {error}"));
    };
    let common = texts(&plan["train"]);
    let common: Vec<String> = common.into_iter().filter(|text| text != "--set").collect();
    let mut tried = 0;
    for method in plan["methods"].as_array().unwrap() {
        set_up(&texts(&method["warm"]), &[]);
        for row in method["rows"].as_array().unwrap() {
            for stage in row["stages"].as_array().unwrap() {
                set_up(&texts(stage), &common);
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried} stages");
}

#[test]
fn a_row_says_how_answers_are_drawn_and_compared_and_who_plays() {
    let team = configs().join("plan-path/team.toml");
    let of = |row: &str| {
        let config = layered(&[&team, &configs().join("rows").join(row)]);
        let trains_one = config.roles == Roles::Shared;
        (config.rollout.scheme, config.advantage.estimator, trains_one)
    };
    assert_eq!(of("grpo.toml"), (SamplingScheme::Trajectory, Estimator::Grpo, true));
    assert_eq!(of("team-grpo.toml"), (SamplingScheme::Trajectory, Estimator::TeamGrpo, true));
    assert_eq!(of("at-grpo-shared.toml"), (SamplingScheme::Tree, Estimator::AtGrpo, true));
    assert_eq!(of("at-grpo-per-role.toml"), (SamplingScheme::Tree, Estimator::AtGrpo, false));
}

/// A signal that only rows which compare answers to one state would have decides what a
/// comparison with the others shows.
#[test]
fn the_papers_rows_push_away_from_nothing_and_one_ablation_does() {
    let environment = configs().join("plan-path/team.toml");
    for row in toml_files(&configs().join("rows")) {
        // This one only says who plays.
        if !row.ends_with("language-model.toml") {
            let refused = layered(&[&environment, &row]).advantage.refused;
            assert_eq!(refused, 0.0, "{}", row.display());
        }
    }
    let file = configs().join("experiments/stronger-together.toml");
    let table: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
    let sets = |of: &toml::Value| -> Vec<String> {
        let all = of.get("set").and_then(toml::Value::as_array);
        let texts = all.into_iter().flatten().map(|pair| pair.as_str().unwrap().to_owned());
        texts.filter(|pair| pair.starts_with("advantage.refused=")).collect()
    };
    assert_eq!(sets(&table.clone().into()), ["advantage.refused=0"]);
    let with: Vec<&str> = table["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !sets(row).is_empty())
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(with, ["refused"]);
}
