//! Teams of which a server has one policy, with the real binary and a stand-in for the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pretend_tinker::{Server, Traps};
use serde_json::Value;

use crate::support::{distant, host, plugins, run};

const BASE: &str = "org/base";
const STEPS: usize = 4;

/// A server, and the folder of a run whose planner it is to have.
struct Stage {
    folder: tempfile::TempDir,
    server: Server,
}

impl Stage {
    fn set(traps: Traps) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base").display().to_string();
        let files = plugins(&["plan-path", "planner-executor"]);
        let (code, _, stderr) = run(&["policy", "new", "--plugins", &files, "--out", &base]);
        assert_eq!(code, 0, "{stderr}");
        // The server has another model.
        fs::remove_file(folder.path().join("base/model.safetensors")).unwrap();
        let config: Value =
            serde_json::from_slice(&fs::read(folder.path().join("base/config.json")).unwrap())
                .unwrap();
        let vocabulary = config["vocab_size"].as_u64().unwrap() as usize;
        Stage { server: Server::start(&[BASE], vocabulary, traps), folder }
    }

    fn run(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn arguments(&self, name: &str, more: &[&str]) -> Vec<String> {
        let impatient = [
            "policies.planner.tinker.retry_seconds=2",
            "policies.planner.tinker.patience_seconds=10",
        ];
        let tokenizer = self.run("base");
        let server = (self.server.url(), BASE, &*tokenizer);
        let more = [&impatient[..], more].concat();
        distant::arguments(self.folder.path(), name, server, &more)
    }

    fn train(&self, name: &str, more: &[&str]) -> (i32, String) {
        let arguments = self.arguments(name, more);
        let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        (code, stderr)
    }

    /// Begin a run and do something once it has made a step.
    fn disturbed(&self, name: &str, disturb: impl Fn(&Child)) -> (i32, String) {
        let arguments = self.arguments(name, &[]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut child = host(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while steps(&self.run(name)).len() < 2 && begun.elapsed() < Duration::from_secs(120) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before its first step");
            thread::sleep(Duration::from_millis(5));
        }
        disturb(&child);
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn resume(&self, name: &str) -> (i32, String) {
        let folder = self.run(name).display().to_string();
        let (code, _, stderr) = run(&["train", "--resume", &folder]);
        (code, stderr)
    }
}

/// The lines of the metrics without what depends on the machine's speed.
fn steps(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let read = |line: &str| {
        let mut record: Value = serde_json::from_str(line).ok()?;
        record.as_object_mut()?.remove("timing");
        Some(record)
    };
    text.lines().filter_map(read).collect()
}

/// The states on the server that the checkpoints of some runs name, in order.
fn named(runs: &[PathBuf]) -> Vec<String> {
    let mut named = Vec::new();
    for checkpoint in runs.iter().flat_map(|run| fs::read_dir(run.join("checkpoints")).unwrap()) {
        let checkpoint = checkpoint.unwrap().path();
        let kept = fs::read(checkpoint.join("policies/planner/tinker.json")).unwrap();
        let kept: Value = serde_json::from_slice(&kept).unwrap();
        named.push(kept["path"].as_str().unwrap().to_owned());
    }
    named.sort();
    named
}

fn slow() -> Traps {
    Traps { slow: Duration::from_millis(3), ..Traps::skyrl() }
}

#[test]
fn one_policy_of_a_team_is_trained_over_the_wire_and_the_other_here() {
    let stage = Stage::set(Traps::skyrl());
    let (code, stderr) = stage.train("team", &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("policy `planner`: LoRA of rank 16 over org/base"), "{stderr}");
    assert!(stderr.contains("takes means over answers, which is undone"), "{stderr}");
    let steps = steps(&stage.run("team"));
    assert_eq!(steps.len(), 1 + STEPS);
    for step in &steps[1..] {
        for policy in ["planner", "executor"] {
            let update = &step["updates"][policy];
            assert_eq!(update["moved"], true, "{policy}: {update}");
            assert!(update["gradient_norm"].as_f64().unwrap() > 0.0);
            assert!(update["movement"].as_f64().unwrap() > 0.0);
        }
        assert!(step["canaries"]["planner"].as_f64().unwrap() < 1e-5);
        assert_eq!(step["canaries"]["executor"], Value::Null);
    }
    assert!(stage.server.steps().len() > STEPS, "the steps of the trial, too");
    let manifest = fs::read(stage.run("team").join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["distant"]["planner"]["reduction"], "sequence-mean");
    assert_eq!(stage.server.loaded(), 0, "all is unloaded");
    let named = named(&[stage.run("team")]);
    assert_eq!(named.len(), 2);
    assert_eq!(stage.server.checkpoints(), named, "what checkpoints name is kept, and no more");
    assert_eq!(stage.server.harmed(), Vec::<String>::new());
    let team = stage.run("team").display().to_string();
    let (code, stdout, stderr) = run(&["eval", "--run", &team]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("planner"), "{stdout}");
    let (code, card, stderr) = run(&["policy", "card", &team, "--policy", "planner"]);
    assert_eq!(code, 0, "{stderr}");
    for line in ["library_name: \"peft\"", "base_model: \"org/base\"", "_relation: adapter"] {
        assert!(card.contains(line), "{card}");
    }
    assert!(!card.contains("| parameters |") && !card.contains("| began as |"), "{card}");
    let out = stage.run("out").display().to_string();
    let export = ["policy", "export", "--run", &team, "--policy", "planner", "--out", &out];
    let (code, _, stderr) = run(&[&export[..], &["--dtype", "float32"]].concat());
    assert!(code == 2 && stderr.contains("`--dtype`"), "{stderr}");
    assert_eq!((stage.server.loaded(), stage.server.checkpoints()), (0, named));
}

#[test]
fn a_whole_team_may_be_on_one_server_each_with_its_own_adapter_or_all_with_one() {
    let stage = Stage::set(Traps::skyrl());
    let (url, base) = (stage.server.url(), stage.run("base").display().to_string());
    let executor = [
        format!("policies.executor.tinker.url={url}"),
        format!("policies.executor.tinker.base={BASE}"),
        format!("policies.executor.tinker.tokenizer={base}"),
    ];
    let regularized = ["train.objective=gspo", "train.kl_coefficient=0.1", "train.steps=2"];
    let both: Vec<&str> =
        executor.iter().map(String::as_str).chain(regularized.iter().copied()).collect();
    let (code, stderr) = stage.train("both", &both);
    assert_eq!(code, 0, "{stderr}");
    assert!(!stderr.contains("plan:"), "nothing is in memory here: {stderr}");
    for step in &steps(&stage.run("both"))[1..] {
        for policy in ["planner", "executor"] {
            let update = &step["updates"][policy];
            assert_eq!(update["moved"], true, "{policy}: {update}");
            assert_eq!(update["samples"], step["roles"][policy]["samples"], "its own answers");
            let later = step["step"] != 1;
            assert_eq!(update["kl"].as_f64().unwrap() > 0.0, later, "{policy}: {update}");
        }
    }
    let one = ["roles.executor=planner", "train.steps=2", "rollout.store=none"];
    let (code, stderr) = stage.train("one", &one);
    assert_eq!(code, 0, "{stderr}");
    let last = steps(&stage.run("one")).pop().unwrap();
    let samples = |role: &str| last["roles"][role]["samples"].as_u64().unwrap();
    assert_eq!(
        last["updates"]["planner"]["samples"].as_u64().unwrap(),
        samples("planner") + samples("executor")
    );
    assert_eq!(last["updates"]["executor"], Value::Null);
    assert_eq!(stage.server.harmed(), Vec::<String>::new());
    assert_eq!(stage.server.loaded(), 0);
}

#[test]
fn a_run_that_is_told_of_its_end_stops_saves_and_goes_on_as_if_it_never_had() {
    let stage = Stage::set(slow());
    let (code, stderr) = stage.train("whole", &[]);
    assert_eq!(code, 0, "{stderr}");
    let (code, stderr) = stage.disturbed("stopped", |child| {
        let process = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(process, rustix::process::Signal::USR1).unwrap();
    });
    assert_eq!(code, 128 + 10, "{stderr}");
    assert!(stderr.contains("stopped and saved after step"), "{stderr}");
    assert_eq!(stage.server.loaded(), 0);
    assert!(steps(&stage.run("stopped")).len() < 1 + STEPS);
    let (code, stderr) = stage.resume("stopped");
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(steps(&stage.run("stopped")), steps(&stage.run("whole")));
    let named = named(&[stage.run("stopped"), stage.run("whole")]);
    assert_eq!(stage.server.checkpoints(), named, "also those of the session before");
}

#[test]
fn a_run_that_begins_at_the_state_of_another_leaves_that_alone_and_needs_it_only_once() {
    let stage = Stage::set(Traps::skyrl());
    let (code, stderr) = stage.train("old", &["train.steps=2"]);
    assert_eq!(code, 0, "{stderr}");
    let state = stage.run("old").join("checkpoints/step-000002/policies/planner");
    let path = format!("policies.planner.tinker.path={}", state.display());
    let (code, stderr) = stage.train("new", &[&path, "train.steps=2", "checkpoint.keep=1"]);
    assert_eq!(code, 0, "{stderr}");
    let [old, new] = ["old", "new"].map(|name| stage.run(name));
    assert_eq!(stage.server.checkpoints(), named(&[old.clone(), new.clone()]));
    fs::remove_dir_all(old).unwrap();
    let config = fs::read_to_string(new.join("config.toml")).unwrap();
    assert!(config.contains("\nsteps = 2\n"), "{config}");
    let longer = config.replacen("\nsteps = 2\n", "\nsteps = 3\n", 1);
    fs::write(new.join("config.toml"), longer).unwrap();
    let (code, stderr) = stage.resume("new");
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(steps(&new).len(), 1 + 3);
}

#[test]
fn a_server_that_is_restarted_within_a_run_is_given_what_it_had() {
    let stage = Stage::set(slow());
    stage.train("whole", &[]);
    let (code, stderr) = stage.disturbed("restarted", |_| stage.server.restart());
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(steps(&stage.run("restarted")), steps(&stage.run("whole")));
    assert_eq!(stage.server.loaded(), 0);
}

#[test]
fn a_server_that_is_gone_ends_the_run_with_all_that_was_done_saved() {
    let stage = Stage::set(slow());
    stage.train("whole", &[]);
    let (code, stderr) =
        stage.disturbed("left", |_| stage.server.set(|traps| traps.busy = usize::MAX));
    assert_eq!(code, 8, "{stderr}");
    assert!(stderr.contains("503") && stderr.contains("resume the run"), "{stderr}");
    assert!(stderr.contains("could not be unloaded"), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stage.server.set(|traps| traps.busy = 0);
    let (code, stderr) = stage.resume("left");
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(steps(&stage.run("left")), steps(&stage.run("whole")));
}

#[test]
fn a_key_is_shown_to_the_server_and_to_nobody_else() {
    let stage = Stage::set(Traps { key: Some("tml-secret-42"), ..Traps::default() });
    let key = "policies.planner.tinker.api_key_env=TROUPE_TEST_TINKER_KEY";
    let arguments = stage.arguments("locked", &[key, "train.steps=1"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = host(&arguments).env("TROUPE_TEST_TINKER_KEY", "tml-secret-42").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = [output.stdout, output.stderr].concat();
    let mut texts = vec![said];
    let mut folders = vec![stage.run("locked")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => texts.push(fs::read(path).unwrap()),
            }
        }
    }
    let holds = |text: &Vec<u8>| String::from_utf8_lossy(text).contains("tml-secret-42");
    assert!(!texts.iter().any(holds));
    let wrong = host(&arguments).env("TROUPE_TEST_TINKER_KEY", "tml-other").output().unwrap();
    let stderr = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("401") && !stderr.contains("tml-other"), "{stderr}");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_begun() {
    let stage = Stage::set(Traps::skyrl());
    let url = "policies.planner.tinker.url=http://127.0.0.1:9";
    for (more, code, named) in [
        (&["train.max_gradient_norm=1.0"][..], 2, "train.max_gradient_norm = 1e9"),
        (&["train.weight_decay=0.1"], 2, "train.weight_decay = 0"),
        (&["train.entropy_coefficient=0.01"], 2, "train.entropy_coefficient"),
        (&["rollout.temperature=0.7"], 2, "rollout.temperature"),
        (&["policies.planner.tinker.base=org/bse"], 2, "did you mean `org/base`?"),
        (&["policies.planner.tinker.tokenizer=nowhere"], 4, "nowhere"),
        (&[url], 8, "cannot be reached"),
    ] {
        let (actual, stderr) = stage.train("refused", more);
        assert_eq!(actual, code, "{more:?}: {stderr}");
        assert!(stderr.contains(named) && !stderr.contains("panicked"), "{more:?}: {stderr}");
        assert!(!stage.run("refused").exists(), "{more:?}");
        assert_eq!((stage.server.loaded(), stage.server.checkpoints().len()), (0, 0), "{more:?}");
    }
    let asked = stage.server.routes().len();
    let mut arguments = stage.arguments("shown", &[]);
    arguments.push("--print-config".to_owned());
    let (code, stdout, _) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((code, stage.server.routes().len()), (0, asked), "nothing is made to show settings");
    assert!(stdout.contains("[policies.planner.tinker]"), "{stdout}");
    arguments.pop();
    arguments.extend(["--processes".to_owned(), "2".to_owned()]);
    let (code, _, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("a run of several processes"), "{stderr}");
}

#[test]
fn a_policy_on_a_server_plays_for_people_and_beside_those_that_imitate_and_imitates_nobody() {
    let stage = Stage::set(Traps::skyrl());
    let mut arguments = stage.arguments("played", &[]);
    arguments[0] = "play".to_owned();
    let (code, stdout, stderr) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("[planner: you are told]"), "{stdout}");
    let out = stage.run("warm").display().to_string();
    let few = ["imitation.enabled=true", "imitation.max_steps=5", "imitation.tasks=4"];
    let easy = ["imitation.success=0.0", "imitation.every=1", "imitation.ceiling=2.0"];
    let imitate = |sets: &[&str]| {
        let mut arguments = stage.arguments("imitated", sets);
        arguments[0] = "imitate".to_owned();
        arguments.extend(["--out".to_owned(), out.clone()]);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (code, stdout, stderr) = imitate(&[&few[..], &easy].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("executor:") && !stdout.contains("planner:"), "{stdout}");
    let (code, _, stderr) = imitate(&["roles.executor=planner"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("servers have no warm start"), "{stderr}");
    assert_eq!((stage.server.loaded(), stage.server.checkpoints().len()), (0, 0));
}
