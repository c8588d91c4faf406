//! How a run would have gone on if a step had been otherwise.

use std::path::Path;

use serde_json::Value;

use troupe_core::archive::table_file;
use troupe_core::table::{Row, read_table};

use crate::support::{fixture, plugin, plugins, run};

fn trained(folder: &Path) -> String {
    let (code, run_folder, stderr) = train(folder, &[]);
    assert_eq!(code, 0, "{stderr}");
    run_folder
}

/// A small run with some settings more: how it ended, its folder, and what it said.
fn train(folder: &Path, more: &[&str]) -> (i32, String, String) {
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir=\"{}\"", folder.display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    let sets = [
        "run.name=run",
        "environment.size=5",
        "environment.max_distance=5",
        "imitation.success=0.7",
        "imitation.ceiling=0.9",
        "train.steps=4",
        "train.max_movement=0",
        "rollout.tasks_per_step=8",
        "validation.every=1",
        "validation.tasks=16",
        "validation.tasks_during_training=64",
    ];
    for set in sets.iter().chain(more) {
        arguments.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&arguments);
    (code, folder.join("run").display().to_string(), stderr)
}

fn replay(run_folder: &str, more: &[&str]) -> Value {
    let asked = ["replay", run_folder, "--tasks", "256", "--json"];
    let (code, stdout, stderr) = run(&[&asked[..], more].concat());
    assert_eq!(code, 0, "{stderr}");
    stdout.parse().unwrap()
}

fn lines(run_folder: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(Path::new(run_folder).join("metrics.jsonl")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn what_was_is_what_the_run_saw_and_what_is_otherwise_changes_from_the_step_on() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = trained(folder.path());
    let before = lines(&run_folder);
    // Step 2 stands two steps after the checkpoint that the run kept last before it.
    let changed =
        replay(&run_folder, &["--at", "2", "--steps", "2", "--set", "train.learning_rate=5e-2"]);
    for (place, step) in [(0, 2), (1, 3)] {
        let (was, is) = (&changed["was"]["steps"][place], &changed["is"]["steps"][place]);
        let validation = &before[step]["validation"]["greedy"]["success"];
        assert_eq!((&was["step"], &was["validation"]), (&Value::from(step), validation));
        let reward = &before[step]["roles"]["executor"]["reward"]["mean"];
        assert_eq!(&was["rewards"]["executor"], reward);
        assert_eq!(
            is["rewards"] == was["rewards"],
            step == 2,
            "the answers of step 2 are the same"
        );
        assert_ne!(is["validation"], was["validation"]);
    }
    assert_eq!(lines(&run_folder), before, "the run stays as it is");
    let (code, stdout, _) = run(&["replay", &run_folder, "--at", "3", "--groups"]);
    assert!(code == 0 && stdout.contains("executor"), "{stdout}");
    let (code, _, stderr) = run(&["replay", &run_folder, "--at", "3", "--drop-group", "99999"]);
    assert!(code == 2 && stderr.contains("step 3 has no group 99999"), "{stderr}");
    let (code, _, stderr) = run(&["replay", &run_folder, "--at", "3"]);
    assert!(code == 2 && stderr.contains("nothing is to be otherwise"), "{stderr}");
    let (code, _, stderr) = run(&["replay", &run_folder, "--at", "3", "--swap-sample", "3"]);
    assert!(code == 2 && stderr.contains("such as 3:5"), "{stderr}");
}

#[test]
fn a_run_that_ended_itself_is_looked_at_up_to_its_last_step_and_goes_on_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let far = [
        "train.steps=9",
        "train.learning_rate=0.5",
        "train.max_movement=1e-12",
        "train.warmup_steps=0",
    ];
    let (code, run_folder, stderr) = train(folder.path(), &far);
    assert!(code == 6 && stderr.contains("up to step 5, moved the policy"), "{stderr}");
    let told = |more: &[&str]| -> Value {
        let asked = ["replay", &run_folder, "--at", "5", "--steps", "3", "--tasks", "16", "--json"];
        let (code, stdout, stderr) = run(&[&asked[..], more].concat());
        assert_eq!(code, 0, "{stderr}");
        stdout.parse().unwrap()
    };
    let is_alarm = |said: &Value| said.as_str().is_some_and(|said| said.contains("moved the"));
    let found = told(&["--influence"]);
    assert!(found["steps"].as_array().unwrap().len() == 1 && is_alarm(&found["alarm"]), "{found}");
    let slower = ["--set", "train.max_movement=0", "--set", "train.learning_rate=1e-3"];
    let found = told(&slower);
    let steps = |future: &str| found[future]["steps"].as_array().unwrap().len();
    assert_eq!((steps("was"), steps("is")), (1, 3), "{found}");
    assert!(is_alarm(&found["was"]["alarm"]) && found["is"].get("alarm").is_none(), "{found}");
    let (code, _, stderr) = run(&["replay", &run_folder, "--at", "7", "--drop-group", "0"]);
    assert!(code == 2 && stderr.contains("ended itself with step 5"), "{stderr}");
    let (code, stdout, stderr) = run(&["verify", &run_folder, "--steps", "5"]);
    assert!(code == 0 && stdout.contains("5 of 5 steps computed again"), "{stdout}{stderr}");
}

/// A run whose policy is spoiled by tasks, one in a hundred, whose right answer costs a hundred
/// times what it earns in others.
fn poisoned(folder: &Path) -> String {
    let files = [fixture("poisoned-environment"), plugin("solo")];
    let files = files.map(|file| file.display().to_string()).join(",");
    let dir = format!("run.dir=\"{}\"", folder.display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    for set in [
        "run.name=run",
        "imitation.success=0.98",
        "imitation.ceiling=1",
        "advantage.scale=none",
        "rollout.tasks_per_step=100",
        "rollout.branches=8",
        "train.steps=7",
        "train.epochs=4",
        "train.learning_rate=1e-2",
        "train.entropy_coefficient=0.05",
        "train.regularize=all",
        "train.max_movement=0",
        "validation.every=1",
        "validation.tasks=16",
        "validation.tasks_during_training=128",
        "checkpoint.every=2",
    ] {
        arguments.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    folder.join("run").display().to_string()
}

/// The groups of a step whose answers it was wrong to pay for.
fn poisoned_groups(run_folder: &str, step: usize) -> Vec<usize> {
    let table = Path::new(run_folder).join("table").join(table_file(step));
    let rows = read_table(&table).unwrap();
    let is_poisoned = |row: &Row| row.seed.is_multiple_of(100);
    let mut tasks: Vec<usize> =
        rows.iter().filter(|row| is_poisoned(row)).map(|row| row.sample.task).collect();
    tasks.dedup();
    // Every task is one state here, and so one group.
    tasks
}

#[test]
fn influence_names_the_groups_that_a_collapse_came_from_and_the_run_is_well_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = poisoned(folder.path());
    let asked = ["replay", &run_folder, "--at", "4", "--steps", "3", "--influence"];
    let (code, stdout, stderr) = run(&[&asked[..], &["--tasks", "128", "--json"]].concat());
    assert_eq!(code, 0, "{stderr}");
    let found: Value = stdout.parse().unwrap();
    let steps = found["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    let mut named = 0;
    let before = lines(&run_folder);
    let sampled = |step: usize| before[step]["validation"]["sampled"]["success"].as_f64().unwrap();
    for step in steps {
        let number = step["step"].as_u64().unwrap() as usize;
        let truth = poisoned_groups(&run_folder, number);
        let effect = step["effect"]["mean"].as_f64().unwrap();
        // 128 draws before the step, and 128 after it.
        let change = sampled(number) - sampled(number - 1);
        assert!((effect - change).abs() < 0.15, "step {number}: {effect} and {change}");
        for culprit in step["found"].as_array().unwrap() {
            let group = culprit["group"].as_u64().unwrap() as usize;
            assert!(truth.contains(&group), "step {}: {group} of {truth:?}", step["step"]);
            assert_eq!(culprit["worth"][0], -100.0);
            assert!(step["effect"]["high"].as_f64().unwrap() < 0.0);
            assert!(step["without"]["mean"].as_f64().unwrap() > effect);
            named += 1;
        }
    }
    assert!(named > 0, "{found}");
    assert_ne!(found["futures"]["was"]["steps"], found["futures"]["is"]["steps"]);
    let (code, _, stderr) = run(&[&asked[..], &["--drop-group", "3"]].concat());
    assert!(code == 2 && stderr.contains("cannot be used with"), "{stderr}");
    let (code, _, stderr) = run(&["replay", &run_folder, "--at", "8", "--influence"]);
    assert!(code == 2 && stderr.contains("ends with step 7"), "{stderr}");
}
