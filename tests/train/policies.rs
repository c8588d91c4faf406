//! A policy as a service for clients of OpenAI's API, through the real binary and plain sockets.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::{Value, json};

use crate::support::client::Server;
use crate::support::run;
use crate::training::train;

/// A run of two steps, and the policy it left.
fn trained(folder: &Path) -> (PathBuf, String) {
    train(folder, "run", &["train.steps=2"]);
    let run = folder.join("run");
    let policy = run.join("checkpoints/step-000002/policies/shared").display().to_string();
    (run, policy)
}

fn complete(server: &Server, request: &Value) -> Value {
    let answer = server.post("/v1/completions", &request.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// A request for eight tokens after some prompt.
fn request(prompt: u32) -> Value {
    json!({
        "model": "shared", "prompt": [prompt + 4, prompt + 5, 3], "max_tokens": 8, "seed": 7,
        "n": 2, "logprobs": 0, "return_token_ids": true,
    })
}

/// What answers say, without what names them.
fn said(answer: &Value) -> &Value {
    &answer["choices"]
}

#[test]
fn a_served_policy_plays_a_remote_seat_as_it_does_at_home() {
    let folder = tempfile::tempdir().unwrap();
    let (run_folder, policy) = trained(folder.path());
    let server = Server::of(&["--policy", &policy]);
    let outcomes = |more: &[&str]| {
        let file = folder.path().join("outcomes.jsonl");
        let (run_folder, file_name) =
            (run_folder.display().to_string(), file.display().to_string());
        let asked = ["eval", "--run", &run_folder, "--step", "last", "--outcomes", &file_name];
        let (code, _, stderr) = run(&[&asked[..], more].concat());
        assert_eq!(code, 0, "{stderr}");
        fs::read_to_string(file).unwrap()
    };
    let remote = format!("policies.shared.remote={{url=\"http://{}/v1\"}}", server.address());
    let home = outcomes(&[]);
    assert!(home.lines().count() == 16 && !home.contains("void"), "{home}");
    assert_eq!(outcomes(&["--set", &remote]), home);
}

#[test]
fn many_at_once_hear_what_each_hears_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (_, policy) = trained(folder.path());
    let server = Server::of(&["--policy", &policy]);
    let alone: Vec<Value> = (0..24).map(|prompt| complete(&server, &request(prompt))).collect();
    assert!(said(&alone[0]) != said(&alone[1]), "prompts are told apart");
    let together = thread::scope(|scope| {
        let server = &server;
        let ask = |prompt| scope.spawn(move || complete(server, &request(prompt)));
        let asked: Vec<_> = (0..24).map(ask).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (alone, together) in alone.iter().zip(&together) {
        for (one, other) in [0, 1].map(|n| (&said(alone)[n], &said(together)[n])) {
            assert_eq!(one["token_ids"], other["token_ids"]);
            let logprobs = |choice: &Value| -> Vec<f64> {
                let list = choice["logprobs"]["token_logprobs"].as_array().unwrap();
                list.iter().map(|number| number.as_f64().unwrap()).collect()
            };
            for (one, other) in logprobs(one).into_iter().zip(logprobs(other)) {
                assert!((one - other).abs() < 1e-4, "{one} against {other}");
            }
        }
    }
}

#[test]
fn a_stream_says_piece_by_piece_what_the_whole_answer_says() {
    let folder = tempfile::tempdir().unwrap();
    let (_, policy) = trained(folder.path());
    let server = Server::of(&["--policy", &policy]);
    for (path, key) in [("/v1/completions", "prompt"), ("/v1/chat/completions", "messages")] {
        let mut asked = request(1);
        if key == "messages" {
            asked[key] =
                json!([{ "role": "user", "content": [{ "type": "text", "text": "S G" }] }]);
            asked["logprobs"] = true.into();
            asked.as_object_mut().unwrap().remove("prompt");
        }
        let whole = server.post(path, &asked.to_string());
        assert_eq!(whole.status, 200, "{}", whole.body);
        let whole = whole.json();
        asked["stream"] = true.into();
        asked["stream_options"] = json!({ "include_usage": true });
        let streamed = server.post(path, &asked.to_string());
        assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
        let events: Vec<&str> =
            streamed.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!(events.last(), Some(&"[DONE]"));
        let events: Vec<Value> = events[..events.len() - 1]
            .iter()
            .map(|event| serde_json::from_str(event).unwrap())
            .collect();
        assert_eq!(events.last().unwrap()["usage"], whole["usage"]);
        for choice in said(&whole).as_array().unwrap() {
            let own = events.iter().filter_map(|event| event["choices"].get(0));
            let own: Vec<&Value> = own.filter(|one| one["index"] == choice["index"]).collect();
            let (text, expected) = match key {
                "prompt" => ("/text", &choice["text"]),
                _ => ("/delta/content", &choice["message"]["content"]),
            };
            let pieces = own.iter().filter_map(|one| one.pointer(text)?.as_str());
            assert_eq!(pieces.collect::<String>(), *expected);
            let joined = |place: &str| -> Vec<Value> {
                let lists = own.iter().filter_map(|one| one.pointer(place)?.as_array());
                lists.flatten().cloned().collect()
            };
            for place in ["/token_ids", "/logprobs/content", "/logprobs/token_logprobs"] {
                let whole = choice.pointer(place).cloned().unwrap_or(json!([]));
                assert_eq!(Value::from(joined(place)), whole, "{path} {place}");
            }
            assert_eq!(own.last().unwrap()["finish_reason"], choice["finish_reason"]);
        }
    }
}

#[test]
fn who_leaves_is_answered_no_further_and_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let (_, policy) = trained(folder.path());
    let server = Server::of(&["--policy", &policy]);
    for streams in [false, true] {
        // No answer of its own ends it for a long time: there is room for some 250 tokens.
        let long = json!({
            "prompt": [4, 5, 3], "max_tokens": 200, "n": 128, "temperature": 1.9, "stream": streams,
            "stop": ["never said"],
        });
        let leaving: Vec<_> =
            (0..6).map(|_| server.send("/v1/completions", &long.to_string())).collect();
        server.wait_for(|health| health["answering"].as_u64() > Some(0));
        drop(leaving);
        assert_eq!(said(&complete(&server, &request(2))).as_array().unwrap().len(), 2);
        server.wait_for(|health| health["answering"] == 0);
    }
}

#[test]
fn while_as_many_are_answered_as_may_be_a_further_one_is_told_to_come_later() {
    let folder = tempfile::tempdir().unwrap();
    let (_, policy) = trained(folder.path());
    let server = Server::of(&["--policy", &policy, "--queue", "1"]);
    let long = json!({
        "prompt": [4, 5, 3], "max_tokens": 200, "n": 256, "temperature": 1.9, "stream": true,
    });
    let answered = server.send("/v1/completions", &long.to_string());
    let mut statuses = Vec::new();
    while !statuses.contains(&429) && statuses.len() < 100 {
        statuses.push(server.post("/v1/completions", &request(1).to_string()).status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    drop(answered);
    let is_answered = |_| server.post("/v1/completions", &request(1).to_string()).status == 200;
    assert!((0..10_000).any(is_answered), "who has left takes no place");
}

#[test]
fn an_adapter_is_a_model_of_its_own_over_the_same_weights() {
    let folder = tempfile::tempdir().unwrap();
    let (_, base) = trained(folder.path());
    let adapted = format!("policies.base.path={base:?}");
    train(
        folder.path(),
        "adapted",
        &["train.steps=2", "policies.shared.base=base", &adapted, "train.learning_rate=0.01"],
    );
    let adapter = folder.path().join("adapted/checkpoints/step-000002/policies/shared");
    assert!(adapter.join("adapter_config.json").is_file());
    let named = format!("mine={}", adapter.display());
    let both = Server::of(&["--policy", &base, "--adapter", &named]);
    let models = both.get("/v1/models").json();
    assert_eq!(
        (&models["data"][0]["id"], &models["data"][1]["id"]),
        (&"shared".into(), &"mine".into())
    );
    assert_eq!(models["data"][1]["parent"], "shared");
    let alone = Server::of(&["--policy", &base]);
    let ask = |server: &Server, model: &str| {
        let mut asked = request(1);
        asked["model"] = model.into();
        said(&complete(server, &asked))[0]["logprobs"]["token_logprobs"][0].as_f64().unwrap()
    };
    let (own, other) = (ask(&both, "shared"), ask(&both, "mine"));
    assert!((own - ask(&alone, "shared")).abs() < 1e-4, "the base is what it is without adapters");
    assert!((own - other).abs() > 1e-4, "the adapter changes it: {own} and {other}");
}

#[test]
fn what_cannot_be_answered_is_refused_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (_, policy) = trained(folder.path());
    let token = folder.path().join("token");
    fs::write(&token, "open sesame").unwrap();
    let arguments = ["serve", "--policy", &policy, "--listen", "0.0.0.0:0"];
    let (code, _, stderr) = run(&arguments);
    assert!(code == 2 && stderr.contains("--token-file"), "{stderr}");
    let file = token.display().to_string();
    let (code, _, stderr) = run(&[&arguments[..], &["--token-file", &file]].concat());
    assert!(code == 2 && stderr.contains("there is no token in"), "{stderr}");
    fs::write(&token, "open-sesame-and-close\n").unwrap();
    let server = Server::of(&["--policy", &policy, "--token-file", &file]);
    let body = json!({ "prompt": [4], "max_tokens": 1 }).to_string();
    let ask = |header: &str| {
        let length = body.len();
        server.ask(&format!(
            "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: {length}\
             \r\nConnection: close\r\n\r\n{body}"
        ))
    };
    for wrong in [
        "",
        "Authorization: Bearer open-sesame-and-clos\r\n",
        "Authorization: open-sesame-and-close\r\n",
    ] {
        assert_eq!(ask(wrong).status, 401, "{wrong}");
    }
    assert_eq!(ask("Authorization: Bearer open-sesame-and-close\r\n").status, 200);
    let open = Server::of(&["--policy", &policy]);
    let known = open.get("/v1/models/shared");
    assert_eq!((known.status, &known.json()["id"]), (200, &json!("shared")));
    let unknown = open.get("/v1/models/other");
    assert_eq!((unknown.status, &unknown.json()["error"]["param"]), (404, &json!("model")));
    for (path, asked, status, words) in [
        ("/v1/completions", json!({ "prompt": [4], "stop_tokens": [5] }), 400, "`stop_tokens`"),
        ("/v1/completions", json!({ "model": "other", "prompt": [4] }), 404, "there are `shared`"),
        ("/v1/completions", json!({ "prompt": [4], "n": 1000 }), 400, "1 to 256 answers"),
        ("/v1/completions", json!({ "prompt": [4_000_000] }), 400, "token 4000000"),
        ("/v1/completions", json!({ "prompt": [4], "max_tokens": 100_000 }), 400, "room"),
        ("/v1/completions", json!({ "prompt": [4], "temperature": -1 }), 400, "temperature"),
        ("/v1/completions", json!({ "prompt": [4], "logit_bias": { "4": 9 } }), 400, "logit_bias"),
        ("/v1/chat/completions", json!({ "messages": [] }), 400, "says nothing"),
        ("/v1/chat/completions", json!({ "messages": 1 }), 400, "cannot be read"),
        ("/v1/embeddings", json!({}), 404, "/v1/models"),
    ] {
        let answer = open.post(path, &asked.to_string());
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(answer.status == status && message.contains(words), "{asked}: {message}");
    }
    assert_eq!(said(&complete(&open, &request(3))).as_array().unwrap().len(), 2, "all is well");
}
