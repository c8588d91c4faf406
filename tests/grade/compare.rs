//! `host compare` of files of outcomes: what became solvable, what of that is chance, and what a
//! second evaluator says.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::run;

/// A file of sampled episodes of some tasks: `+` solves its task.
fn outcomes(folder: &Path, name: &str, tasks: &[&str]) -> String {
    let line = |task: usize, sample: usize, solved: bool| {
        json!({ "step": null, "split": "test", "answers": "sampled", "family": "maze",
            "task": task, "sample": sample, "ending": if solved { "solved" } else { "failed" },
            "solved": solved, "turns": 1, "completion_tokens": 1, "prompt_tokens": 1,
            "reward": 0.0, "last": null, "acts": 1 })
        .to_string()
            + "\n"
    };
    let of_task = |(task, episodes): (usize, &&str)| -> String {
        episodes.chars().enumerate().map(|(sample, is)| line(task, sample, is == '+')).collect()
    };
    let path = folder.join(name);
    fs::write(&path, tasks.iter().enumerate().map(of_task).collect::<String>()).unwrap();
    path.display().to_string()
}

const BEFORE: &[&str] =
    &["++++", "+-+-", "----", "--+-", "+---", "----", "-+--", "----", "++-+", "---+"];
const AFTER: &[&str] =
    &["++++", "++++", "-+++", "----", "++++", "----", "++++", "--++", "++++", "----"];
/// As if a part of what is solved after were not what was meant.
const STRICT: &[&str] =
    &["++++", "++++", "----", "----", "++++", "----", "----", "----", "++++", "----"];

/// What it prints; it must go well.
fn compare(flags: &[&str]) -> String {
    let (code, stdout, stderr) = run(&[&["compare"], flags].concat());
    assert_eq!(code, 0, "{stderr}");
    stdout
}

fn figures(flags: &[&str]) -> Value {
    serde_json::from_str(&compare(&[flags, &["--json"]].concat())).unwrap()
}

#[test]
fn what_was_gained_and_lost_stands_beside_what_chance_makes_of_it_over_k() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, tasks| outcomes(folder.path(), name, tasks);
    let (before, after) = (file("before", BEFORE), file("after", AFTER));
    insta::assert_snapshot!("compare", compare(&[&before, &after]));
    let found = figures(&[&before, &after]);
    assert_eq!(found["curve"][2]["k"], 4);
    for set in ["preserved", "gained", "lost", "never"] {
        let count = found["all"][set].as_f64();
        assert_eq!(found["curve"][2]["sets"][set]["value"].as_f64(), count, "{set}");
    }
    // A file beside itself is chance alone, and sides exchanged exchange what is gained and lost.
    let same = figures(&[&before, &before]);
    for point in same["curve"].as_array().unwrap()[..2].iter() {
        assert_eq!(
            point["beyond_chance"]["gained"],
            json!({"value": 0.0, "low": 0.0, "high": 0.0})
        );
        assert!(point["by_chance"]["lost"]["value"].as_f64().unwrap() > 0.0);
    }
    // 13 of 40 episodes before.
    assert_eq!(found["curve"][0]["pass"]["before"]["value"], 0.325);
    let turned = figures(&[&after, &before]);
    for (one, other) in [("gained", "lost"), ("lost", "gained")] {
        assert_eq!(found["curve"][1]["sets"][one], turned["curve"][1]["sets"][other]);
    }
    assert_eq!(found["curve"][0]["pass"]["after"], turned["curve"][0]["pass"]["before"]);
    assert_eq!(
        (&found["crossing"]["k"]["value"], &turned["crossing"]["k"]["value"]),
        (&Value::Null, &json!(1.0))
    );
}

#[test]
fn of_one_episode_of_a_task_chance_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, tasks| outcomes(folder.path(), name, tasks);
    let (before, after) = (file("before", BEFORE), file("after", AFTER));
    insta::assert_snapshot!("compare_one_episode", compare(&[&before, &after, "--samples", "1"]));
    let found = figures(&[&before, &after, "--samples", "1"]);
    assert_eq!(found["curve"].as_array().unwrap().len(), 1);
    assert_eq!(found["curve"][0].get("by_chance"), None);
}

#[test]
fn a_second_evaluator_says_which_of_the_gains_were_meant() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, tasks| outcomes(folder.path(), name, tasks);
    let (before, after) = (file("before", BEFORE), file("after", AFTER));
    let strict = file("strict", STRICT);
    let both = [&*before, &after, "--also", &before, &strict];
    insta::assert_snapshot!("compare_also", compare(&both));
    let found = figures(&both);
    let esr = |of: &Value| of[2]["sets"]["esr"]["value"].as_f64().unwrap();
    let [first, second] = [&found["curve"], &found["also"]["curve"]].map(esr);
    assert_eq!(esr(&found["change"]), second - first);
    assert_eq!(found["also"]["all"]["gained"], 0);
    // All four count as many episodes as the one with the fewest.
    let short: Vec<&str> = STRICT.iter().map(|episodes| &episodes[..3]).collect();
    let short = file("short", &short);
    let found = figures(&[&before, &after, "--also", &before, &short]);
    assert_eq!((&found["k"], &found["also"]["k"]), (&json!(3), &json!(3)));
    assert_eq!(found["curve"].as_array().unwrap().len(), 3);
}

#[test]
fn a_second_evaluator_of_other_tasks_is_refused_by_the_task() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name, tasks| outcomes(folder.path(), name, tasks);
    let (before, after) = (file("before", BEFORE), file("after", AFTER));
    let refused = |flags: &[&str]| {
        let (code, _, stderr) = run(&[&["compare"], flags].concat());
        assert_eq!(code, 2, "{stderr}");
        stderr.replace(folder.path().to_str().unwrap(), "[FOLDER]")
    };
    let fewer = file("fewer", &AFTER[..7]);
    let also = [&*before, &after, "--also", &before, &fewer];
    insta::assert_snapshot!("compare_fewer_tasks", refused(&also));
    let also = [&*before, &fewer, "--also", &before, &after];
    insta::assert_snapshot!("compare_more_tasks", refused(&also));
    let text = fs::read_to_string(&after).unwrap().replace("sampled", "greedy");
    let greedy = folder.path().join("greedy");
    fs::write(&greedy, text).unwrap();
    let greedy = greedy.to_str().unwrap();
    insta::assert_snapshot!(
        "compare_other_answers",
        refused(&[&before, &after, "--also", greedy, greedy])
    );
    insta::assert_snapshot!("compare_nothing_in_common", refused(&[&before, greedy]));
}
