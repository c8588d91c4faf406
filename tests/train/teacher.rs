//! Policies that learn from the recorded episodes of another one.

use std::path::Path;

use troupe_core::config::Config;
use troupe_model::{Device, Policy};
use troupe_training::imitation::{ImitationStep, Recording, imitate_recording};
use troupe_training::rehearsal::pupils;
use troupe_training::team::Team;

use crate::support::{plugin, plugins, run};

/// A board on which a few steps teach something.
const EASY: [&str; 10] = [
    "environment.size=4",
    "environment.walls=0",
    "environment.min_distance=1",
    "environment.max_distance=3",
    "rollout.max_turns=3",
    "validation.tasks=32",
    "imitation.tasks=32",
    "imitation.success=0.3",
    "imitation.ceiling=1.01",
    "imitation.max_steps=400",
];

/// A command on the easy board: exit code, standard output and standard error.
fn host(command: &str, workflow: &str, extra: &[&str]) -> (i32, String, String) {
    let files = plugins(&["plan-path", workflow]);
    let mut arguments = vec![command, "--plugins", &files];
    for set in EASY {
        arguments.extend(["--set", set]);
    }
    arguments.extend(extra);
    run(&arguments)
}

fn succeed(command: &str, extra: &[&str]) -> (String, String) {
    let (code, stdout, stderr) = host(command, "solo", extra);
    assert_eq!(code, 0, "{stderr}");
    (stdout, stderr)
}

/// A warm policy, and what it did in 64 tasks of each of two splits.
fn teacher(folder: &Path) -> [String; 2] {
    let out = folder.join("teacher");
    succeed("imitate", &["--out", out.to_str().unwrap()]);
    let path = format!("policies.shared.path={}", out.join("shared").display());
    ["train", "validation"].map(|split| {
        let file = folder.join(format!("{split}.jsonl")).display().to_string();
        let record = ["--tasks", "64", "--set", &path, "--split", split, "--record", &file];
        let (_, stderr) = succeed("eval", &record);
        assert!(stderr.contains("recorded 64 episodes"), "{stderr}");
        file
    })
}

/// A fresh policy that learns for 30 steps: the measurements and the digest.
fn pupil(recording: &Recording, seed: u64) -> (Vec<ImitationStep>, String) {
    let extra = [
        format!("run.seed={seed}"),
        "imitation.success=1.0".into(),
        "imitation.max_steps=30".into(),
    ];
    let sets: Vec<String> = EASY.iter().map(ToString::to_string).chain(extra).collect();
    let mut config = Config::load(None, &sets).unwrap();
    config.plugins.files = vec![plugin("plan-path"), plugin("solo")];
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    recording.check(&team, &config).unwrap();
    let mut steps = Vec::new();
    let pupils = pupils(&config, &team);
    let end =
        imitate_recording(&mut team, &config, &pupils, recording, |now| steps.push(now)).unwrap();
    let most = steps.iter().map(|now| now.success.success).fold(0.0, f64::max);
    assert_eq!(end.now.success.success, most, "the best is kept");
    (steps, team.policies["shared"].digest().unwrap())
}

#[test]
fn a_fresh_policy_learns_from_what_another_one_did() {
    let folder = tempfile::tempdir().unwrap();
    let [episodes, held_out] = teacher(folder.path());
    let recording = Recording::read(&[episodes.clone().into()]).unwrap();
    let (steps, digest) = pupil(&recording, 3);
    let (first, last) = (steps[0].loss, steps[steps.len() - 1].loss);
    assert!(last < 0.7 * first, "the loss falls: {first} {last}");
    let repeated = pupil(&recording, 3);
    assert_eq!(repeated.1, digest, "the same seed, the same weights");
    assert_ne!(pupil(&recording, 4).1, digest);

    let out = folder.path().join("pupil");
    let flags = ["--set", "run.seed=3", "--set", "imitation.success=1.0"];
    let steps = ["--set", "imitation.max_steps=30", "--from", &episodes, "--from", &held_out];
    let place = ["--out", out.to_str().unwrap()];
    let (_, stderr) = succeed("imitate", &[&flags[..], &steps, &place].concat());
    let found = recording.findings();
    let summary = format!(
        "recordings: 128 episodes read, 64 of them held out and not used, {} solved; {} answers",
        found.solved, found.answers
    );
    assert!(stderr.contains(&summary), "{stderr}");
    let saved = Policy::load(&out.join("shared"), Device::cpu()).unwrap();
    assert_eq!(saved.digest().unwrap(), digest, "the command does the same");

    let refuse = |workflow, file: &str| {
        let (code, _, stderr) = host("imitate", workflow, &["--from", file, "--out", "/nowhere"]);
        assert_eq!(code, 2, "{stderr}");
        stderr
    };
    assert!(refuse("solo", &held_out).contains("--split train"));
    assert!(refuse("planner-executor", &episodes).contains("no such role"));
}
