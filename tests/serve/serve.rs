//! The grader as a service, through the real binary and plain sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};

use crate::support::client::{Answer, Server};
use crate::support::run;

/// A program that goes on until it is stopped.
const ENDLESS: &str = "while True: pass";

fn code(program: &str) -> Value {
    json!({"language": "python", "code": program})
}

fn run_code(server: &Server, request: &Value) -> Value {
    let answer = server.post("/run_code", &request.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

fn grade(server: &Server, request: &Value) -> Value {
    let answer = server.post("/grade", &request.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// Status, run status and exit code.
fn shown(answer: &Value) -> (&str, &str, Option<i64>) {
    let result = &answer["run_result"];
    (
        answer["status"].as_str().unwrap(),
        result["status"].as_str().unwrap_or(""),
        result["return_code"].as_i64(),
    )
}

#[test]
fn verls_request_gets_sandbox_fusions_answer() {
    let server = Server::start(&["--jobs", "1"]);
    let answer = run_code(
        &server,
        &json!({
            "compile_timeout": 10, "run_timeout": 10, "code": "print(sum(map(int, input().split())))",
            "stdin": "1 2\n", "memory_limit_MB": 1024, "language": "python", "files": {},
            "fetch_files": []
        }),
    );
    assert_eq!(shown(&answer), ("Success", "Finished", Some(0)));
    assert_eq!(answer["run_result"]["stdout"], "3\n");
    assert_eq!(answer["run_result"]["stderr"], "");
    assert!(answer["run_result"]["execution_time"].is_f64());
    for field in ["compile_result", "executor_pod_name"] {
        assert_eq!(answer.get(field), Some(&Value::Null));
    }
    assert_eq!((&answer["message"], &answer["files"]), (&json!(""), &json!({})));
    assert_eq!(answer["troupe"]["limits"]["memory_mib"], 512, "the server's cap");
}

#[test]
fn every_end_of_a_program_is_told_apart() {
    let server = Server::start(&["--jobs", "1", "--fuel", "1000000000", "--output-kib", "64"]);
    let ended = |program: &str| run_code(&server, &code(program));
    let failed = ended("print('so far')\n1/0");
    assert_eq!(shown(&failed), ("Failed", "Finished", Some(1)));
    assert_eq!(failed["run_result"]["stdout"], "so far\n");
    assert!(failed["run_result"]["stderr"].as_str().unwrap().contains("ZeroDivisionError"));
    assert_eq!(failed["troupe"]["error"], "ZeroDivisionError");
    assert_eq!(shown(&ended("x = (")), ("Failed", "Finished", Some(1)));
    assert_eq!(shown(&ended("import sys; sys.exit(3)")), ("Failed", "Finished", Some(3)));
    let late = ended(&format!("print('so far', flush=True)\n{ENDLESS}"));
    assert_eq!(shown(&late), ("Failed", "TimeLimitExceeded", None));
    assert_eq!(late["run_result"]["stdout"], "so far\n");
    assert_eq!(late["troupe"]["outcome"], "out_of_fuel");
    assert_eq!(shown(&ended("while True: print('x' * 1000)")), ("Failed", "Finished", Some(141)));
    let other = run_code(&server, &json!({"language": "cpp", "code": "int main() {}"}));
    assert_eq!(shown(&other), ("SandboxError", "", None));
    assert!(other["message"].as_str().unwrap().contains("`cpp`"));
    let javascript =
        run_code(&server, &json!({"language": "nodejs", "code": "console.log(1 + 1)"}));
    assert_eq!(javascript["run_result"]["stdout"], "2\n");
}

#[test]
fn the_requests_timeout_is_held() {
    let server = Server::start(&["--jobs", "1"]);
    let request = json!({"language": "python", "code": ENDLESS, "run_timeout": 0.4});
    let answer = run_code(&server, &request);
    assert_eq!(shown(&answer), ("Failed", "TimeLimitExceeded", None));
    assert_eq!(answer["troupe"]["outcome"], "out_of_time");
}

#[test]
fn programs_and_completions_are_graded() {
    let server = Server::start(&["--jobs", "2"]);
    let right = "print(int(input()) + 1)";
    let tests = json!([{"input": "1", "output": "2"}, {"input": "5", "output": "6"}]);
    let verdict = grade(&server, &json!({"tests": tests, "program": right}));
    assert_eq!(verdict["verdict"], "passed");
    assert_eq!((&verdict["passed"], &verdict["total"]), (&json!(2), &json!(2)));
    assert_eq!(
        (&verdict["language"], verdict["interpreter"].as_str().map(str::len)),
        (&json!("python"), Some(64))
    );

    let wrong = "n = int(input())\nprint(2 if n == 1 else 0)";
    let completions =
        [format!("```python\n{right}\n```"), format!("```\n{wrong}\n```"), "No.".to_owned()];
    let problem = json!({"id": "next", "tests": tests});
    let batch = grade(&server, &json!({"problem": problem, "completions": completions}));
    let seen: Vec<_> = batch["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            json!([
                line["problem"],
                line["sample"],
                line["verdict"],
                line["cause"],
                line["first_failure"]
            ])
        })
        .collect();
    assert_eq!(
        seen,
        [
            json!(["next", 0, "passed", null, null]),
            json!(["next", 1, "failed", "wrong_answer", 1]),
            json!(["next", 2, "failed", "no_code", null]),
        ]
    );

    // serde_json would round the number; the grader must not.
    let call = r#"{"tests": [{"arguments": [12345678901234567890123], "expected": 12345678901234567890124}],
        "function": "f", "program": "def f(x): return x + 1"}"#;
    assert_eq!(server.post("/grade", call).json()["verdict"], "passed");
    let checker = json!({"id": "c", "tests": [{"input": "", "output": ""}],
        "checker": {"language": "python", "source": "boom("}});
    let void = grade(&server, &json!({"problem": checker, "program": "print()"}));
    assert_eq!(void["verdict"], "void", "a broken checker is nobody's failure: {void}");
}

#[test]
fn requests_that_are_wrong_are_refused_by_kind() {
    let server = Server::start(&["--jobs", "1", "--max-body-mib", "1"]);
    let status = |path: &str, body: &str| {
        let answer = server.post(path, body);
        assert!(answer.json()["error"]["message"].is_string(), "{}", answer.body);
        answer.status
    };
    assert_eq!(status("/run_code", "{"), 400);
    assert_eq!(status("/run_code", "{\"code\": 1}"), 422);
    assert_eq!(status("/grade", "nonsense"), 400);
    assert_eq!(status("/grade", "{\"programme\": \"\"}"), 422);
    assert_eq!(status("/nothing", "{}"), 404);
    assert_eq!(status("/health", "{}"), 405);
    let huge = json!({"language": "python", "code": "#".repeat(40 << 20)}).to_string();
    assert_eq!(status("/run_code", &huge), 413);
    assert_eq!(status("/grade", &huge), 413);
    let get = server.ask("GET /run_code HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((get.status, get.header("allow")), (405, Some("POST")));
    assert_eq!(server.get("/v1/ping").json(), "pong");
    assert_eq!(server.health()["waiting"], 0, "whoever was refused has left");
}

#[test]
fn neither_a_web_page_nor_another_name_is_let_in() {
    let server = Server::start(&["--jobs", "1"]);
    let status = |headers: &str| {
        let body = code("print(1)").to_string();
        let length = body.len();
        server.ask(&format!(
            "POST /run_code HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )).status
    };
    assert_eq!(status("Host: localhost:8080\r\n"), 200);
    assert_eq!(status("Host: localhost\r\nOrigin: http://localhost\r\n"), 403);
    assert_eq!(status("Host: localhost\r\nOrigin: null\r\n"), 403);
    assert_eq!(status("Host: evil.example\r\n"), 403);
}

#[test]
fn what_does_not_fit_into_the_queue_gets_429_and_all_others_the_right_answer() {
    let server = Server::start(&["--jobs", "1", "--queue", "2"]);
    // A request has its place as soon as its head is there.
    let bodies: Vec<String> =
        (0..3).map(|n| code(&format!("print({n} * 7)")).to_string()).collect();
    let mut inside: Vec<TcpStream> =
        bodies.iter().map(|body| server.begin("/run_code", body.len())).collect();
    server.wait_for(|health| health["waiting"] == 3);
    for path in ["/run_code", "/grade"] {
        let answer = server.post(path, &code("print(1)").to_string());
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
        assert_eq!(answer.json()["error"]["kind"], "overloaded");
    }
    for (n, (stream, body)) in inside.iter_mut().zip(&bodies).enumerate() {
        stream.write_all(body.as_bytes()).unwrap();
        let answer = Answer::read(stream);
        assert_eq!(answer.json()["run_result"]["stdout"], format!("{}\n", n * 7));
    }
    assert_eq!(server.post("/run_code", &code("print(1)").to_string()).status, 200);
}

#[test]
fn under_overload_every_answer_is_right_or_429() {
    let server = Server::start(&["--jobs", "1", "--queue", "2", "--fuel", "1500000000"]);
    let mut busy = server.send("/run_code", &code(ENDLESS).to_string());
    server.wait_for(|health| health["running"] == 1);
    let waiting = ["print(1)", "print(2)"]
        .map(|program| server.send("/run_code", &code(program).to_string()));
    server.wait_for(|health| health["waiting"] == 2);
    let statuses: Vec<u16> = (0..3)
        .map(|n| server.post("/run_code", &code(&format!("print({n})")).to_string()).status)
        .collect();
    assert_eq!(statuses, [429, 429, 429]);
    assert_eq!(shown(&Answer::read(&mut busy).json()), ("Failed", "TimeLimitExceeded", None));
    for (mut stream, output) in waiting.into_iter().zip(["1\n", "2\n"]) {
        assert_eq!(Answer::read(&mut stream).json()["run_result"]["stdout"], output);
    }
}

#[test]
fn who_hangs_up_frees_a_place_at_once() {
    let server = Server::start(&["--jobs", "1", "--queue", "1", "--fuel", "1500000000"]);
    let busy = server.send("/run_code", &code(ENDLESS).to_string());
    server.wait_for(|health| health["running"] == 1);
    let waiting = server.send("/run_code", &code("print(1)").to_string());
    server.wait_for(|health| health["waiting"] == 1);
    drop(waiting);
    server.wait_for(|health| health["waiting"] == 0);
    drop(busy);
    let answer = run_code(&server, &code("print(2)"));
    assert_eq!(answer["run_result"]["stdout"], "2\n");
    let endless = json!({"tests": vec![json!({"input": "", "output": ""}); 1000], "program": ENDLESS,
        "fuel": 100_000_000, "all_tests": true});
    let batch = server.send("/grade", &endless.to_string());
    server.wait_for(|health| health["running"] == 1);
    drop(batch);
    server.wait_for(|health| health["running"] == 0);
}

#[test]
fn who_is_too_slow_is_not_waited_for() {
    let server = Server::start(&["--jobs", "1", "--queue", "0", "--receive-timeout-ms", "300"]);
    let mut body = server.begin("/run_code", 100);
    assert_eq!(Answer::read(&mut body).status, 408);
    let mut head = TcpStream::connect(server.address()).unwrap();
    head.write_all(b"POST /run_code HTTP/1.1\r\nHost: ").unwrap();
    let mut rest = Vec::new();
    head.read_to_end(&mut rest).unwrap();
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
    assert_eq!(run_code(&server, &code("print(1)"))["status"], "Success");
}

#[test]
fn who_is_silent_makes_room_and_keeps_no_server_from_ending() {
    // A place, and 256 besides; nobody is sent away for being slow.
    let patient = ["--jobs", "1", "--queue", "0", "--receive-timeout-ms", "600000"];
    let mut server = Server::start(&patient);
    let mut kept = server.connect();
    kept.write_all(b"GET /v1/ping HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(kept.read(&mut [0; 1024]).unwrap() > 0);
    let mut silent: Vec<TcpStream> = (0..400).map(|_| server.connect()).collect();
    assert_eq!(server.health()["status"], "ok");
    assert_eq!(silent[0].read(&mut [0]).unwrap(), 0, "the first has left");
    drop(silent.split_off(1));
    server.terminate();
    assert_eq!(server.end(), Some(0));
    assert_eq!(kept.read(&mut [0]).unwrap(), 0, "who has been answered was not sent away before");
}

#[test]
fn fifty_at_once_are_all_answered_right() {
    let server = Server::start(&["--jobs", "2"]);
    thread::scope(|scope| {
        for n in 0..50 {
            let server = &server;
            scope.spawn(move || {
                let request = json!({"language": "python", "code": "print(int(input()) ** 2)", "stdin": format!("{n}")});
                let answer = run_code(server, &request);
                assert_eq!(answer["run_result"]["stdout"], format!("{}\n", n * n));
            });
        }
    });
    let health = server.health();
    assert_eq!((&health["running"], &health["waiting"]), (&json!(0), &json!(0)));
    assert_eq!(health["status"], "ok");
    assert_eq!(health["interpreters"]["python"].as_str().map(str::len), Some(64));
}

#[test]
fn a_server_that_is_told_to_stop_finishes_what_runs_and_refuses_what_waits() {
    let mut server = Server::start(&["--jobs", "1", "--fuel", "1500000000"]);
    let mut running = server.send("/run_code", &code(ENDLESS).to_string());
    server.wait_for(|health| health["running"] == 1);
    let mut waiting = server.send("/run_code", &code("print(1)").to_string());
    server.wait_for(|health| health["waiting"] == 1);
    server.terminate();
    let refused = Answer::read(&mut waiting);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(shown(&Answer::read(&mut running).json()), ("Failed", "TimeLimitExceeded", None));
    assert_eq!(server.end(), Some(0));
    assert!(TcpStream::connect(server.address()).is_err());
}

#[test]
fn nothing_is_served_by_accident() {
    let (code, _, stderr) = run(&["serve"]);
    assert!(code == 2 && stderr.contains("--grader"), "{code}: {stderr}");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let (code, stdout, stderr) = run(&["serve", "--grader", "--listen", address]);
        assert!(code == 2 && stdout.is_empty() && stderr.contains("--public"), "{code}: {stderr}");
    }
    let server = Server::start(&["--jobs", "1"]);
    let (code, _, stderr) = run(&["serve", "--grader", "--listen", server.address()]);
    assert!(code == 2 && stderr.contains("cannot listen"), "{code}: {stderr}");
    let (code, stdout, _) = run(&["serve", "--help"]);
    assert!(code == 0 && stdout.contains("Examples:") && stdout.contains("curl"));
}
