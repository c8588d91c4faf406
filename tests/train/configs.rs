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
        // Language models say for themselves how they are trained; experiments are tables of runs.
        let others = ["rows", "language-models", "experiments"];
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
