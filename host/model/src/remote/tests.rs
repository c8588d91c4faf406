//! The whole way to a server and back, with a server of our own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::*;
use troupe_core::trajectory::{Author, StopReason};

const KEY: &str = "sk-very-secret";

/// What a server sends back: status, headers and body.
type Sent = (u16, &'static str, String);
/// What a server saw so far: path, authorization and body of each request.
type Seen = Arc<Mutex<Vec<(String, String, Value)>>>;

/// A server that has the model `tiny`, and answers the n-th question (counted
/// from 0) as it is told.
struct FakeServer {
    address: SocketAddr,
    seen: Seen,
}

impl FakeServer {
    fn start(answer: impl Fn(usize, &Value) -> Sent + Send + Sync + 'static) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Seen::default());
        let (record, answer) = (seen.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (record, answer) = (record.clone(), answer.clone());
                thread::spawn(move || serve(stream.unwrap(), &record, &*answer));
            }
        });
        FakeServer { address, seen }
    }

    fn config(&self) -> RemoteConfig {
        RemoteConfig {
            url: format!("http://{}/v1/", self.address),
            model: Some("tiny".to_owned()),
            timeout_seconds: 60,
            retries: 2,
            ..RemoteConfig::default()
        }
    }

    fn policy(&self) -> RemotePolicy {
        connect(&self.config()).unwrap()
    }

    /// The questions so far.
    fn questions(&self) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let asked = seen.iter().filter(|(path, ..)| path == "/v1/chat/completions");
        asked.map(|(_, _, body)| body.clone()).collect()
    }
}

fn serve(stream: TcpStream, seen: &Seen, answer: &dyn Fn(usize, &Value) -> Sent) {
    let mut reader = BufReader::new(stream);
    let (mut lines, mut line) = (Vec::new(), String::new());
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        lines.push(std::mem::take(&mut line).trim().to_owned());
    }
    let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else { return };
    let header = |name: &str| {
        let found = lines.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        found.unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push((path.to_owned(), header("authorization"), body.clone()));
        seen.iter().filter(|(path, ..)| path == "/v1/chat/completions").count()
    };
    let (status, headers, text) = match path {
        "/v1/models" => (200, "", json!({"data": [{"id": "tiny"}, {"id": "large"}]}).to_string()),
        _ => answer(number - 1, &body),
    };
    let length = text.len();
    // A client that has gone away is part of some tests.
    let _ = write!(
        reader.get_mut(),
        "HTTP/1.1 {status} X\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{text}"
    );
}

fn connect(config: &RemoteConfig) -> Result<RemotePolicy, PolicyError> {
    let mut policy = RemotePolicy::with_key("coder", config, ApiKey::new(KEY).unwrap())?;
    policy.server.first_pause = Duration::ZERO;
    Ok(policy)
}

fn said(text: &str) -> Sent {
    let choice =
        json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    (200, "", json!({ "choices": [choice] }).to_string())
}

/// One request for as many answers as there are seeds.
fn request(seeds: &[u64]) -> ChatRequest {
    let message = |author, text: &str| Message { author, text: text.to_owned() };
    ChatRequest {
        messages: vec![message(Author::System, "be brief"), message(Author::User, "go")],
        tools: Vec::new(),
        thinking: None,
        seeds: seeds.iter().map(|&seed| Seed::new(seed)).collect(),
    }
}

fn sampling() -> Sampling {
    Sampling { temperature: 0.7, ..Sampling::greedy(16) }
}

fn ask(policy: &RemotePolicy) -> Result<Completions, RemoteFailure> {
    policy.complete(&[request(&[1])], &sampling()).remove(0)
}

#[test]
fn token_ids_and_log_probabilities_are_taken() {
    let server = FakeServer::start(|_, _| {
        let tokens = [("go", -0.25), ("<end>", -1.5)];
        let tokens = tokens.map(|(token, p)| json!({"token": token, "logprob": p}));
        let choice = json!({
            "message": {"content": "go"}, "finish_reason": "stop", "token_ids": [7, 2],
            "logprobs": {"content": tokens}
        });
        (200, "", json!({"choices": [choice], "prompt_token_ids": [1, 5, 9]}).to_string())
    });
    let answers = ask(&server.policy()).unwrap();
    assert_eq!(answers.prompt[..], [1, 5, 9]);
    let completion = &answers.completions[0];
    assert_eq!(
        (&completion.tokens[..], &completion.logprobs[..]),
        (&[7, 2][..], &[-0.25, -1.5][..])
    );
    assert_eq!((completion.text.as_str(), completion.stop), ("go", StopReason::EndOfText));
    let question = server.questions().remove(0);
    assert_eq!(question["model"], "tiny");
    assert_eq!(question["messages"][0], json!({"role": "system", "content": "be brief"}));
    assert_eq!(question["seed"], Seed::new(1).value_u32());
    assert_eq!((&question["temperature"], &question["top_p"]), (&json!(0.7), &json!(1.0)));
    assert_eq!(question["return_token_ids"], true);
}

#[test]
fn a_rule_that_a_server_cannot_be_told_of_is_refused_and_nothing_is_asked() {
    let server = FakeServer::start(|_, _| said("up"));
    let texts: Arc<[String]> = vec!["up".to_owned()].into();
    for constraint in [Constraint::Words(texts.clone()), Constraint::Choices(texts)] {
        let bound = Sampling { constraint: Some(constraint), ..sampling() };
        let failure = server.policy().complete(&[request(&[1])], &bound).remove(0).unwrap_err();
        assert_eq!(failure.kind, RemoteFailureKind::Refused);
        assert!(failure.message.contains("`allowed`"), "{failure}");
    }
    assert!(server.questions().is_empty());
    let schema = Constraint::Schema(json!({"type": "object"}).into());
    let bound = Sampling { constraint: Some(schema), ..sampling() };
    server.policy().complete(&[request(&[1])], &bound).remove(0).unwrap();
    assert_eq!(server.questions()[0]["response_format"]["type"], "json_schema");
}

#[test]
fn a_server_that_gives_only_text_is_enough() {
    let server = FakeServer::start(|_, _| said("up"));
    let answers = ask(&server.policy()).unwrap();
    assert!(answers.prompt.is_empty());
    let completion = &answers.completions[0];
    assert_eq!(completion.text, "up");
    assert!(completion.tokens.is_empty() && completion.logprobs.is_empty());
}

#[test]
fn a_server_that_has_too_much_to_do_is_asked_again() {
    let server = FakeServer::start(|number, _| match number {
        0 => (429, "retry-after: 0\r\n", "later".to_owned()),
        1 => (503, "", "loading".to_owned()),
        _ => said("up"),
    });
    assert_eq!(ask(&server.policy()).unwrap().completions[0].text, "up");
    let questions = server.questions();
    assert_eq!(questions.len(), 3);
    assert_eq!(questions[0], questions[2]);
}

#[test]
fn a_server_that_stays_broken_is_a_failure_in_the_end() {
    let server = FakeServer::start(|_, _| (500, "", "out of memory".to_owned()));
    let failure = ask(&server.policy()).unwrap_err();
    assert_eq!(failure.kind, RemoteFailureKind::Unreachable);
    assert_eq!(failure.kind.word(), "remote_unreachable");
    assert!(failure.message.contains("500: out of memory (asked 3 times)"), "{failure}");
    assert_eq!(server.questions().len(), 3);
}

#[test]
fn a_server_that_hangs_is_a_timeout() {
    let server = FakeServer::start(|_, _| {
        loop {
            thread::park();
        }
    });
    let config = RemoteConfig { timeout_seconds: 1, retries: 0, ..server.config() };
    let failure = ask(&connect(&config).unwrap()).unwrap_err();
    assert_eq!(failure.kind, RemoteFailureKind::Timeout);
    assert!(failure.message.contains("`timeout_seconds`"), "{failure}");
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config =
        RemoteConfig { url: format!("http://{free}"), retries: 0, ..RemoteConfig::default() };
    let error = connect(&config).unwrap_err().to_string();
    assert!(error.contains("cannot be reached") && error.contains(&free.to_string()), "{error}");
}

#[test]
fn an_answer_that_is_no_json_is_malformed_and_not_asked_for_again() {
    let server = FakeServer::start(|_, _| (200, "", "{\"choices\": [".to_owned()));
    let failure = ask(&server.policy()).unwrap_err();
    assert_eq!(failure.kind, RemoteFailureKind::Malformed);
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn a_model_that_is_not_there_is_answered_with_those_that_are() {
    let server = FakeServer::start(|_, _| (404, "", "no such model".to_owned()));
    let config = RemoteConfig { model: Some("huge".to_owned()), ..server.config() };
    let error = connect(&config).unwrap_err().to_string();
    assert!(error.contains("no model `huge`; it lists `tiny`, `large`"), "{error}");
    assert!(error.contains("404") && error.contains("no such model"), "{error}");
}

#[test]
fn a_model_that_is_served_without_being_listed_is_found() {
    let server = FakeServer::start(|_, question| match question["model"] == "hidden" {
        true => said("up"),
        false => (404, "", "no such model".to_owned()),
    });
    let config = RemoteConfig { model: Some("hidden".to_owned()), ..server.config() };
    assert_eq!(ask(&connect(&config).unwrap()).unwrap().completions[0].text, "up");
}

#[test]
fn a_field_that_is_refused_is_left_out_from_then_on() {
    let server = FakeServer::start(|_, question| match question.get("return_token_ids") {
        Some(_) => (400, "", "unknown field `return_token_ids`".to_owned()),
        None => said("up"),
    });
    let policy = server.policy();
    assert!(ask(&policy).is_ok() && ask(&policy).is_ok());
    assert_eq!(*policy.refused(), BTreeSet::from(["return_token_ids"]));
    let questions = server.questions();
    let has = |index: usize| questions[index].get("return_token_ids").is_some();
    assert_eq!((questions.len(), has(0), has(1), has(2)), (3, true, false, false));
}

#[test]
fn a_refusal_for_another_reason_is_final_and_teaches_nothing() {
    let refusal = "this is too long for `max_completion_tokens`";
    let server = FakeServer::start(move |_, _| (400, "", refusal.to_owned()));
    let policy = server.policy();
    let failure = ask(&policy).unwrap_err();
    assert_eq!(failure.kind, RemoteFailureKind::Refused);
    assert!(failure.message.contains(refusal), "{failure}");
    assert!(policy.refused().is_empty());
}

#[test]
fn a_redirect_is_not_followed() {
    let server =
        FakeServer::start(|_, _| (307, "location: http://127.0.0.1:1/\r\n", String::new()));
    let failure = ask(&server.policy()).unwrap_err();
    assert_eq!(failure.kind, RemoteFailureKind::Refused);
    assert!(failure.message.contains("elsewhere"), "{failure}");
}

#[test]
fn answers_come_in_order_although_they_are_asked_for_at_once() {
    // Nobody is answered before all four have asked.
    let all = Barrier::new(4);
    let server = FakeServer::start(move |_, question| {
        all.wait();
        said(&question["seed"].to_string())
    });
    let config = RemoteConfig { concurrency: 4, ..server.config() };
    let requests = [request(&[1, 2, 3]), request(&[]), request(&[4])];
    let answers = connect(&config).unwrap().complete(&requests, &sampling());
    assert_eq!(answers.len(), 3);
    for (request, answers) in requests.iter().zip(answers) {
        let texts: Vec<String> =
            answers.unwrap().completions.into_iter().map(|answer| answer.text).collect();
        let seeds: Vec<String> =
            request.seeds.iter().map(|seed| seed.value_u32().to_string()).collect();
        assert_eq!(texts, seeds);
    }
}

#[test]
fn one_missing_answer_fails_its_request_and_no_other() {
    let unlucky = Seed::new(2).value_u32();
    let server = FakeServer::start(move |_, question| match question["seed"] == unlucky {
        true => (404, "", "gone".to_owned()),
        false => said("up"),
    });
    let answers = server.policy().complete(&[request(&[1, 2]), request(&[3])], &sampling());
    assert_eq!(answers[0].as_ref().unwrap_err().kind, RemoteFailureKind::Refused);
    assert_eq!(answers[1].as_ref().unwrap().completions.len(), 1);
}

#[test]
fn the_key_is_sent_and_never_shown() {
    let server = FakeServer::start(|_, _| (401, "", format!("{} {KEY}", "x".repeat(395))));
    let policy = server.policy();
    let shown = format!("{policy:?} {}", ask(&policy).unwrap_err());
    assert!(shown.contains("xx [key") && !shown.contains("sk-"), "{shown}");
    let seen = server.seen.lock().unwrap();
    assert!(seen.iter().all(|(_, key, _)| *key == format!("Bearer {KEY}")) && seen.len() == 2);
}

#[test]
fn a_key_that_is_not_there_is_asked_for_by_the_variables_name() {
    let config = RemoteConfig {
        url: "http://127.0.0.1:1/v1".to_owned(),
        api_key_env: Some("TROUPE_TEST_KEY_THAT_NOBODY_SETS".to_owned()),
        ..RemoteConfig::default()
    };
    let error = RemotePolicy::connect("coder", &config).unwrap_err().to_string();
    assert!(error.contains("`TROUPE_TEST_KEY_THAT_NOBODY_SETS`"), "{error}");
}
