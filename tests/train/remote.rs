//! Roles that a server answers for, with the real binary.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::http::listen;
use crate::support::{plugins, run};

/// A server with OpenAI's interface that says what `answer` makes of a request.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn start(answer: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static) -> Server {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let address = listen(Arc::new(move |path: &str, body: &Value| {
            if path.contains("/models") {
                return Some((200, json!({ "data": [{ "id": "teacher" }] })));
            }
            count.fetch_add(1, Ordering::Relaxed);
            Some(answer(body))
        }));
        Server { url: format!("http://{address}/v1"), asked }
    }
}

fn evaluate(server: &Server, more: &[&str]) -> (i32, String, String) {
    let url = format!("policies.big.remote.url={}", server.url);
    let files = plugins(&["plan-path", "planner-executor"]);
    let mut arguments = vec!["eval", "--plugins", &files, "--tasks", "12", "--set", &url];
    for set in [
        "roles.planner=big",
        "roles.executor=small",
        "policies.small.train=true",
        "policies.big.remote.retries=0",
        "rollout.max_turns=2",
    ] {
        arguments.extend(["--set", set]);
    }
    arguments.extend(more);
    run(&arguments)
}

#[test]
fn a_role_may_be_played_by_a_server_and_the_other_by_a_policy_of_ours() {
    let server = Server::start(|body| {
        assert_eq!(body["model"], "teacher");
        assert_eq!(body["n"], Value::Null, "every answer is asked for by itself");
        let message = json!({ "role": "assistant", "content": "up right" });
        (200, json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }))
    });
    for scheduling in ["rollout.scheduling=lock-step", "rollout.scheduling=overlapped"] {
        let before = server.asked.load(Ordering::Relaxed);
        let (code, stdout, stderr) = evaluate(&server, &["--set", scheduling]);
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("greedy") && !stdout.contains("void"), "{stdout}");
        assert!(server.asked.load(Ordering::Relaxed) >= before + 12);
    }
}

#[test]
fn an_answer_that_cannot_be_had_makes_the_episode_void_and_never_a_failure() {
    let server = Server::start(|_| (503, json!({ "error": { "message": "overloaded" } })));
    for scheduling in ["rollout.scheduling=lock-step", "rollout.scheduling=overlapped"] {
        let (code, stdout, stderr) = evaluate(&server, &["--set", scheduling]);
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("12 by remote_unreachable"), "{stdout}");
    }
}

/// Where no server is.
fn nowhere() -> String {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", nobody.local_addr().unwrap())
}

#[test]
fn the_files_of_a_run_are_verified_without_the_server_that_answered() {
    let server = Server::start(|_| {
        let message = json!({ "role": "assistant", "content": "up right" });
        (200, json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }))
    });
    let folder = tempfile::tempdir().unwrap();
    let url = format!("policies.big.remote.url={}", server.url);
    let dir = format!("run.dir={:?}", folder.path().display().to_string());
    let files = plugins(&["plan-path", "planner-executor"]);
    let mut arguments = vec!["train", "--plugins", &files, "--set", &url, "--set", &dir];
    for set in [
        "run.name=run",
        "roles.planner=big",
        "roles.executor=small",
        "policies.small.train=true",
        "imitation.enabled=false",
        "rollout.max_turns=2",
        "rollout.tasks_per_step=4",
        "train.steps=1",
        "validation.tasks=4",
        "validation.tasks_during_training=4",
    ] {
        arguments.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    let run_folder = folder.path().join("run");
    let config = run_folder.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains(&server.url), "{text}");
    fs::write(&config, text.replace(&server.url, &nowhere())).unwrap();
    let (code, told, stderr) = run(&["verify", run_folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{told}{stderr}");
    assert!(told.contains("what a server did cannot be repeated here"), "{told}{stderr}");
}

#[test]
fn a_server_that_is_not_there_is_an_error_before_any_work() {
    let url = nowhere();
    let server = Server { url: url.clone(), asked: Arc::default() };
    let (code, _, stderr) = evaluate(&server, &[]);
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("policy `big`") && stderr.contains(&url), "{stderr}");
}
