//! Runs that were stopped, changed, damaged or misnamed, and policies that
//! somebody has already: what was earned is kept, and what is different is said.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::retrieval::{self, copy};
use crate::support::{fixture, host, plugins, run};

const SMALL: [&str; 9] = [
    "run.name=run",
    "train.steps=3",
    "rollout.tasks_per_step=4",
    "rollout.max_turns=2",
    "validation.tasks=4",
    "validation.every=0",
    "imitation.success=0.0",
    "imitation.ceiling=1.1",
    "imitation.tasks=4",
];

fn arguments(dir: &Path, extra: &[&str]) -> Vec<String> {
    let mut arguments = vec!["train".to_owned(), "--plugins".to_owned()];
    arguments.push(plugins(&["plan-path", "planner-executor"]));
    let dir = format!("run.dir={:?}", dir.display().to_string());
    let sets = SMALL.iter().chain(extra).map(ToString::to_string).chain([dir]);
    arguments.extend(sets.flat_map(|set| ["--set".to_owned(), set]));
    arguments
}

fn train(dir: &Path, extra: &[&str]) -> PathBuf {
    let arguments = arguments(dir, extra);
    let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 0, "{stderr}");
    dir.join("run")
}

fn resume(run_folder: &Path, flags: &[&str]) -> (i32, String) {
    let mut arguments = vec!["train", "--resume", run_folder.to_str().unwrap()];
    arguments.extend(flags);
    let (code, _, stderr) = run(&arguments);
    (code, stderr)
}

/// Change a setting in a run's configuration.
fn edit(run_folder: &Path, from: &str, to: &str) {
    let path = run_folder.join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

fn steps(run_folder: &Path) -> Vec<u64> {
    let text = fs::read_to_string(run_folder.join("metrics.jsonl")).unwrap();
    let step = |line: &str| serde_json::from_str::<Value>(line).unwrap()["step"].as_u64().unwrap();
    text.lines().map(step).collect()
}

#[test]
fn another_seed_is_another_run_and_more_steps_are_a_wish() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = train(folder.path(), &[]);
    edit(&run_folder, "seed = 1", "seed = 999");
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("`run.seed` was 1 and is 999"), "{stderr}");
    assert!(stderr.contains("--accept-changes"), "{stderr}");
    assert_eq!(steps(&run_folder), [0, 1, 2, 3]);
    edit(&run_folder, "seed = 999", "seed = 1");
    edit(&run_folder, "steps = 3", "steps = 4");
    let of_its_end = run_folder.join("roles.json");
    fs::write(&of_its_end, "{}").unwrap();
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(steps(&run_folder), [0, 1, 2, 3, 4]);
    assert!(!of_its_end.exists(), "it was of another end");

    edit(&run_folder, "clip_high = 0.28", "clip_high = 0.3");
    edit(&run_folder, "steps = 4", "steps = 5");
    let (code, stderr) = resume(&run_folder, &["--accept-changes"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("note: `train.clip_high` was 0.28 and is 0.3"), "{stderr}");
    fs::write(&of_its_end, "{}").unwrap();
    let (code, stderr) = resume(&run_folder, &[]);
    assert!(of_its_end.exists(), "what was done stays");
    assert!(code == 0 && !stderr.contains("note:"), "what was accepted is its own: {stderr}");
}

#[test]
fn a_plugin_that_was_exchanged_has_lost_what_it_was_granted() {
    let folder = tempfile::tempdir().unwrap();
    let library = retrieval::library(folder.path());
    let honest = fixture("search-environment");
    let own = copy(&honest, folder.path(), "search-environment.wasm", None);
    let files = format!("{},{}", own.display(), library.plugins.files[1].display());
    let corpus = &library.retrieval.corpus[0];
    let named = format!("retrieval.corpus=[{:?}]", corpus.display().to_string());
    let dir = format!("run.dir={:?}", folder.path().display().to_string());
    let mut arguments =
        vec!["train", "--plugins", &files, "--grant-retrieval", "search-environment"];
    let sets = SMALL.iter().copied().chain(["imitation.enabled=false", &named, &dir]);
    arguments.extend(sets.flat_map(|set| ["--set", set]));
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    let run_folder = folder.path().join("run");
    let config = || fs::read_to_string(run_folder.join("config.toml")).unwrap();
    let digest = |file: &Path| troupe_core::storage::digest_file(file).unwrap();
    let granted = |file: &Path| format!("\"search-environment@sha256:{}\"", digest(file));
    assert!(config().contains(&granted(&honest)), "{}", config());
    assert_eq!(resume(&run_folder, &[]).0, 0);

    copy(&honest, folder.path(), "search-environment.wasm", Some(b'x'));
    let path = run_folder.to_str().unwrap();
    for command in [["train", "--resume", path], ["eval", "--run", path], ["play", "--run", path]] {
        let (code, _, stderr) = run(&command);
        assert_eq!(code, 3, "{command:?} {stderr}");
        assert!(stderr.contains("was granted `retrieval` as the file with the digest"), "{stderr}");
    }
    let anew = ["--grant-retrieval", "search-environment"];
    let (code, stderr) = resume(&run_folder, &anew);
    assert!(code == 5 && !stderr.contains("retrieval.grant"), "it is said once: {stderr}");
    assert!(stderr.contains("the plugin `search-environment` has another digest"), "{stderr}");
    let (code, stderr) = resume(&run_folder, &[&anew[..], &["--accept-changes"]].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(config().contains(&granted(&own)), "{}", config());
    let (code, stderr) = resume(&run_folder, &[]);
    assert!(code == 0 && !stderr.contains("note:"), "what was accepted is its own: {stderr}");

    fs::write(corpus, "{\"text\": \"something else\"}\n").unwrap();
    let (code, stderr) = resume(&run_folder, &[]);
    assert!(code == 5 && stderr.contains("facts.jsonl` has another digest"), "{stderr}");
}

#[test]
fn the_frozen_base_of_an_adapter_cannot_be_exchanged_under_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let files = plugins(&["plan-path", "planner-executor"]);
    let base = folder.path().join("base");
    let new = |seed: &str, out: &Path| {
        let out = out.to_str().unwrap();
        let (code, _, stderr) =
            run(&["policy", "new", "--plugins", &files, "--set", seed, "--out", out]);
        assert_eq!(code, 0, "{stderr}");
    };
    new("run.seed=1", &base);
    let path = format!("policies.base.path={:?}", base.display().to_string());
    let run_folder =
        train(folder.path(), &[&path, "policies.shared.base=base", "policies.shared.lora.rank=2"]);
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 0, "{stderr}");
    let other = folder.path().join("other");
    new("run.seed=2", &other);
    fs::copy(other.join("model.safetensors"), base.join("model.safetensors")).unwrap();
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("(its base included) `shared` has another digest"), "{stderr}");
}

#[test]
fn what_is_missing_or_damaged_in_a_run_is_named_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = train(folder.path(), &["checkpoint.keep=4"]);
    let weights = run_folder.join("checkpoints/step-000003/policies/shared/model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&weights, bytes).unwrap();
    let metrics = run_folder.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("{\"step\":1,")).collect();
    fs::write(&metrics, kept.join("\n") + "\n").unwrap();
    fs::remove_dir_all(run_folder.join("episodes")).unwrap();
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("model.safetensors` is not what was saved"), "{stderr}");
    assert!(stderr.contains("going back to step 2"), "{stderr}");
    assert!(stderr.contains("lacks 1 of the steps up to 2 (the first is 1"), "{stderr}");
    assert_eq!(steps(&run_folder), [0, 2, 3]);
    assert!(run_folder.join("episodes/step-000003.jsonl.zst").is_file());
}

#[test]
fn a_run_that_is_asked_to_stop_saves_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let extra = ["train.steps=100000", "checkpoint.every=1000"];
    let arguments = arguments(folder.path(), &extra);
    let mut child = host(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let run_folder = folder.path().join("run");
    let lines = || {
        let text = fs::read_to_string(run_folder.join("metrics.jsonl"));
        text.map_or(0, |text| text.lines().count())
    };
    while lines() < 3 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(code, Some(143), "{stderr}");
    let last = *steps(&run_folder).last().unwrap();
    let farewell = format!("stopped and saved after step {last}; go on with `host train --resume ");
    assert!(stderr.contains(&farewell), "{stderr}");
    assert!(run_folder.join(format!("checkpoints/step-{last:06}")).is_dir());
    edit(&run_folder, "steps = 100000", &format!("steps = {}", last + 1));
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(steps(&run_folder), (0..=last + 1).collect::<Vec<_>>());
}

#[test]
fn a_rate_that_was_lowered_is_as_low_in_a_run_that_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let extra = ["train.steps=4", "train.max_movement=1e-6", "checkpoint.every=1"];
    let run_folder = train(folder.path(), &extra);
    let updates = || -> Vec<Value> {
        let text = fs::read_to_string(run_folder.join("metrics.jsonl")).unwrap();
        let record = |line: &str| line.parse::<Value>().unwrap()["updates"].take();
        text.lines().map(record).collect()
    };
    let whole = updates();
    let taken_back = |update: &Value| {
        let policies = update.as_object().unwrap().values();
        policies.filter_map(|policy| policy["taken_back"].as_u64()).sum::<u64>()
    };
    assert!(taken_back(&whole[1]) + taken_back(&whole[2]) > 0, "{whole:?}");
    fs::remove_dir_all(run_folder.join("checkpoints/step-000004")).unwrap();
    let (code, stderr) = resume(&run_folder, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(!stderr.contains("going back"), "it went on from step 3: {stderr}");
    assert_eq!(updates(), whole);
}

#[test]
fn a_policy_that_is_there_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let files = plugins(&["plan-path", "planner-executor"]);
    let out = folder.path().join("policy");
    let out = out.to_str().unwrap();
    let new = |flags: &[&str]| {
        let mut arguments = vec!["policy", "new", "--plugins", &files, "--out", out];
        arguments.extend(flags);
        let (code, _, stderr) = run(&arguments);
        (code, stderr)
    };
    let weights = || fs::read(Path::new(out).join("model.safetensors")).unwrap();
    assert_eq!(new(&[]).0, 0);
    let first = weights();
    let other = ["--set", "run.seed=2"];
    let (code, stderr) = new(&other);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("a policy is there already") && stderr.contains("--force"), "{stderr}");
    let (code, _, stderr) = run(&["policy", "export", out, "--out", out]);
    assert_eq!(code, 5, "{stderr}");
    let warm = folder.path().join("warm");
    fs::create_dir(&warm).unwrap();
    std::os::unix::fs::symlink(out, warm.join("shared")).unwrap();
    let (code, _, stderr) = run(&["imitate", "--plugins", &files, "--out", warm.to_str().unwrap()]);
    assert_eq!(code, 5, "{stderr}");
    assert_eq!(weights(), first, "nothing was touched");
    assert_eq!(new(&["--set", "run.seed=2", "--force"]).0, 0);
    assert_ne!(weights(), first);
}

#[test]
fn an_evaluation_is_of_the_checkpoint_and_the_policies_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = train(folder.path(), &["roles=per-role", "checkpoint.keep=4"]);
    let run_folder = run_folder.to_str().unwrap();
    let eval = |flags: &[&str]| {
        let mut arguments = vec!["eval", "--run", run_folder, "--tasks", "8", "--record"];
        let record = folder.path().join("episodes.jsonl");
        arguments.push(record.to_str().unwrap());
        arguments.extend(flags);
        let (code, _, stderr) = run(&arguments);
        (code, stderr, fs::read_to_string(&record).unwrap_or_default())
    };
    let saved = |step: usize, policy: &str| {
        format!(
            "policies.{policy}.path=\"{run_folder}/checkpoints/step-{step:06}/policies/{policy}\""
        )
    };
    let (code, _, last) = eval(&[]);
    assert_eq!(code, 0);
    let (code, _, first) = eval(&["--step", "0"]);
    assert!(code == 0 && first != last, "training changed the answers");
    let by_hand = ["--set", &saved(0, "planner"), "--set", &saved(0, "executor")];
    assert_eq!(eval(&by_hand).2, first, "an explicit path wins");
    let (code, stderr, _) = eval(&["--step", "7"]);
    assert!(code == 5 && stderr.contains("kept are 0, 1, 2, 3"), "{stderr}");
    let (code, stderr, best) = eval(&["--step", "best"]);
    assert!(code == 0 && [first, last].contains(&best), "{stderr}");
    let (code, stderr, _) = eval(&["--set", "policies.planner.path=/does/not/exist"]);
    assert!(code == 4 && stderr.contains("no policy in `/does/not/exist`"), "{stderr}");
    for tasks in ["0", "1000000000000"] {
        let (code, _, stderr) = run(&["eval", "--run", run_folder, "--tasks", tasks]);
        assert!(code == 2 && stderr.contains("--tasks"), "{stderr}");
    }
    let (code, _, stderr) = run(&["policy", "inspect", folder.path().to_str().unwrap()]);
    assert!(code == 4 && stderr.contains("there is no policy in"), "{stderr}");
}

#[test]
fn a_reader_that_leaves_is_no_fault_of_the_program() {
    for arguments in [&["plugin", "inspect", "sudoku"][..], &["train", "--print-config"]] {
        let files = plugins(&["sudoku", "filler-checker"]);
        let mut arguments = arguments.to_vec();
        if arguments[0] == "train" {
            arguments.extend(["--plugins", &files]);
        }
        let mut child =
            host(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn what_a_plugin_says_cannot_move_the_cursor_or_look_like_a_message_of_ours() {
    let files =
        ["hostile-environment", "hostile-workflow"].map(|name| fixture(name).display().to_string());
    let files = files.join(",");
    for command in [&["eval"][..], &["play", "--oracle"]] {
        let mut arguments = command.to_vec();
        arguments.extend(["--plugins", &files, "--set", "environment.mode=escape"]);
        let (_, stdout, stderr) = run(&arguments);
        let printed = stdout + &stderr;
        assert!(printed.contains("\\u001b[2J\\u202enothing error: all is well"), "{printed}");
        assert!(!printed.contains(['\u{1b}', '\u{202e}']), "{printed}");
    }
}

#[test]
fn a_policy_that_no_machine_has_room_for_is_refused_before_memory_is_taken() {
    let files = plugins(&["plan-path", "planner-executor"]);
    let sizes = "policies.shared={hidden_size=65536,layers=1024,intermediate_size=1000000}";
    let (code, _, stderr) = run(&["train", "--plugins", &files, "--set", sizes]);
    assert_eq!(code, 4, "{stderr}");
    assert!(
        stderr.contains("the policy `shared` cannot be used: its weights would take"),
        "{stderr}"
    );
}
