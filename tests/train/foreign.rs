//! Environments on OpenEnv servers: our own, one in Python, and servers that misbehave.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::client::Server;
use crate::support::{plugin, run};

/// Settings of runs of a few seconds.
const SMALL: &str = "[rollout]\ntasks_per_step = 8\nbranches = 4\nmax_turns = 4\n\
                     [train]\nsteps = 2\n[imitation]\nenabled = false\n\
                     [validation]\ntasks = 16\ntasks_during_training = 8\n";

/// docs/openenv/serve_python.py with an environment of tests/fixtures/foreign.
struct PythonServer {
    child: Child,
    address: String,
}

impl PythonServer {
    /// With a class of toys.py.
    fn of(class: &str, options: &str) -> Self {
        PythonServer::serving(&format!("toys:{class}"), options)
    }

    fn serving(class: &str, options: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut child = Command::new("python3")
            .arg(root.join("docs/openenv/serve_python.py"))
            .args([class, "--port", "0", "--options", options])
            .env("PYTHONPATH", root.join("tests/fixtures/foreign"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        PythonServer { child, address }
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        // It does not end by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run in `folder`, of the environment at this address.
fn train(folder: &Path, address: &str, more: &[&str]) -> (i32, String, PathBuf) {
    let file = folder.join("foreign.toml");
    let text = format!(
        "[plugins]\nfiles = [{:?}]\n[environment]\nopenenv = {address:?}\n\
         probe = \"right\\nleft\\nleft\"\nrules = \"say left or right\"\n\
         [run]\ndir = {folder:?}\nname = \"foreign\"\n{SMALL}",
        plugin("solo").display().to_string()
    );
    fs::write(&file, text).unwrap();
    let (code, _, stderr) = run(&[&["train", file.to_str().unwrap()], more].concat());
    (code, stderr, folder.join("foreign"))
}

fn records(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Void episodes of all steps, by cause.
fn void(run: &Path) -> Vec<(String, u64)> {
    let records = records(run);
    let causes = records.iter().filter_map(|record| record["void"].as_object()).flatten();
    causes.map(|(cause, count)| (cause.clone(), count.as_u64().unwrap())).collect()
}

#[test]
fn an_environment_of_ours_is_played_over_a_server_as_in_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let (file, solo) = (plugin("plan-path"), plugin("solo"));
    let file = file.to_str().unwrap();
    let policy = folder.path().join("policy");
    let files = format!("{file},{}", solo.display());
    let (code, _, stderr) = run(&[
        "policy",
        "new",
        "--preset",
        "tiny",
        "--plugins",
        &files,
        "--out",
        policy.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{stderr}");
    let words = "environment.observation=list";
    let server = Server::of(&["--environment", file, "--set", words]);
    let played = |name: &str, environment: &str, files: &[&str]| {
        let config = folder.path().join(format!("{name}.toml"));
        let text = format!(
            "[plugins]\nfiles = {files:?}\n[environment]\n{environment}\n\
             [policies.shared]\npath = {policy:?}\n\
             [run]\ndir = {:?}\nname = {name:?}\n{SMALL}",
            folder.path()
        );
        fs::write(&config, text).unwrap();
        let (code, _, stderr) = run(&["train", config.to_str().unwrap()]);
        assert_eq!(code, 0, "{stderr}");
        (records(&folder.path().join(name)), stderr)
    };
    let solo = solo.to_str().unwrap();
    let openenv = format!("openenv = \"http://{}\"", server.address());
    let (there, said) = played("there", &openenv, &[solo]);
    let (here, _) = played("here", "", &[file, solo]);
    assert!(said.contains("neither isolated nor reproducible"), "{said}");
    for (there, here) in there.iter().zip(&here) {
        for same in ["episodes", "endings", "void", "groups", "updates", "validation", "test"] {
            assert_eq!(there[same], here[same], "{same} of step {}", here["step"]);
        }
        let reward = |record: &Value| record["roles"]["player"]["reward"].clone();
        assert_eq!(reward(there), reward(here));
    }
    let manifest = fs::read_to_string(folder.path().join("there/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let noted = &manifest["servers"][0];
    assert_eq!((&noted["isolated"], &noted["forks"]), (&Value::Bool(false), &Value::Bool(true)));
    assert_eq!(noted["name"], "plan-path");
}

#[test]
fn a_team_learns_in_an_environment_that_is_served_by_python() {
    let folder = tempfile::tempdir().unwrap();
    let server = PythonServer::of("Corridor", "{}");
    let more = ["--set", "train.steps=12", "--set", "rollout.tasks_per_step=16"];
    let (code, stderr, run) = train(folder.path(), &server.address, &more);
    assert_eq!(code, 0, "{stderr}");
    let records = records(&run);
    let test = |record: &Value| record["test"]["greedy"]["success"].as_f64().unwrap();
    let (before, after) = (test(&records[0]), test(records.last().unwrap()));
    assert!(after > before + 0.4, "{before} {after}");
    assert!(void(&run).is_empty(), "{:?}", void(&run));
}

#[test]
fn a_server_that_does_not_repeat_itself_is_played_in_whole_episodes_only() {
    let folder = tempfile::tempdir().unwrap();
    let server = PythonServer::of("Dice", "{}");
    let (code, stderr, _) = train(folder.path(), &server.address, &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("cannot be forked: two sessions with one seed"), "{stderr}");
    assert!(stderr.contains("rollout.scheme = \"trajectory\""), "{stderr}");
    let whole = ["--set", "rollout.scheme=trajectory", "--set", "advantage.estimator=grpo"];
    let (code, stderr, run) = train(folder.path(), &server.address, &whole);
    assert_eq!(code, 0, "{stderr}");
    assert!(void(&run).is_empty(), "{:?}", void(&run));
}

#[test]
fn whatever_a_server_does_wrong_makes_its_episode_void_and_no_other() {
    for (what, cause) in [
        ("not_a_number", "invalid_answer"),
        ("long_text", "invalid_answer"),
        ("says_what_nobody_asked", "invalid_answer"),
        ("leaves", "connection"),
        ("sleeps", "no_answer"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = PythonServer::of("Wrong", &format!("{{\"what\": {what:?}}}"));
        let more = [
            "--set",
            "environment.timeout_s=1",
            "--set",
            "train.steps=1",
            "--set",
            "rollout.max_void_share=0.9",
        ];
        let (code, stderr, run) = train(folder.path(), &server.address, &more);
        assert_eq!(code, 0, "{what}: {stderr}");
        let void = void(&run);
        assert!(!void.is_empty(), "{what}");
        assert!(void.iter().all(|(found, _)| found.contains(cause)), "{what}: {void:?}");
        let episodes = records(&run)[1]["episodes"].as_u64().unwrap();
        let lost: u64 = void.iter().map(|(_, count)| count).sum();
        assert!(lost < episodes, "{what}: {lost} of {episodes}");
    }
}

#[test]
fn a_session_that_was_closed_while_it_waited_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let server = PythonServer::of("Wrong", "{\"what\": \"leaves_once\"}");
    let (code, stderr, run) = train(folder.path(), &server.address, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(void(&run).is_empty(), "{:?}", void(&run));
}

#[test]
fn an_end_by_the_servers_limit_is_no_failure_and_an_evaluation_says_what_it_was_played_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = PythonServer::of("Clock", "{}");
    let (code, stderr, run_folder) =
        train(folder.path(), &server.address, &["--set", "train.steps=1"]);
    assert_eq!(code, 0, "{stderr}");
    let records = records(&run_folder);
    let (episodes, endings) = (&records[1]["episodes"], &records[1]["endings"]);
    assert!(episodes.as_u64().unwrap() > 0 && endings["truncated"] == *episodes, "{endings}");
    let name = run_folder.to_str().unwrap();
    let (code, _, stderr) = run(&["eval", "--run", name, "--tasks", "4"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("neither isolated nor reproducible"), "{stderr}");
}

#[test]
fn a_split_that_a_server_lists_is_asked_for_and_one_that_it_lacks_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    // It begins no task whose split is not named.
    let server = PythonServer::serving("splits:Halves", "{}");
    let (code, stderr, _) = train(folder.path(), &server.address, &[]);
    assert_eq!(code, 6, "{stderr}");
    let refused = "lists no split `validation`, but `train`, `test`";
    assert!(stderr.contains(refused), "{stderr}");
    let told = ["--set", "environment.validation_split=test"];
    let again = tempfile::tempdir().unwrap();
    let (code, stderr, run) = train(again.path(), &server.address, &told);
    assert_eq!(code, 0, "{stderr}");
    assert!(void(&run).is_empty(), "{:?}", void(&run));
}

#[test]
fn a_server_that_cannot_be_played_is_named_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    for (address, expected, reason) in [
        ("http://127.0.0.1:9", 3, "the environment at http://127.0.0.1:9 cannot be played"),
        ("ftp://127.0.0.1:9", 2, "`openenv` cannot be used"),
        ("here", 2, "`openenv` cannot be used"),
    ] {
        let (code, stderr, run) = train(folder.path(), address, &[]);
        assert_eq!(code, expected, "{stderr}");
        assert!(stderr.contains(reason), "{stderr}");
        assert!(!run.exists());
    }
    let grader = Server::start(&[]);
    let address = format!("http://{}", grader.address());
    let (code, stderr, _) = train(folder.path(), &address, &[]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("it is no OpenEnv server"), "{stderr}");
}
