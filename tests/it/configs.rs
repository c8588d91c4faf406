//! The shipped configurations: each sets its tasks up, alone and under every row
//! of the paper.

use std::path::{Path, PathBuf};

use troupe::config::{Config, Estimator, Roles, SamplingScheme};
use troupe::family::set_families;

use crate::components::folder;

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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs")
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
        (config.rollout.sampling, config.advantage.estimator, trains_one)
    };
    assert_eq!(of("grpo.toml"), (SamplingScheme::Trajectory, Estimator::Grpo, true));
    assert_eq!(of("team-grpo.toml"), (SamplingScheme::Trajectory, Estimator::TeamGrpo, true));
    assert_eq!(of("at-grpo-shared.toml"), (SamplingScheme::Tree, Estimator::AtGrpo, true));
    assert_eq!(of("at-grpo-per-role.toml"), (SamplingScheme::Tree, Estimator::AtGrpo, false));
}
