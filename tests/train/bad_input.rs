//! Bad input ends with one clear message and a documented exit code.

use std::fs;
use std::path::Path;

use crate::support::{host, plugin, plugins, run};

/// Exit code and message, with the parts that differ from machine to machine taken out.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!(stdout, "", "a refusal prints no result");
    let solo = plugin("solo");
    let places = [(folder, "[FOLDER]"), (solo.parent().unwrap(), "[PLUGINS]")];
    let text = places
        .iter()
        .fold(stderr, |text, (path, name)| text.replace(&path.display().to_string(), name));
    assert!(!text.contains("panicked") && !text.contains("backtrace"), "{text}");
    // What is announced before the failure is not part of the message.
    let message: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("error")).collect();
    format!("exit code {code}\n{}", message.join("\n"))
}

#[test]
fn a_wrong_setting_is_said_before_libtorch_is_loaded() {
    let said = |set: &str| {
        let mut train = host(&["train", "--set", set]);
        let output = train.env("LD_DEBUG", "libs").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, wrong) = said("train.stepps=5");
    assert!(code == Some(2) && wrong.contains("there is no setting `train.stepps`"), "{wrong}");
    assert!(!wrong.contains("libtorch"), "{wrong}");
    let (_, right) = said("train.steps=5");
    assert!(right.contains("libtorch"), "the test is blind");
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |arguments: &[&str]| refusal(folder.path(), arguments);
    let broken = folder.path().join("broken.toml");
    fs::write(&broken, "[train\nsteps = 1").unwrap();
    let files = plugins(&["plan-path", "planner-executor"]);
    let set = |key: &str| refuse(&["train", "--plugins", &files, "--set", key]);
    insta::assert_snapshot!("missing_config", refuse(&["train", "nowhere.toml"]));
    insta::assert_snapshot!("broken_toml", refuse(&["train", broken.to_str().unwrap()]));
    insta::assert_snapshot!("unknown_key", set("rollout.tempature=1"));
    insta::assert_snapshot!("no_branches", set("rollout.branches=0"));
    insta::assert_snapshot!("unknown_environment_setting", set("environment.wals=3"));
    insta::assert_snapshot!("environment_setting_out_of_range", set("environment.walls=-1"));
    insta::assert_snapshot!(
        "role_without_policy",
        refuse(&[
            "train",
            "--plugins",
            &files,
            "--set",
            "policies.big.layers=2",
            "--set",
            "roles.planner=big",
        ])
    );
    insta::assert_snapshot!("role_with_unknown_policy", set("roles.planner=big"));
}

#[test]
fn a_step_that_would_mask_nothing_is_refused_by_name() {
    let files = plugins(&["plan-path", "planner-executor"]);
    let set = "advantage.then=['mask:role=planer']";
    let (code, _, stderr) = run(&["train", "--plugins", &files, "--set", set]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("`advantage.then` has \"mask:role=planer\""), "{stderr}");
    assert!(stderr.contains("no role `planer`; did you mean `planner`?"), "{stderr}");
}

#[test]
fn plugins_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |file: &str| refusal(folder.path(), &["train", "--plugins", file]);
    insta::assert_snapshot!("missing_plugin", refuse("/nowhere/sudoku.wasm"));
    let text = folder.path().join("text.wasm");
    fs::write(&text, "not a component").unwrap();
    insta::assert_snapshot!("not_a_component", refuse(text.to_str().unwrap()));
    insta::assert_snapshot!("no_environment", refuse(plugin("solo").to_str().unwrap()));
}

#[test]
fn policies_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sudoku = folder.path().join("sudoku");
    let (code, _, stderr) = run(&[
        "policy",
        "new",
        "--plugins",
        &plugins(&["sudoku", "filler-checker"]),
        "--out",
        sudoku.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{stderr}");
    let files = plugins(&["plan-path", "planner-executor"]);
    let refuse = |path: &Path| {
        let path = format!("policies.shared.path={:?}", path.display().to_string());
        refusal(folder.path(), &["eval", "--plugins", &files, "--set", &path])
    };
    insta::assert_snapshot!("tokenizer_of_another_environment", refuse(&sudoku));
    insta::assert_snapshot!("missing_policy", refuse(&folder.path().join("nothing")));
    fs::write(sudoku.join("model.safetensors"), b"short").unwrap();
    insta::assert_snapshot!("damaged_weights", refuse(&sudoku));
}

/// Whoever asks for it, a policy whose files are damaged is a policy that cannot be used.
#[test]
fn a_damaged_file_of_a_policy_is_named_and_ends_every_command_with_code_4() {
    let folder = tempfile::tempdir().unwrap();
    let files = plugins(&["plan-path", "planner-executor"]);
    let policy = folder.path().join("policy");
    let path = policy.to_str().unwrap();
    let (code, _, stderr) = run(&["policy", "new", "--plugins", &files, "--out", path]);
    assert_eq!(code, 0, "{stderr}");
    let set = format!("policies.shared.path={path:?}");
    let base = format!("policies.base.path={path:?}");
    let out = folder.path().join("out").display().to_string();
    let runs = format!("run.dir={:?}", folder.path().join("runs").display().to_string());
    let commands: [&[&str]; 9] = [
        &["policy", "inspect", path],
        &["policy", "score", path, "--tokens", "4,5"],
        &["policy", "render", path, "up"],
        &["policy", "ask", path, "up"],
        &["policy", "export", path, "--out", &out],
        &["serve", "--policy", path, "--listen", "127.0.0.1:0"],
        &["eval", "--plugins", &files, "--set", &set],
        &["train", "--plugins", &files, "--set", &set, "--set", &runs],
        &[
            "train",
            "--plugins",
            &files,
            "--set",
            "policies.shared.base=base",
            "--set",
            &base,
            "--set",
            &runs,
        ],
    ];
    for (file, damaged, reason) in [
        ("config.json", "{\"model_type\": \"qwen3\", ", "is damaged: it is not the JSON"),
        ("config.json", "[]", "is damaged: it is not the JSON"),
        ("config.json", "{\"model_type\": \"mamba\"}", "its `model_type` is `mamba`"),
        ("generation_config.json", "{", "is damaged: it is not the JSON"),
        ("tokenizer.json", "{", "`tokenizer.json` cannot be understood"),
        ("tokenizer_config.json", "{", "`tokenizer_config.json` is not JSON"),
    ] {
        let whole = fs::read(policy.join(file)).unwrap();
        fs::write(policy.join(file), damaged).unwrap();
        // One of them is enough for the files that are read alike.
        let asked = if file == "config.json" { &commands[..] } else { &commands[..1] };
        for arguments in asked {
            let said = refusal(folder.path(), arguments);
            assert!(said.starts_with("exit code 4\n"), "{file} {arguments:?}: {said}");
            assert!(said.contains(file) && said.contains(reason), "{file} {arguments:?}: {said}");
        }
        fs::write(policy.join(file), whole).unwrap();
    }
    assert_eq!(run(commands[0]).0, 0);
}

#[test]
fn run_folders_that_cannot_be_used_are_refused_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let files = plugins(&["plan-path", "planner-executor"]);
    let blocked = folder.path().join("a-file");
    fs::write(&blocked, "").unwrap();
    let unwritable = format!("run.dir={:?}", blocked.join("runs").display().to_string());
    insta::assert_snapshot!(
        "unwritable_run_folder",
        refusal(folder.path(), &["train", "--plugins", &files, "--set", &unwritable,])
    );
    insta::assert_snapshot!(
        "resume_nothing",
        refusal(folder.path(), &["train", "--resume", folder.path().to_str().unwrap(),])
    );

    let dir = format!("run.dir={:?}", folder.path().display().to_string());
    let mut flags = vec!["train", "--plugins", &files];
    for set in [
        &dir as &str,
        "run.name=run",
        "train.steps=2",
        "rollout.tasks_per_step=4",
        "rollout.max_turns=2",
        "validation.tasks=4",
        "imitation.success=0.0",
        "imitation.ceiling=1.1",
        "imitation.tasks=4",
    ] {
        flags.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&flags);
    assert_eq!(code, 0, "{stderr}");
    insta::assert_snapshot!("run_exists", refusal(folder.path(), &flags));
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let (code, stdout, _) = run(&["--help"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("host train --plugins sudoku.wasm") && stdout.contains("Exit codes"));
    for command in ["train", "eval", "imitate", "play", "check-answer"] {
        let (code, stdout, _) = run(&[command, "--help"]);
        assert_eq!(code, 0);
        assert!(stdout.contains("Examples:"), "{command} --help has examples");
    }
    let output = host(&["fly"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
