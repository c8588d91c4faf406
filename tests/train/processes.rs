//! Runs of several processes, by the real binary. What they are to come to is what one comes to.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{host, plugins, run};

/// Flags of a run of a few seconds, in which something is learned.
const SETS: [&str; 15] = [
    "train.steps=4",
    "rollout.tasks_per_step=6",
    "rollout.max_turns=3",
    // Rounds of further tasks, and more than one mini-batch.
    "rollout.refill=1",
    "train.minibatch_samples=40",
    "roles=per-role",
    "validation.tasks=15",
    "validation.tasks_during_training=9",
    "validation.every=2",
    "environment.size=5",
    "environment.walls=2",
    "environment.max_distance=5",
    "imitation.success=0.25",
    "imitation.ceiling=0.9",
    "imitation.tasks=16",
];

fn arguments(folder: &Path, name: &str, processes: usize, extra: &[&str]) -> Vec<String> {
    let dir = format!("run.dir={:?}", folder.display().to_string());
    let (name, processes) = (format!("run.name={name}"), processes.to_string());
    let files = plugins(&["plan-path", "planner-executor"]);
    let mut arguments =
        ["train", "--plugins", &files, "--processes", &processes].map(str::to_owned).to_vec();
    for set in SETS.iter().copied().chain([&*dir, &*name]).chain(extra.iter().copied()) {
        arguments.extend(["--set".to_owned(), set.to_owned()]);
    }
    arguments
}

fn train(folder: &Path, name: &str, processes: usize, extra: &[&str]) -> Vec<Value> {
    let arguments = arguments(folder, name, processes, extra);
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

/// Equal, but for the last digits of what is not counted.
fn assert_near(one: &Value, other: &Value, key: &str) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let (names, others): (Vec<_>, Vec<_>) = (one.keys().collect(), other.keys().collect());
            assert_eq!(names, others, "{key}");
            one.iter().for_each(|(name, value)| {
                assert_near(value, &other[name], &format!("{key}.{name}"));
            });
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len(), "{key}");
            let pairs = one.iter().zip(other).enumerate();
            pairs.for_each(|(index, (a, b))| assert_near(a, b, &format!("{key}[{index}]")));
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            let limit = 2e-5 + 1e-3 * a.abs();
            assert!((a - b).abs() < limit, "{key}: {a} and {b}");
        }
        _ => assert_eq!(one, other, "{key}"),
    }
}

fn assert_all_near(one: &[Value], other: &[Value]) {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).for_each(|(a, b)| assert_near(a, b, &format!("step {}", a["step"])));
}

/// What was asked, said and earned in the recorded episodes of a run, and what became of every
/// held-out one.
fn episodes(run: &Path) -> (Vec<String>, String) {
    let mut names: Vec<_> =
        fs::read_dir(run.join("episodes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let read = |path| String::from_utf8(zstd::decode_all(fs::File::open(path).unwrap()).unwrap());
    let told = names.into_iter().map(|path| read(path).unwrap()).collect();
    (told, fs::read_to_string(run.join("outcomes.jsonl")).unwrap())
}

#[test]
fn one_two_and_four_processes_play_the_same_and_learn_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = ["run.recorded_episodes=100"];
    let alone = train(folder.path(), "one", 1, &recorded);
    let learned = |record: &Value| record["updates"]["planner"]["gradient_norm"].as_f64().unwrap();
    assert!(alone[1..].iter().all(|record| learned(record) > 0.0), "{alone:?}");
    for (name, processes) in [("two", 2), ("four", 4)] {
        assert_all_near(&alone, &train(folder.path(), name, processes, &recorded));
        // Log-probabilities are not among what is recorded of an episode.
        assert_eq!(episodes(&folder.path().join("one")), episodes(&folder.path().join(name)));
    }
}

#[test]
fn what_is_scored_before_it_is_learned_from_is_scored_together() {
    let folder = tempfile::tempdir().unwrap();
    let extra = ["train.anchor=rescored", "train.objective=gspo", "train.steps=2"];
    let alone = train(folder.path(), "one", 1, &extra);
    assert_all_near(&alone, &train(folder.path(), "three", 3, &extra));
}

#[test]
fn the_same_number_of_processes_gives_the_same_bits_and_another_does_not_try() {
    let folder = tempfile::tempdir().unwrap();
    let first = train(folder.path(), "first", 2, &["train.steps=2"]);
    assert_eq!(first, train(folder.path(), "second", 2, &["train.steps=2"]));
    let (code, told, stderr) = run(&["verify", folder.path().join("first").to_str().unwrap()]);
    assert!(code == 0 && told.contains("it was computed by 2 processes"), "{told}{stderr}");
}

#[test]
fn a_run_is_resumed_by_another_number_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    let whole = train(folder.path(), "whole", 1, &[]);
    train(folder.path(), "run", 2, &["train.steps=1"]);
    let run_folder = folder.path().join("run");
    let config = run_folder.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    for (steps, processes) in [(2, "1"), (3, "2"), (4, "3")] {
        fs::write(&config, text.replacen("\nsteps = 1", &format!("\nsteps = {steps}"), 1)).unwrap();
        let path = run_folder.to_str().unwrap();
        let (code, _, stderr) = run(&["train", "--resume", path, "--processes", processes]);
        assert_eq!(code, 0, "{stderr}");
    }
    // What is measured at the last step only differs, as the run had several.
    let learned = |record: &Value| (record["updates"].clone(), record["roles"].clone());
    for (one, other) in whole.iter().zip(&metrics(&run_folder)) {
        let ((updates, roles), (updates_too, roles_too)) = (learned(one), learned(other));
        assert_near(&updates, &updates_too, "updates");
        assert_near(&roles, &roles_too, "roles");
    }
}

/// A run that goes on for long, after it has made some steps.
fn long_run(folder: &Path, processes: usize) -> Child {
    let arguments =
        arguments(folder, "run", processes, &["train.steps=5000", "validation.every=0"]);
    let mut child = host(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = || {
        let text = fs::read_to_string(folder.join("run/metrics.jsonl"));
        text.map_or(0, |text| text.lines().count())
    };
    let began = Instant::now();
    while lines() < 4 {
        assert!(child.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

/// The process of a rank, among the children of the one that started them.
fn process_of(rank: usize, parent: &Child) -> String {
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let text = fs::read_to_string(children).unwrap();
    let is_rank = |pid: &&str| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let name = format!("RANK={rank}");
        environment.split(|byte| *byte == 0).any(|variable| variable == name.as_bytes())
    };
    text.split_whitespace().find(is_rank).unwrap().to_owned()
}

fn send(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// How it ended, what it said, and whether soon after `began`.
fn end(child: Child, began: Instant, limit: u64) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(began.elapsed() < Duration::from_secs(limit), "{:?}: {stderr}", began.elapsed());
    (output.status.code().unwrap(), stderr)
}

#[test]
fn a_rank_that_is_killed_ends_the_run_by_its_name_and_the_run_goes_on_without_it() {
    for victim in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let child = long_run(folder.path(), 3);
        let began = Instant::now();
        send("-KILL", &process_of(victim, &child));
        let (code, stderr) = end(child, began, 20);
        assert_eq!(code, 8, "{stderr}");
        assert!(stderr.contains(&format!("rank {victim} of 3 is lost")), "{stderr}");
        assert!(stderr.contains(&format!("rank {victim} was ended by signal 9")), "{stderr}");
        assert!(stderr.contains("host train --resume"), "{stderr}");
        assert!(!stderr.contains("frame #"), "{stderr}");

        let config = folder.path().join("run/config.toml");
        let text =
            fs::read_to_string(&config).unwrap().replacen("\nsteps = 5000", "\nsteps = 1", 1);
        fs::write(&config, text).unwrap();
        let path = folder.path().join("run");
        let (code, _, stderr) =
            run(&["train", "--resume", path.to_str().unwrap(), "--processes", "2"]);
        assert_eq!(code, 0, "{stderr}");
    }
}

#[test]
fn a_rank_that_stands_still_is_lost_too() {
    let folder = tempfile::tempdir().unwrap();
    let child = long_run(folder.path(), 2);
    let (began, still) = (Instant::now(), process_of(1, &child));
    send("-STOP", &still);
    let (code, stderr) = end(child, began, 70);
    assert_eq!(code, 8, "{stderr}");
    assert!(stderr.contains("rank 1 of 2 is lost"), "{stderr}");
}

#[test]
fn asked_to_stop_all_ranks_stop_after_the_same_step() {
    let folder = tempfile::tempdir().unwrap();
    let child = long_run(folder.path(), 2);
    let began = Instant::now();
    send("-INT", &child.id().to_string());
    let (code, stderr) = end(child, began, 20);
    assert_eq!(code, 130, "{stderr}");
    assert!(stderr.contains("stopped and saved after step"), "{stderr}");
    assert_eq!(stderr.matches("stopping after this step").count(), 1, "{stderr}");
}

#[test]
fn what_is_wrong_is_said_once_and_with_the_usual_code() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = arguments(folder.path(), "run", 3, &["train.stepps=5"]);
    let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(stderr.matches("error").count(), 1, "{stderr}");
    let torchrun = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "x"), ("MASTER_PORT", "1")];
    let output = host(&["train", "--processes", "3"]).envs(torchrun).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("leave `--processes 3` out"), "{stderr}");
}

#[test]
fn processes_that_somebody_else_starts_meet_as_torchrun_has_them_meet() {
    let folder = tempfile::tempdir().unwrap();
    let alone = train(folder.path(), "one", 1, &["train.steps=2"]);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let arguments = arguments(folder.path(), "two", 2, &["train.steps=2"]);
    let start = |rank: usize| {
        let rank = rank.to_string();
        host(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
            .envs([("RANK", &*rank), ("LOCAL_RANK", &*rank), ("WORLD_SIZE", "2")])
            .envs([("LOCAL_WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")])
            .env("MASTER_PORT", port.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let ranks = [start(1), start(0)].map(|child| child.wait_with_output().unwrap());
    for (output, speaks) in ranks.iter().zip([false, true]) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(!output.stdout.is_empty() && !said.is_empty(), speaks, "{said}");
    }
    assert_all_near(&alone, &metrics(&folder.path().join("two")));
}
