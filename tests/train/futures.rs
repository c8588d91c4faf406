//! How a run would have gone on if a step had been otherwise.

use std::path::Path;

use serde_json::Value;

use crate::support::{plugins, run};

fn trained(folder: &Path) -> String {
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir=\"{}\"", folder.display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    for set in [
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
    ] {
        arguments.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    folder.join("run").display().to_string()
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
