//! Two runs on the same tasks with the same draws, until it is known which is better.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{copy_all, plugins, run};

const BOARD: [&str; 2] = ["environment.size=5", "environment.max_distance=5"];

fn trained(folder: &Path, name: &str, more: &[&str]) -> String {
    trained_on(folder, name, &[&BOARD[..], more].concat())
}

fn trained_on(folder: &Path, name: &str, more: &[&str]) -> String {
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir=\"{}\"", folder.display());
    let name_set = format!("run.name={name}");
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir, "--set", &name_set];
    let sets = [
        "train.steps=1",
        "rollout.tasks_per_step=4",
        "validation.tasks=8",
        "validation.tasks_during_training=8",
    ];
    for set in sets.iter().chain(more) {
        arguments.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    folder.join(name).display().to_string()
}

fn decided(one: &str, other: &str, more: &[&str]) -> Value {
    let asked =
        ["eval", "--run", one, "--run", other, "--step", "last", "--decide", "--json", "--sampled"];
    let (code, stdout, stderr) = run(&[&asked[..], more].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("takes some"), "{stderr}");
    stdout.parse().unwrap()
}

#[test]
fn it_is_decided_as_soon_as_it_can_be_and_equal_runs_draw_alike() {
    let folder = tempfile::tempdir().unwrap();
    let early = trained(folder.path(), "early", &["imitation.success=0.1"]);
    let late = trained(
        folder.path(),
        "late",
        &["imitation.success=0.8", "imitation.ceiling=0.95", "run.seed=2"],
    );
    let found = decided(&early, &late, &["--tasks", "1000"]);
    let interval = |end: &str| found["interval"][end].as_f64().unwrap();
    assert!(found["decided"] == true && interval("low") > 0.0, "{found}");
    assert!(found["tasks"].as_u64().unwrap() < 300 && found["of"] == 1000, "{found}");
    let back = decided(&late, &early, &["--tasks", "1000"]);
    assert!(back["interval"]["high"].as_f64().unwrap() < 0.0, "{back}");
    // The same policies in a run of another seed: they are given the same draws.
    let config = Path::new(&late).join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let twin = folder.path().join("twin");
    copy_all(Path::new(&late), &twin);
    fs::write(twin.join("config.toml"), text.replace("seed = 2", "seed = 3")).unwrap();
    let twin = twin.display().to_string();
    let equal = decided(&late, &twin, &["--tasks", "64"]);
    assert!(equal["difference"] == 0.0 && equal["decided"] == false, "{equal}");
    let same = decided(&late, &twin, &["--tasks", "4000", "--difference", "20"]);
    assert!(same["decided"] == true && same["tasks"].as_u64().unwrap() < 1000, "{same}");
}

/// Two families that are learned from, and one that is not, which is played on test tasks.
const MIX: &str = "mix=[{family='near',environment='plan-path',settings={size=5,max_distance=4}},\
                   {family='far',environment='plan-path',settings={size=5,max_distance=5}},\
                   {family='other',environment='plan-path',weight=0,\
                   settings={size=5,max_distance=5}}]";

#[test]
fn every_family_that_is_learned_from_counts_and_runs_have_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let one = trained_on(folder.path(), "one", &[MIX, "imitation.enabled=false"]);
    let twin = folder.path().join("twin");
    copy_all(Path::new(&one), &twin);
    let asked = ["--tasks", "40", "--split", "test"];
    let equal = decided(&one, &twin.display().to_string(), &asked);
    assert!(equal["tasks"] == 80 && equal["of"] == 80, "forty of each: {equal}");
    assert!(equal["difference"] == 0.0 && equal["decided"] == false, "{equal}");
    let config = twin.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let renamed = text.replace("family = \"far\"", "family = \"farther\"");
    assert_ne!(text, renamed);
    fs::write(&config, renamed).unwrap();
    let twin = twin.display().to_string();
    let (code, _, stderr) = run(&["eval", "--run", &one, "--run", &twin, "--decide"]);
    let what = format!("`{one}` learns from the family `far`, and `{twin}` does not");
    assert!(code == 2 && stderr.contains(&what), "{stderr}");
    // As many tasks of the same family, on nearer goals.
    let nearer = text.replace("max_distance = 5", "max_distance = 3");
    assert_ne!(text, nearer);
    fs::write(&config, nearer).unwrap();
    let (code, _, stderr) = run(&["eval", "--run", &one, "--run", &twin, "--decide"]);
    let what = "the family `far` has another value of the setting `max_distance`";
    assert!(code == 2 && stderr.contains(what), "{stderr}");
}

#[test]
fn a_decision_is_between_two_runs() {
    let (code, _, stderr) = run(&["eval", "--run", "nowhere", "--decide"]);
    assert!(code == 2 && stderr.contains("name --run twice"), "{stderr}");
    let asked = ["eval", "--run", "a", "--run", "b", "--decide", "--difference", "0"];
    let (code, _, stderr) = run(&asked);
    assert!(code == 2 && stderr.contains("between 0 and 100"), "{stderr}");
}
