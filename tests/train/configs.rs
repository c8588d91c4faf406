//! The shipped configurations: each sets its tasks up, alone and under every row
//! of the paper.

use std::path::{Path, PathBuf};

use troupe_core::config::{Config, Estimator, PolicyConfig, Roles, SamplingScheme};
use troupe_training::family::set_families;

use crate::support::components::folder;
use crate::support::{plugins, run};

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
    let array = |value: &toml::Value| value.as_array().unwrap().clone();
    let texts = |list: &toml::Value| -> Vec<String> {
        array(list).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let common: Vec<String> = texts(&plan["train"]).into_iter().filter(|t| t != "--set").collect();
    let mut tried = 0;
    for method in array(&plan["methods"]) {
        let rows = array(&method["rows"]);
        let of_rows = rows.iter().filter_map(|row| row.get("stages")).flat_map(array);
        let warm = method.get("warm").into_iter().flat_map(array);
        let words = |argument: String| match argument.strip_prefix('@') {
            Some(name) => texts(&method["words"][name]),
            None => vec![argument],
        };
        for stage in warm.chain(of_rows) {
            let stage: Vec<String> = texts(&stage).into_iter().flat_map(words).collect();
            let is_training = stage[0].ends_with("=train");
            tried += usize::from(sets_up(&stage, if is_training { &common } else { &[] }));
        }
    }
    assert!(tried > 50, "{tried} stages");
}

/// Sets up what a call of the methods' experiments plays, if it names files.
fn sets_up(call: &[String], common: &[String]) -> bool {
    let root = configs().parent().unwrap().to_owned();
    let is_set = |at: usize| call[at - 1] == "--set";
    let all = || call.iter().enumerate().skip(1);
    let files = all().filter(|(at, text)| !is_set(*at) && text.ends_with(".toml"));
    let files: Vec<PathBuf> = files.map(|(_, text)| root.join(text)).collect();
    // What is made by earlier stages is not there, so nothing can be known of it.
    let made = |text: &str| text.contains(".path={");
    let set = all().filter(|(at, text)| is_set(*at) && !made(text)).map(|(_, text)| usual(text));
    let sets: Vec<String> = common.iter().map(|text| usual(text)).chain(set).collect();
    if files.is_empty() {
        return false;
    }
    let mut config =
        Config::layered(&files, &sets).unwrap_or_else(|error| panic!("{files:?}: {error}"));
    config.plugins.path = vec![folder()];
    set_families(&config).unwrap_or_else(|error| panic!("{files:?}: {error}"));
    true
}

/// `train.steps={40|2}` as it is in a usual call.
fn usual(text: &str) -> String {
    let text = &text.replace("{seed}", "7");
    let (Some((before, rest)), Some((_, after))) = (text.split_once('{'), text.split_once('}'))
    else {
        return text.to_owned();
    };
    match rest.split_once('|') {
        Some((usual, _)) => format!("{before}{usual}{after}"),
        None => text.to_owned(),
    }
}

#[test]
fn every_policy_that_a_row_calls_for_is_an_adapter_or_a_model_of_its_own() {
    let rows = configs().join("rows");
    let policies = |model: &str, row: &str| {
        let files = [configs().join("plan-path/team.toml"), rows.join(model), rows.join(row)];
        let config = layered(&files.each_ref().map(PathBuf::as_path));
        let config = config.with_implied_policies(&["planner", "executor"].map(str::to_owned));
        let of = |(name, policy): (&String, &PolicyConfig)| {
            (name.clone(), policy.base.is_some(), policy.path.is_some())
        };
        config.policies.iter().map(of).collect::<Vec<_>>()
    };
    let of = |name: &str, is_adapter, is_model| (name.to_owned(), is_adapter, is_model);
    let (shared, per_role) = ("at-grpo-shared.toml", "at-grpo-per-role.toml");
    let adapters = "language-model.toml";
    assert_eq!(policies(adapters, shared), [of("base", false, true), of("shared", true, false)]);
    let roles = [of("base", false, true), of("executor", true, false), of("planner", true, false)];
    assert_eq!(policies(adapters, per_role), roles);
    let all = "language-model-all-weights.toml";
    assert_eq!(policies(all, shared), [of("shared", false, true)]);
    assert_eq!(policies(all, per_role), [of("executor", false, true), of("planner", false, true)]);
}

#[test]
fn a_command_that_trains_nothing_heeds_what_the_default_policy_says() {
    let folder = tempfile::tempdir().unwrap();
    let (out, files) = (folder.path().display().to_string(), plugins(&["plan-path", "solo"]));
    let frozen = ["--set", "policies.default.train=false"];
    let (code, _, said) =
        run(&[&["imitate", "--plugins", &files, "--out", &out][..], &frozen].concat());
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("`shared`"), "{said}");
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
        // These only say who plays.
        let name = row.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("language-model") {
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
