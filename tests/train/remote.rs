//! Roles that a server answers for, with the real binary.

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

#[test]
fn a_server_that_is_not_there_is_an_error_before_any_work() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", nobody.local_addr().unwrap());
    drop(nobody);
    let server = Server { url: url.clone(), asked: Arc::default() };
    let (code, _, stderr) = evaluate(&server, &[]);
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("policy `big`") && stderr.contains(&url), "{stderr}");
}
