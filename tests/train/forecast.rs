//! What a run will be, before it is.

use std::fs;
use std::path::Path;

use serde_json::Value;
use troupe_core::forecast::{Bill, Forecast};

use crate::support::{plugins, run};

/// A run of six steps, or a forecast of it; what was printed.
fn train(folder: &Path, more: &[&str]) -> String {
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir={:?}", folder.join("runs").display().to_string());
    let sets = [
        dir.as_str(),
        "run.name=run",
        "train.steps=6",
        "rollout.tasks_per_step=4",
        "rollout.max_turns=2",
        "validation.tasks=4",
        "validation.tasks_during_training=4",
        "validation.every=2",
        "imitation.max_steps=5",
        "imitation.success=0.0",
        "imitation.ceiling=1.1",
        "imitation.tasks=4",
    ];
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let call = ["train", "--plugins", &files].into_iter().chain(sets).chain(more.iter().copied());
    let (code, stdout, stderr) = run(&call.collect::<Vec<_>>());
    assert_eq!(code, 0, "{stdout}{stderr}");
    stdout
}

#[test]
fn a_forecast_is_two_steps_of_the_run_told_for_all_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let told = train(folder.path(), &["--forecast"]);
    assert!(told.starts_with("forecast: ") && told.contains(" for 6 steps\n"), "{told}");
    assert!(told.contains("held-out tasks 3 times"), "{told}");
    assert!(!folder.path().join("runs").exists(), "{told}");

    train(folder.path(), &[]);
    let text = fs::read_to_string(folder.path().join("runs/run/metrics.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kept = fs::read_to_string(folder.path().join("runs/run/forecast.json")).unwrap();
    let forecast: Forecast = serde_json::from_str(&kept).unwrap();
    let Bill { steps, tokens, samples, .. } = forecast.likely;
    assert_eq!(steps, 6);
    // The expert of the boards knows how short episodes can be.
    assert!(forecast.learned.samples < forecast.unlearned.samples, "{forecast:?}");
    let drawn = lines[2]["totals"]["samples"].as_f64().unwrap();
    assert_eq!(forecast.unlearned.samples, 3.0 * drawn);
    let expected = format!("  {tokens:.0} tokens drawn in {samples:.0} answers; ");
    assert!(told.contains(&expected), "{told}{expected}");

    let (code, watched, _) = run(&["watch", folder.path().join("runs/run").to_str().unwrap()]);
    assert!(code == 0 && watched.contains("forecast after two steps: "), "{watched}");
    assert!(watched.contains("; it took "), "{watched}");
}
