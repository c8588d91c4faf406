//! What each role is good for, told at the end of a run and when asked.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{fixture, plugins, run};

const TASKS: &str = "validation.tasks=48";

fn trained(folder: &Path, more: &[&str]) -> (String, String) {
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir=\"{}\"", folder.display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    let sets = [
        "run.name=team",
        "environment.size=5",
        "environment.walls=4",
        "environment.max_distance=5",
        "imitation.success=0.3",
        "train.steps=3",
        "rollout.tasks_per_step=24",
        "checkpoint.keep=1",
        "validation.tasks_during_training=48",
        TASKS,
    ];
    for set in sets.iter().chain(more) {
        arguments.extend(["--set", set]);
    }
    let (code, stdout, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    (folder.join("team").display().to_string(), stdout)
}

fn json(path: &Path) -> Value {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

fn near(one: &Value, other: f64) -> bool {
    (one.as_f64().unwrap() - other).abs() < 1e-9
}

#[test]
fn a_role_is_worth_what_its_own_team_solves_more_than_with_somebody_else_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (team, told) = trained(folder.path(), &["validation.knock_out=always"]);
    assert!(told.contains("executor  untrained") && told.contains("the expert"), "{told}");
    let worth = json(&Path::new(&team).join("roles.json"));
    let summary = json(&Path::new(&team).join("summary.json"));
    let [before, after] =
        ["before", "after"].map(|when| summary[when]["success"].as_f64().unwrap());
    assert!(near(&worth["success"], after) && worth["tasks"] == 48 && worth["step"] == 3);
    let success = |role: &str, understudy: &str| {
        let all = worth["roles"].as_array().unwrap();
        let is_it = |one: &&Value| one["role"] == role && one["understudy"] == understudy;
        let found = all.iter().find(is_it).unwrap_or_else(|| panic!("{role}, {understudy}"));
        assert!(near(&found["effect"]["mean"], after - found["success"].as_f64().unwrap()));
        found["success"].as_f64().unwrap()
    };
    // Whoever moves decides, and what a planner says can be done without.
    assert_eq!(success("executor", "untrained"), 0.0);
    assert_eq!(success("executor", "expert"), 1.0);
    assert!(success("planner", "untrained") > 0.1 && success("planner", "expert") < 1.0);
    let asked =
        ["blame", &team, "--roles", "--json", "--split", "test", "--tasks", "48", "--step", "last"];
    let (code, stdout, stderr) = run(&asked);
    assert_eq!(code, 0, "{stderr}");
    let asked: Value = stdout.parse().unwrap();
    assert_eq!(asked["worth"], worth, "the same when asked");
    let shares = asked["shares"].as_array().unwrap();
    let sum: f64 = shares.iter().map(|share| share["value"].as_f64().unwrap()).sum();
    assert!((sum - (after - before)).abs() < 1e-9, "{sum} of {before} to {after}");
}

#[test]
fn a_run_too_short_to_measure_its_roles_says_so_and_one_without_a_beginning_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let (team, told) = trained(folder.path(), &["validation.knock_out=never"]);
    assert!(!told.contains("played by") && !Path::new(&team).join("roles.json").exists());
    let (code, _, stderr) = run(&["blame", &team, "--roles"]);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("as it began") && stderr.contains("validation.knock_out"), "{stderr}");
}

#[test]
fn no_row_says_the_expert_where_it_has_nothing_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["pair-environment", "pair-workflow"].map(fixture);
    let files = files.map(|file| file.display().to_string()).join(",");
    let dir = format!("run.dir=\"{}\"", folder.path().display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    for set in [
        "run.name=team",
        "environment.game=duel",
        "imitation.enabled=false",
        "train.steps=1",
        "rollout.tasks_per_step=8",
        "validation.knock_out=always",
        "validation.tasks_during_training=8",
        "validation.tasks=8",
    ] {
        arguments.extend(["--set", set]);
    }
    let (code, told, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    assert!(told.contains("as it began") && !told.contains("the expert"), "{told}");
    let worth = json(&folder.path().join("team/roles.json"));
    let roles = worth["roles"].as_array().unwrap();
    assert!(!roles.is_empty() && roles.iter().all(|one| one["understudy"] == "began"), "{worth}");
}
