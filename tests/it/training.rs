//! Whole runs of the real binary, small ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::{host, plugins, run};

/// Flags of a run of a few seconds.
fn arguments(folder: &Path, name: &str, extra: &[&str]) -> Vec<String> {
    let sets = [
        format!("run.dir={:?}", folder.display().to_string()),
        format!("run.name={name}"),
        "train.steps=8".to_owned(),
        "rollout.tasks_per_step=8".to_owned(),
        "rollout.max_turns=3".to_owned(),
        "validation.tasks=16".to_owned(),
        "validation.tasks_during_training=8".to_owned(),
        "validation.every=3".to_owned(),
        "imitation.success=0.0".to_owned(),
        "imitation.ceiling=1.1".to_owned(),
        "imitation.tasks=8".to_owned(),
    ];
    let mut arguments = vec!["train".to_owned(), "--plugins".to_owned()];
    arguments.push(plugins(&["plan-path", "planner-executor", "solo"]));
    for set in sets.into_iter().chain(extra.iter().map(ToString::to_string)) {
        arguments.extend(["--set".to_owned(), set]);
    }
    arguments
}

fn train(folder: &Path, name: &str, extra: &[&str]) -> Vec<Value> {
    let arguments = arguments(folder, name, extra);
    let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 0, "{stderr}");
    metrics(&folder.join(name))
}

/// The metrics of a run without what depends on the machine's speed.
fn metrics(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let read = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("timing").expect("every record has its timing");
        record
    };
    text.lines().map(read).collect()
}

#[test]
fn the_same_seed_gives_the_same_metrics_and_another_seed_others() {
    let folder = tempfile::tempdir().unwrap();
    let first = train(folder.path(), "first", &[]);
    assert_eq!(first.len(), 9, "step 0 and 8 steps");
    assert_eq!(first, train(folder.path(), "second", &[]));
    assert_ne!(first, train(folder.path(), "third", &["run.seed=2"]));
}

#[test]
fn a_run_killed_in_the_middle_resumes_as_if_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let whole = train(folder.path(), "whole", &["roles=per-role"]);
    let killed = folder.path().join("killed");
    let flags = arguments(folder.path(), "killed", &["roles=per-role"]);
    let mut child = host(&flags.iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines =
        || fs::read_to_string(killed.join("metrics.jsonl")).map_or(0, |t| t.lines().count());
    while lines() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!killed.join("summary.json").exists(), "it was killed before its end");
    // What a process writes after its last checkpoint is written again.
    let metrics_file = killed.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics_file).unwrap();
    fs::write(&metrics_file, text + "{\"step\":7,\"epis").unwrap();
    let (code, _, stderr) = run(&["train", "--resume", killed.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(metrics(&killed), whole);
    let summary = |run: &str| -> Value {
        let text = fs::read_to_string(folder.path().join(run).join("summary.json")).unwrap();
        let mut summary: Value = serde_json::from_str(&text).unwrap();
        summary.as_object_mut().unwrap().remove("seconds").unwrap();
        summary
    };
    assert_eq!(summary("killed"), summary("whole"));
}

#[test]
fn every_estimator_trains_and_the_sampler_agrees_with_the_trainer() {
    let folder = tempfile::tempdir().unwrap();
    for (name, extra) in [
        ("at-grpo", &["advantage.estimator=at-grpo"][..]),
        ("naive", &["advantage.estimator=naive", "rollout.branch_choice=greedy"]),
        ("grpo", &["advantage.estimator=grpo", "rollout.sampling=trajectory"]),
        (
            "dr-grpo",
            &[
                "advantage.estimator=dr-grpo",
                "rollout.sampling=trajectory",
                "rollout.top_p=0.9",
                "rollout.top_k=20",
            ],
        ),
        (
            "solo",
            &["plugins.workflow=solo", "rollout.branch_choice=softmax", "rollout.temperature=0.8"],
        ),
    ] {
        let mut flags = arguments(folder.path(), name, extra);
        flags.extend([
            "--set".to_owned(),
            "train.steps=2".to_owned(),
            "--verify-logprobs".to_owned(),
        ]);
        let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 0, "{name}: {stderr}");
        for record in &metrics(&folder.path().join(name))[1..] {
            let difference = record["largest_logprob_difference"].as_f64().unwrap();
            assert!(difference < 1e-4, "{name}: {difference}");
            assert!(record["groups"]["groups"].as_u64().unwrap() > 0, "{name}");
        }
    }
}

#[test]
fn a_run_folder_explains_itself_and_its_config_repeats_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let first = train(folder.path(), "first", &["train.steps=2"]);
    let path = folder.path().join("first");
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(path.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["plugins"][0]["name"], "plan-path");
    assert_eq!(manifest["policies"][0]["roles"], serde_json::json!(["executor", "planner"]));
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(path.join("summary.json")).unwrap()).unwrap();
    for side in ["before", "after"] {
        let low = summary[side]["low"].as_f64().unwrap();
        let success = summary[side]["success"].as_f64().unwrap();
        assert!(low <= success && success <= summary[side]["high"].as_f64().unwrap());
        assert_eq!(summary[side]["tasks"], 16);
    }
    let config = path.join("config.toml");
    let (code, _, stderr) = run(&["train", config.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(metrics(&folder.path().join("plan-path-planner-executor")), first, "{stderr}");
}

/// Flags of a run of two steps in which plugins misbehave.
fn hostile_arguments(folder: &Path, name: &str, workflow: &str, extra: &[&str]) -> Vec<String> {
    let fixture = |name: &str| crate::support::fixture(name).display().to_string();
    let workflow_file =
        if workflow == "solo" { plugins(&["solo"]) } else { fixture("hostile-workflow") };
    let workflow_name = format!("plugins.workflow={workflow}");
    let mut sets = vec![
        workflow_name.as_str(),
        "imitation.enabled=false",
        "train.steps=2",
        "plugins.limits.fuel=10000000",
    ];
    sets.extend(extra);
    let mut flags = arguments(folder, name, &sets);
    flags[2] = format!("{},{workflow_file}", fixture("hostile-environment"));
    flags
}

#[test]
fn void_episodes_are_counted_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for (workflow, mode, cause) in [
        ("solo", "environment.mode=trap-act", "trap"),
        ("solo", "environment.mode=nan-reward", "invalid_answer"),
        ("solo", "environment.mode=spin", "out_of_fuel"),
        ("hostile-workflow", "workflow.mode=never-ending", "invalid_answer"),
        ("hostile-workflow", "workflow.mode=unknown-role", "invalid_answer"),
        ("hostile-workflow", "workflow.mode=wrong-role-action", "invalid_answer"),
        ("hostile-workflow", "workflow.mode=wait-for-nobody", "invalid_answer"),
    ] {
        let name = mode.rsplit('=').next().unwrap();
        let flags =
            hostile_arguments(folder.path(), name, workflow, &[mode, "rollout.max_void_share=1.0"]);
        let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code, 0, "{mode}: {stderr}");
        let records = metrics(&folder.path().join(name));
        assert_eq!(records.len(), 3, "{mode}: the run went on");
        assert_eq!(records[2]["void"][cause], 8, "{mode}: {}", records[2]);
        assert_eq!(records[2]["groups"]["groups"], 0, "{mode}: void episodes are in no group");
    }
}

#[test]
fn too_many_void_episodes_stop_the_run_and_say_whose_fault_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let flags = hostile_arguments(folder.path(), "run", "solo", &["environment.mode=trap-act"]);
    let (code, _, stderr) = run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("void") && stderr.contains("hostile-environment"), "{stderr}");
}
