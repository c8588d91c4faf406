//! A trained team that is asked: by clients of OpenAI's API and on the command line, it says what
//! it says to the same tasks where it is measured.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::Server;
use crate::support::{plugins, run};

/// A solver and a verifier of sums that have learned to say what can be read.
fn trained(folder: &Path) -> String {
    let files = plugins(&["math", "solver-verifier"]);
    let dir = format!("run.dir=\"{}\"", folder.display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    for set in [
        "run.name=sums",
        "imitation.success=0",
        "imitation.accepted=0.9",
        "environment.digits=1",
        "rollout.temperature=3",
        "train.steps=1",
        "rollout.tasks_per_step=4",
        "validation.tasks=8",
    ] {
        arguments.extend(["--set", set]);
    }
    let (code, _, stderr) = run(&arguments);
    assert_eq!(code, 0, "{stderr}");
    folder.join("sums").display().to_string()
}

/// The episodes of the first test tasks.
fn measured(run_folder: &str, folder: &Path, more: &[&str]) -> Vec<Value> {
    let file = folder.join("episodes.jsonl").display().to_string();
    let asked = ["eval", "--run", run_folder, "--split", "test", "--tasks", "6", "--record", &file];
    let (code, _, stderr) = run(&[&asked[..], more].concat());
    assert_eq!(code, 0, "{stderr}");
    let lines = fs::read_to_string(file).unwrap();
    lines.lines().map(|line| line.parse().unwrap()).collect()
}

fn events<'e>(episode: &'e Value, kind: &str) -> Vec<&'e Value> {
    let events = episode["events"].as_array().unwrap();
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// What the team said in an episode, and its answer.
fn said(episode: &Value) -> (String, String) {
    let line = |event: &&Value| {
        format!("{}: {}", event["role"].as_str().unwrap(), event["text"].as_str().unwrap())
    };
    let lines: Vec<String> = events(episode, "replied").iter().map(line).collect();
    let answered = |event: &&Value| event["action"]["kind"] == "answer";
    let answer = events(episode, "acted").into_iter().rfind(answered).cloned();
    let answer = answer.map_or(Value::Null, |event| event["action"]["text"].clone());
    (lines.join("\n\n"), answer.as_str().unwrap_or_default().to_owned())
}

fn question(episode: &Value) -> String {
    let seen = events(episode, "observed")[0]["text"].as_str().unwrap();
    seen.strip_prefix("[solver] ").unwrap().to_owned()
}

fn heard(server: &Server, request: &Value) -> Vec<(String, String)> {
    let answer = server.post("/v1/chat/completions", &request.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |choice: &Value| {
        let message = &choice["message"];
        (text(&message["reasoning_content"]), text(&message["content"]))
    };
    answer["choices"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_team_that_is_asked_says_what_it_says_where_it_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = trained(folder.path());
    let likeliest = measured(&run_folder, folder.path(), &[]);
    let drawn = measured(&run_folder, folder.path(), &["--samples", "3"]);
    let server = Server::of(&["--run", &run_folder]);
    let models = server.get("/v1/models").json();
    assert_eq!(models["data"][0]["id"], "sums");
    let ask = |question: &str| json!({ "messages": [{ "role": "user", "content": question }] });
    for episode in &likeliest {
        assert_eq!(heard(&server, &ask(&question(episode))), [said(episode)]);
    }
    let different: std::collections::BTreeSet<_> = drawn.iter().map(said).collect();
    assert!(different.len() > likeliest.len(), "there is something to draw");
    for task in 0..6 {
        let own: Vec<&Value> = drawn.iter().filter(|episode| episode["seed"] == task).collect();
        let mut request = ask(&question(own[0]));
        request["seed"] = task.into();
        (request["temperature"], request["n"]) = (3.0.into(), 3.into());
        let expected: Vec<_> = own.into_iter().map(said).collect();
        assert_eq!(heard(&server, &request), expected, "task {task}");
    }
    // A sum as people write it is the same question, and what is none is said to be none.
    assert_eq!(heard(&server, &ask("7 + 5 - 3")), heard(&server, &ask("7+5-3")));
    let refused = server.post("/v1/chat/completions", &ask("two and two").to_string());
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("`two` is no word"), "{}", refused.body);
    // On the command line.
    let (text, answer) = said(&likeliest[0]);
    let (code, stdout, stderr) =
        run(&["policy", "ask", "--run", &run_folder, &question(&likeliest[0])]);
    assert_eq!(code, 0, "{stderr}");
    for (who, what) in text.split("\n\n").filter_map(|line| line.split_once(": ")) {
        assert!(stdout.contains(&format!("[{who}] {what}")), "{stdout}");
    }
    assert_eq!(stdout.lines().last(), Some(answer.as_str()));
    let (code, _, stderr) = run(&["policy", "ask", "--run", &run_folder, "folder", "1 + 1"]);
    assert!(code == 2 && stderr.contains("leave out `folder`"), "{stderr}");
}

#[test]
fn a_team_of_a_game_cannot_be_asked() {
    let folder = tempfile::tempdir().unwrap();
    crate::training::train(folder.path(), "run", &["train.steps=1"]);
    let run_folder = folder.path().join("run").display().to_string();
    for arguments in [
        vec!["serve", "--run", &run_folder, "--listen", "127.0.0.1:0"],
        vec!["policy", "ask", "--run", &run_folder, "Where to?"],
    ] {
        let (code, _, stderr) = run(&arguments);
        assert!(code == 2 && stderr.contains("no question can become a task of"), "{stderr}");
    }
}
