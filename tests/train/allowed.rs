//! Answers that are drawn under a rule, through the real binary: none is outside of it from the
//! first step on, and training scores each as it was drawn.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use troupe_core::archive::list_tables;
use troupe_core::config::{Allowed, Config};
use troupe_core::table::read_table;
use troupe_core::trajectory::{Sample, StopReason};
use troupe_model::{Constraint, Device};
use troupe_training::team::Team;

use crate::support::{plugin, plugins, run};

const MOVES: [&str; 4] = ["D", "L", "R", "U"];
const MOVES_ALONE: &str = r#"{ choices = ["U", "D", "L", "R"] }"#;

/// Train random policies for two steps without a warm start; code, and what was said.
fn train(folder: &Path, workflow: &str, sets: &[&str]) -> (i32, String) {
    let (dir, files) = (folder.display().to_string(), plugins(&["plan-path", workflow]));
    let (dir, name) = (format!("run.dir={dir:?}"), "run.name=run");
    let small = [
        &dir,
        name,
        "environment.size=5",
        "imitation.enabled=false",
        "train.steps=2",
        "rollout.tasks_per_step=8",
        "rollout.max_turns=3",
        "validation.tasks=8",
        "validation.tasks_during_training=8",
    ];
    let mut arguments = vec!["train", "--verify-logprobs", "--plugins", &files];
    for set in small.iter().chain(sets) {
        arguments.extend(["--set", *set]);
    }
    let (code, _, stderr) = run(&arguments);
    (code, stderr)
}

/// The same, which goes well.
fn trained(workflow: &str, sets: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = train(folder.path(), workflow, sets);
    assert_eq!(code, 0, "{said}");
    folder
}

/// Every answer of a run's steps.
fn answers(folder: &Path) -> Vec<Sample> {
    let tables = list_tables(&folder.join("run")).unwrap();
    let rows = tables.iter().flat_map(|(_, table)| read_table(table).unwrap());
    rows.map(|row| row.sample).collect()
}

/// The largest difference of `--verify-logprobs`, step by step.
fn differences(folder: &Path) -> Vec<f64> {
    let text = fs::read_to_string(folder.join("run/metrics.jsonl")).unwrap();
    let steps = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    steps.map(|step| step["largest_logprob_difference"].as_f64().unwrap()).collect()
}

#[test]
fn a_random_policy_makes_legal_moves_alone_and_is_scored_as_it_drew() {
    let folder = trained("solo", &[&format!("rollout.allowed={MOVES_ALONE}")]);
    let answers = answers(folder.path());
    let texts: BTreeSet<&str> =
        answers.iter().map(|sample| sample.completion.text.as_str()).collect();
    assert_eq!(texts, MOVES.into());
    assert!(answers.iter().all(|it| it.completion.stop == StopReason::EndOfText));
    assert!(differences(folder.path()).iter().all(|it| *it <= 1e-6));
    // An evaluation heeds what the run did, greedily and not.
    let (path, record) = (folder.path().join("run"), folder.path().join("episodes.jsonl"));
    let (path, record) = (path.to_str().unwrap(), record.to_str().unwrap());
    for flags in [&["--step", "1"][..], &["--step", "1", "--sampled"]] {
        let eval = ["eval", "--run", path, "--tasks", "8", "--record", record];
        let (code, _, said) = run(&[&eval[..], flags].concat());
        assert_eq!(code, 0, "{said}");
        let (mut replies, text) = (0, fs::read_to_string(record).unwrap());
        for line in text.lines() {
            let episode: Value = serde_json::from_str(line).unwrap();
            let events = episode["events"].as_array().unwrap().iter();
            for reply in events.filter(|event| event["event"] == "replied") {
                assert!(MOVES.contains(&reply["text"].as_str().unwrap()), "{reply}");
                replies += 1;
            }
        }
        assert!(replies >= 8, "{text}");
    }
}

#[test]
fn a_roles_rule_binds_that_role_alone() {
    let rule = format!("roles.executor.allowed={MOVES_ALONE}");
    let folder = trained("planner-executor", &[&rule]);
    let is_move = |sample: &Sample| MOVES.contains(&sample.completion.text.as_str());
    let (executor, planner): (Vec<Sample>, Vec<Sample>) =
        answers(folder.path()).into_iter().partition(|sample| sample.role == "executor");
    assert!(!executor.is_empty() && executor.iter().all(is_move));
    assert!(planner.iter().any(|sample| !is_move(sample)), "a random policy says anything");
    assert!(differences(folder.path()).iter().all(|it| *it < 1e-4));
}

#[test]
fn the_words_of_an_environment_are_those_that_its_plugins_declare() {
    let mut config = Config::default();
    config.plugins.files = ["plan-path", "solo"].map(plugin).to_vec();
    config.rollout.allowed = Some(Allowed::Words);
    let team = Team::assemble(&config, Device::cpu()).unwrap();
    let sampling = team.role_map.sampling(&config.rollout);
    let Some(Constraint::Words(words)) = &sampling.of("player").constraint else {
        panic!("no words");
    };
    assert!(MOVES.iter().all(|word| words.iter().any(|known| known == word)), "{words:?}");
    let folder = trained("solo", &["rollout.allowed=words"]);
    for sample in answers(folder.path()) {
        let text = sample.completion.text;
        assert!(text.split(' ').all(|word| words.iter().any(|known| known == word)), "{text:?}");
    }
}

#[test]
fn a_rule_that_a_policy_cannot_keep_ends_the_run_before_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    for (set, named) in [
        (r#"rollout.allowed={ choices = ["north"] }"#, "`north`"),
        (r#"rollout.allowed={ schema = { uniqueItems = true } }"#, "uniqueItems"),
    ] {
        let (code, said) = train(folder.path(), "solo", &[set]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("`allowed`") && said.contains(named), "{said}");
    }
    assert!(!folder.path().join("run").exists());
    let mut config = Config::default();
    config.plugins.files = ["countdown", "solo"].map(plugin).to_vec();
    config.environment.insert("observation".to_owned(), "text".into());
    config.rollout.allowed = Some(Allowed::Words);
    let refused = Team::assemble(&config, Device::cpu()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("open") && refused.contains("`allowed`"), "{refused}");
}
