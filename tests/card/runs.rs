//! The real binary on a card.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::is_exact;
use crate::pretrained::first_layers;
use crate::support::client::Server;
use crate::support::{host, near, plugins};

/// A short run that comes by everything: a warm start, answers, updates, evaluations.
const SHORT: [&str; 12] = [
    "run.name=run",
    "train.steps=2",
    "rollout.tasks_per_step=8",
    "rollout.max_turns=3",
    "rollout.cache_gib=0.25",
    "validation.tasks=8",
    "validation.tasks_during_training=4",
    "validation.every=1",
    "imitation.success=0.0",
    "imitation.ceiling=1.1",
    "imitation.tasks=8",
    "imitation.warmup_steps=5",
];

/// The program with a card in it.
fn on_card(arguments: &[&str]) -> Command {
    let mut command = host(arguments);
    command.env("TROUPE_DEVICE", "cuda:0");
    if pretend_cuda::insert().is_some() {
        command.envs(pretend_cuda::environment());
    }
    command
}

fn ended(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

fn succeeded(command: Command) -> String {
    let (code, stdout, stderr) = ended(command);
    assert_eq!(code, 0, "{stdout}{stderr}");
    stdout
}

/// What `host train` is given.
fn arguments(dir: &Path, extra: &[&str]) -> Vec<String> {
    let dir = format!("run.dir={:?}", dir.display().to_string());
    let sets = SHORT.iter().chain(extra).map(ToString::to_string).chain([dir]);
    let train = ["train", "--plugins", &plugins(&["plan-path", "planner-executor"])];
    train
        .map(str::to_owned)
        .into_iter()
        .chain(sets.flat_map(|set| ["--set".to_owned(), set]))
        .collect()
}

type Program = fn(&[&str]) -> Command;

fn train(program: Program, dir: &Path, extra: &[&str]) -> PathBuf {
    let arguments = arguments(dir, extra);
    succeeded(program(&arguments.iter().map(String::as_str).collect::<Vec<_>>()));
    dir.join("run")
}

/// On another device, which has to be accepted.
fn resume(program: Program, run: &Path) {
    let resume = ["train", "--resume", &run.display().to_string()];
    let (code, _, said) = ended(program(&resume));
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("the device was "), "{said}");
    succeeded(program(&[&resume[..], &["--accept-changes"]].concat()));
}

fn edit(run: &Path, from: &str, to: &str) {
    let path = run.join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
}

/// The lines of `metrics.jsonl`.
fn metrics(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether both say the same, but for times and the last digits of numbers.
fn assert_near(left: &Value, right: &Value, place: &str) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            assert!(left.keys().eq(right.keys()), "{place}: {left:?} {right:?}");
            for (key, value) in left.iter().filter(|(key, _)| *key != "timing") {
                assert_near(value, &right[key], &format!("{place}.{key}"));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            assert_eq!(left.len(), right.len(), "{place}");
            left.iter().zip(right).for_each(|(left, right)| assert_near(left, right, place));
        }
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            let most = if is_exact() { 1e-6 } else { 1e-2 };
            let apart = (left - right).abs();
            assert!(apart <= most * left.abs().max(1.0), "{place}: {left} {right}");
        }
        _ => assert_eq!(left, right, "{place}"),
    }
}

fn assert_same_runs(left: &Path, right: &Path) {
    let (left, right) = (metrics(left), metrics(right));
    assert_eq!(left.len(), right.len());
    if !is_exact() {
        return;
    }
    for (left, right) in left.iter().zip(&right) {
        assert_near(left, right, &format!("step {}", left["step"]));
    }
}

#[test]
fn a_run_on_a_card_is_that_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    for extra in
        [&["roles=\"per-role\""][..], &["policies.shared.dtype=\"float32\"", "train.epochs=2"]]
    {
        let _ = fs::remove_dir_all(folder.path());
        let here = train(on_card, &folder.path().join("card"), extra);
        let there = train(host, &folder.path().join("cpu"), extra);
        assert_same_runs(&here, &there);
    }
}

#[test]
fn what_was_begun_on_a_card_goes_on_on_the_cpu_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let whole = train(host, &folder.path().join("whole"), &["train.steps=3"]);
    for (name, first, then) in
        [("up", host as Program, on_card as Program), ("down", on_card, host)]
    {
        let run = train(first, &folder.path().join(name), &["train.steps=2"]);
        edit(&run, "steps = 2", "steps = 3");
        resume(then, &run);
        assert_eq!(metrics(&run).len(), 4);
        let (last, expected) = (metrics(&run).pop().unwrap(), metrics(&whole).pop().unwrap());
        if !is_exact() {
            continue;
        }
        assert_near(&last["policies"], &expected["policies"], name);
        assert_near(&last["roles"], &expected["roles"], name);
    }
}

/// A run of two processes with so many cards.
fn in_two_processes(dir: &Path, device: &str, cards: &str) -> Command {
    let arguments = arguments(dir, &[]);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(["--processes", "2"]);
    let mut command = on_card(&arguments);
    command.env("TROUPE_DEVICE", device).env("PRETEND_GPUS", cards);
    command
}

#[test]
fn two_processes_share_one_card_or_have_one_each() {
    let folder = tempfile::tempdir().unwrap();
    let alone = train(on_card, &folder.path().join("alone"), &[]);
    // Of a machine with one card, both share it.
    let shared = [("one", "cuda:0"), ("each", "cuda")];
    for (name, device) in if is_exact() { &shared[..] } else { &shared[..1] } {
        let dir = folder.path().join(name);
        succeeded(in_two_processes(&dir, device, "2"));
        let lines = metrics(&dir.join("run"));
        assert_eq!(lines.len(), 3);
        for (left, right) in metrics(&alone).iter().zip(&lines).filter(|_| is_exact()) {
            assert_near(&left["roles"], &right["roles"], name);
        }
    }
    if pretend_cuda::insert().is_some() {
        let (code, _, said) = ended(in_two_processes(&folder.path().join("few"), "cuda", "1"));
        assert_ne!(code, 0);
        assert!(said.contains("cannot use device `cuda:1`"), "{said}");
    }
}

/// The newest policy of a run.
fn policy_of(run: &Path) -> String {
    let checkpoints = fs::read_dir(run.join("checkpoints")).unwrap();
    let newest = checkpoints.map(|entry| entry.unwrap().path()).max().unwrap();
    newest.join("policies/shared").display().to_string()
}

#[test]
fn a_trained_policy_is_evaluated_scored_and_served_on_a_card_as_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(on_card, folder.path(), &[]);
    let name = run.display().to_string();
    let eval = ["eval", "--run", &name, "--split", "test", "--tasks", "8"];
    let [here, there] = [on_card as Program, host].map(|program| succeeded(program(&eval)));
    assert!(here == there || !is_exact(), "{here}{there}");

    let policy = policy_of(&run);
    let score = ["policy", "score", &policy, "--text", "move right move up"];
    let [here, there] = [on_card as Program, host].map(|program| {
        let said: Value = serde_json::from_str(&succeeded(program(&score))).unwrap();
        assert!(said["logprobs"].as_array().unwrap().len() > 1, "{said}");
        said
    });
    assert_near(&here, &there, "score");

    let question = r#"{"model": "shared", "messages": [{"role": "user", "content": "move"}],
                       "max_tokens": 12, "temperature": 0, "logprobs": true}"#;
    let [here, there] = [on_card as Program, host].map(|program| {
        let server = Server::by(program, &["--policy", &policy]);
        let answer = server.post("/v1/chat/completions", question);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["choices"].clone()
    });
    assert_near(&here, &there, "serve");
}

#[test]
fn what_is_imitated_on_a_card_is_what_is_imitated_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let policy = |program: Program, name: &str| {
        let out = folder.path().join(name).display().to_string();
        let files = plugins(&["plan-path", "planner-executor"]);
        let mut arguments = vec!["imitate", "--plugins", &files, "--out", &out];
        for set in [
            "imitation.success=0.0",
            "imitation.ceiling=1.1",
            "imitation.tasks=8",
            "imitation.max_steps=4",
            "imitation.warmup_steps=2",
        ] {
            arguments.extend(["--set", set]);
        }
        succeeded(program(&arguments));
        format!("{out}/shared")
    };
    let score = |policy: &str| {
        let score = ["policy", "score", policy, "--text", "move right move up"];
        serde_json::from_str::<Value>(&succeeded(host(&score))).unwrap()
    };
    let [here, there] = [policy(on_card, "card"), policy(host, "cpu")].map(|name| score(&name));
    let numbers = |said: &Value| serde_json::from_value::<Vec<f32>>(said["logprobs"].clone());
    near(&numbers(&here).unwrap(), &numbers(&there).unwrap(), 1e-3);
}

/// A run that goes on, with a setting changed, on a card of which something else took all but so
/// much. The phase that finds no room is named with what to set, and the run goes on later.
fn without_memory(left: u64, setting: (&str, &str), phase: &str, advice: &str) {
    let folder = tempfile::tempdir().unwrap();
    let run = train(on_card, folder.path(), &["rollout.tasks_per_step=4", "validation.tasks=4"]);
    edit(&run, "\nsteps = 2", "\nsteps = 3");
    edit(&run, setting.0, setting.1);
    let resume = ["train", "--resume", &run.display().to_string(), "--accept-changes"];
    let mut command = on_card(&resume);
    command.env("PRETEND_MEMORY", (1_u64 << 30).to_string());
    command.env("PRETEND_TAKEN", ((1_u64 << 30) - left).to_string());
    let (code, _, said) = ended(command);
    assert_eq!(code, 6, "{said}");
    let error = said.lines().find(|line| line.starts_with("error")).unwrap_or_default();
    assert!(error.contains(&format!("the card has no memory left {phase}")), "{said}");
    assert!(error.contains("CUDA out of memory. Tried to allocate"), "{error}");
    assert!(error.contains(advice), "{error}");
    assert!(!said.contains("frame #") && !said.contains("panicked"), "{said}");
    succeeded(on_card(&resume));
    assert_eq!(metrics(&run).len(), 4);
}

#[test]
fn a_card_that_runs_out_of_memory_says_in_what_and_what_to_set_and_the_run_goes_on() {
    if pretend_cuda::insert().is_none() {
        return;
    }
    let many = ("\ntasks_per_step = 4", "\ntasks_per_step = 128");
    without_memory(8_000_000, many, "to draw a step's answers", "rollout.cache_gib");
    let none = ("\nsteps", "\nsteps");
    without_memory(10_000_000, none, "for an update", "train.gradient_checkpointing");
    let many = ("\ntasks_during_training = 4", "\ntasks_during_training = 300");
    without_memory(20_000_000, many, "to play held-out tasks", "tasks_during_training");
}

#[test]
fn a_pretrained_team_trains_on_a_card_near_to_what_was_sampled() {
    let folder = tempfile::tempdir().unwrap();
    // Without its budget, steps are counted.
    let team =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/language-models/team.toml");
    let text = fs::read_to_string(team).unwrap();
    let team = folder.path().join("team.toml");
    fs::write(&team, text.split("[train.budget]").next().unwrap()).unwrap();
    let team = team.display().to_string();
    let dir = format!("run.dir={:?}", folder.path().display().to_string());
    let model = first_layers();
    let path = format!("policies.base.path={:?}", model.path().display().to_string());
    let mut arguments = vec!["train", &team, "--verify-logprobs"];
    for set in [
        &dir[..],
        &path,
        "run.name=run",
        "policies.base.dtype=\"bfloat16\"",
        "train.steps=2",
        "rollout.tasks_per_step=2",
        "rollout.branches=2",
        "rollout.max_completion_tokens=12",
        "rollout.cache_gib=0.5",
        "validation.tasks=2",
        "validation.tasks_during_training=2",
    ] {
        arguments.extend(["--set", set]);
    }
    succeeded(on_card(&arguments));
    let lines = metrics(&folder.path().join("run"));
    assert_eq!(lines.len(), 3);
    for line in &lines[1..] {
        for role in ["drafter", "solver"] {
            let update = &line["updates"][role];
            let apart = update["mean_logprob_difference"].as_f64().unwrap();
            assert!(apart < 0.07, "{line}");
        }
    }
}
