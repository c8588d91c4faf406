//! An environment as a service, through the real binary and plain sockets.

mod attacks;
mod gallery;
mod socket;

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use troupe_core::config::{Audience, Config};
use troupe_guests::plugin::{Action, Split, seat_reward, team_reward};
use troupe_guests::scenario::Alone;

use crate::support::client::{Answer, Server};
use crate::support::components::library;
use crate::support::{fixture, plugin, run};
use socket::{BINARY, CLOSE, PING, PONG, Socket, TEXT};

/// A server of a shipped environment.
fn serve(name: &str, more: &[&str]) -> Server {
    let file = plugin(name).display().to_string();
    Server::of(&[&["--environment", file.as_str()], more].concat())
}

/// A server of the environment that misbehaves in this mode.
fn serve_hostile(mode: &str, more: &[&str]) -> Server {
    let file = fixture("hostile-environment").display().to_string();
    let mode = format!("environment.mode={mode}");
    Server::of(&[&["--environment", file.as_str(), "--set", mode.as_str()], more].concat())
}

fn reset(seed: u32) -> Value {
    json!({"type": "reset", "data": {"seed": seed, "episode_id": "e"}})
}

fn step(text: &str) -> Value {
    json!({"type": "step", "data": {"text": text}})
}

fn sessions(server: &Server) -> u64 {
    server.health()["active_sessions"].as_u64().unwrap()
}

fn wait_until_empty(server: &Server) {
    server.wait_for(|health| health["active_sessions"] == 0);
}

/// What was said and answered, a line each.
fn transcript(socket: &mut Socket, messages: &[Value]) -> String {
    let mut lines = String::new();
    for message in messages {
        let answer = socket.ask(message);
        lines += &format!("> {message}\n< {answer}\n");
    }
    lines
}

#[test]
fn an_episode_goes_as_openenvs_clients_expect_it() {
    let server = serve("plan-path", &["--set", "environment.preset=easy"]);
    let mut socket = Socket::open(&server);
    let messages = [
        json!({"type": "state"}),
        step("D"),
        reset(3),
        json!({"type": "state"}),
        step("D"),
        json!({"type": "step", "data": {"text": "U", "kind": "moves", "role": "player", "metadata": {}}}),
        json!({"type": "step", "data": {"text": "nonsense"}}),
        json!({"type": "state"}),
        json!({"type": "step", "data": {"text": "U", "kind": "jump"}}),
        json!({"type": "step", "data": {"text": "U", "role": "nobody"}}),
        json!({"type": "step", "data": {"txt": "U"}}),
        json!({"type": "step", "data": {}}),
        json!({"type": "reset", "data": {"seed": -1}}),
        json!({"type": "dance"}),
    ];
    insta::assert_snapshot!("openenv_episode", transcript(&mut socket, &messages));
    socket.send(TEXT, b"{\"type\"");
    assert_eq!(socket.hear()["data"]["code"], "INVALID_JSON");
    socket.send(TEXT, b"[]");
    assert_eq!(socket.hear()["data"]["code"], "INVALID_JSON");
    socket.send(BINARY, b"{}");
    assert_eq!(socket.hear()["data"]["code"], "INVALID_JSON");
    assert_eq!(socket.ask(&json!({"type": "state"}))["data"]["step_count"], 3, "it goes on");
    socket.say(&json!({"type": "close"}));
    assert_eq!(socket.farewell().0, 1000);
    wait_until_empty(&server);
}

#[test]
fn the_routes_answer_what_openenv_asks() {
    let server = serve("plan-path", &["--set", "environment.preset=easy"]);
    let mut lines = String::new();
    let mut show = |what: &str, answer: &Answer| {
        lines += &format!("{what}\n{} {}\n", answer.status, answer.body);
    };
    for path in ["health", "metadata", "schema", "openapi.json", "state", "list_environments"] {
        show(path, &server.get(&format!("/{path}")));
    }
    show("splits", &server.get("/plan-path/splits"));
    for (path, body) in [
        ("/plan-path/num_tasks", json!({"split": "train"})),
        ("/plan-path/task", json!({"split": "test", "index": 3})),
        ("/plan-path/task", json!({"split": "holdout", "index": 3})),
        ("/plan-path/task_range", json!({"split": "test", "start": 1, "stop": 3})),
        ("/sudoku/task", json!({"index": 1})),
        ("/mcp", json!({})),
        ("/step", json!({"action": {"txt": "D"}})),
        ("/reset", json!({"seeds": 1})),
        ("/nowhere", json!({})),
    ] {
        show(path, &server.post(path, &body.to_string()));
    }
    insta::assert_snapshot!("openenv_routes", lines);
    for (method, path, status, allowed) in [
        ("POST", "/ws", 405, Some("GET,HEAD")),
        ("GET", "/reset", 405, Some("POST")),
        ("DELETE", "/mcp", 405, Some("GET,HEAD,POST")),
        ("GET", "//splits/", 404, None),
        ("GET", "/plan-path/", 404, None),
    ] {
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let refused = server.ask(&head);
        assert_eq!((refused.status, refused.header("allow")), (status, allowed), "{method} {path}");
        assert!(refused.json()["error"]["message"].is_string(), "{}", refused.body);
    }
    let begun = server.post("/reset", "").json();
    assert_eq!((&begun["done"], &begun["reward"]), (&json!(false), &Value::Null));
    let task = server.post("/plan-path/task", &json!({"index": 7}).to_string()).json();
    let named = server.post("/reset", &json!({"task": task["task"]}).to_string()).json();
    assert_eq!(named, server.post("/reset", &json!({"seed": 7}).to_string()).json());
    let stepped = server.post("/step", &json!({"action": {"text": "D"}}).to_string()).json();
    assert!(stepped["reward"].is_f64(), "{stepped}");
    assert_eq!(sessions(&server), 0);
}

#[test]
fn records_are_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.jsonl");
    let records: Vec<String> = (0..5)
        .map(|n| json!({"problem": format!("What is {n} + 1?"), "answer": n + 1}).to_string())
        .collect();
    std::fs::write(&file, records.join("\n")).unwrap();
    let train = format!("tasks.train=[\"{}\"]", file.display());
    let server = serve("math", &["--set", &train]);
    let ask = |path: &str, body: Value| server.post(path, &body.to_string());
    assert_eq!(ask("/math/num_tasks", json!({"split": "train"})).json()["num_tasks"], 5);
    let tasks = ask("/math/tasks", json!({"split": "train"})).json();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 5);
    assert_eq!(ask("/math/task", json!({"split": "train", "index": 5})).status, 400);
    let mut socket = Socket::open(&server);
    let begun = socket.ask(&json!({"type": "reset", "data": {"task": tasks["tasks"][3]}}));
    assert!(begun.to_string().contains("What is 3 + 1?"), "{begun}");
    let answered = socket.ask(&step("\\boxed{4}"));
    assert_eq!(answered["data"]["metadata"]["status"], "solved", "{answered}");
    let none = socket.ask(&json!({"type": "reset", "data": {"split": "test", "seed": 0}}));
    assert_eq!(none["data"]["code"], "EXECUTION_ERROR", "{none}");
}

/// What an observation, a reward and an end come to when the component is played directly.
fn played_directly(alone: &Alone, seed: u32, texts: &[&str]) -> Vec<(Value, Value, Value)> {
    let seat = &alone.seats()[0];
    let (_, begun) = alone.begin(Split::Train, seed).unwrap();
    let mut seen = vec![(json!(begun.views[0]), Value::Null, json!(false))];
    let mut state = begun.next.unwrap();
    for text in texts {
        let next = alone.act(&state, 0, Action::new("moves", *text)).unwrap();
        let outcome = next.outcome.unwrap();
        let reward = team_reward(&outcome).team + seat_reward(&outcome, seat, &[0]).local;
        seen.push((json!(next.views[0]), json!(reward), json!(next.next.is_err())));
        let Ok(further) = next.next else { break };
        state = further;
    }
    seen
}

fn shown(answer: &Value) -> (Value, Value, Value) {
    let data = &answer["data"];
    (data["observation"]["text"].clone(), data["reward"].clone(), data["done"].clone())
}

#[test]
fn two_hundred_sessions_side_by_side_are_not_mixed_up() {
    const STEPS: usize = 50;
    let settings =
        ["environment.max_distance=40", "environment.moves_per_turn=1", "rollout.max_turns=60"];
    let mut config = Config::layered(&[] as &[&str], &settings.map(str::to_owned)).unwrap();
    config.plugins.environment = None;
    let library = library(&["plan-path"]);
    let alone =
        Alone::assemble(&config, &config.families()[0], Audience::Language, &library).unwrap();
    let flags = settings.map(|setting| ["--set", setting]).concat();
    let server = serve("plan-path", &flags);
    let text = |session: usize, at: usize| {
        ["U", "D", "L", "R"][(session * 7 + at * (session % 3 + 1) + at / 5) % 4]
    };
    let mut sockets: Vec<Socket> = (0..200).map(|_| Socket::open(&server)).collect();
    assert_eq!(sessions(&server), 200);
    let mut seen: Vec<Vec<_>> = vec![Vec::new(); sockets.len()];
    for at in 0..=STEPS {
        for (session, socket) in sockets.iter_mut().enumerate() {
            let over = seen[session].last().is_some_and(|(_, _, done)| *done == json!(true));
            match at {
                0 => socket.say(&reset(session as u32)),
                _ if over => {}
                _ => socket.say(&step(text(session, at))),
            }
        }
        for (session, socket) in sockets.iter_mut().enumerate() {
            if seen[session].last().is_none_or(|(_, _, done)| *done == json!(false)) {
                seen[session].push(shown(&socket.hear()));
            }
        }
    }
    for (session, seen) in seen.iter().enumerate() {
        let texts: Vec<&str> = (1..=STEPS).map(|at| text(session, at)).collect();
        assert_eq!(*seen, played_directly(&alone, session as u32, &texts), "session {session}");
    }
    let steps: usize = seen.iter().map(|seen| seen.len() - 1).sum();
    assert!(steps > 9000, "only {steps} steps were made");
    drop(sockets);
    wait_until_empty(&server);
}

#[test]
fn a_team_is_asked_role_by_role_and_paid_by_role() {
    let workflow = plugin("planner-executor").display().to_string();
    let server = serve("plan-path", &["--workflow", &workflow, "--set", "environment.preset=easy"]);
    let mut socket = Socket::open(&server);
    let messages = [
        reset(3),
        step("D"),
        json!({"type": "step", "data": {"text": "D", "role": "planner"}}),
        json!({"type": "step", "data": {"text": "D", "role": "executor"}}),
        json!({"type": "step", "data": {"text": "D", "kind": "plan"}}),
        json!({"type": "state"}),
    ];
    insta::assert_snapshot!("openenv_team", transcript(&mut socket, &messages));
}

#[test]
fn those_who_are_asked_together_answer_one_after_the_other_and_are_paid_together() {
    let file = |name: &str| fixture(name).display().to_string();
    let (environment, workflow) = (file("pair-environment"), file("pair-workflow"));
    let server = Server::of(&[
        "--environment",
        &environment,
        "--workflow",
        &workflow,
        "--set",
        "environment.game=duel",
    ]);
    let mut socket = Socket::open(&server);
    let begun = socket.ask(&reset(1));
    assert_eq!(begun["data"]["observation"]["legal_players"], json!([0, 1]));
    assert_eq!(begun["data"]["observation"]["role"], "first");
    let second = socket.ask(&json!({"type": "step", "data": {"text": "1", "role": "second"}}));
    assert_eq!((&second["data"]["reward"], &second["data"]["done"]), (&Value::Null, &json!(false)));
    assert_eq!(second["data"]["observation"]["role"], "first");
    let again = socket.ask(&json!({"type": "step", "data": {"text": "1", "role": "second"}}));
    assert_eq!(again["data"]["code"], "VALIDATION_ERROR", "{again}");
    let both = socket.ask(&step("0"));
    assert_eq!(
        both["data"]["metadata"]["rewards"],
        json!({"first": -1.0, "second": 1.0}),
        "{both}"
    );
    assert_eq!((&both["data"]["reward"], &both["data"]["done"]), (&json!(0.0), &json!(true)));
}

#[test]
fn what_a_workflow_says_of_an_earlier_answer_is_paid_to_who_gave_it() {
    let file = |name: &str| fixture(name).display().to_string();
    let (environment, workflow) = (file("ledger-environment"), file("judge-workflow"));
    let server = Server::of(&["--environment", &environment, "--workflow", &workflow]);
    let mut socket = Socket::open(&server);
    let mut told = socket.ask(&reset(1));
    let mut credited = Vec::new();
    for _ in 0..12 {
        assert_eq!(told["type"], "observation", "{told}");
        if let Some(credits) = told["data"]["metadata"].get("credits") {
            credited.push((credits.clone(), told["data"]["metadata"]["rewards"].clone()));
        }
        if told["data"]["done"] == json!(true) {
            break;
        }
        told = socket.ask(&step("1"));
    }
    insta::assert_snapshot!("openenv_credits", json!(credited).to_string());
}

#[test]
fn a_void_episode_is_an_error_with_its_cause_and_has_no_reward() {
    for (mode, cause) in
        [("trap-act", "trap"), ("nan-reward", "invalid_answer"), ("problem", "internal")]
    {
        let server = serve_hostile(mode, &[]);
        let mut socket = Socket::open(&server);
        assert_eq!(socket.ask(&reset(1))["type"], "observation");
        let void = socket.ask(&step("1"));
        let data = &void["data"];
        assert_eq!(
            (&data["code"], &data["cause"]),
            (&json!("EXECUTION_ERROR"), &json!(cause)),
            "{void}"
        );
        assert!(
            data.get("reward").is_none()
                && data["message"].as_str().unwrap().contains("hostile-environment")
        );
        let after = socket.ask(&step("1"));
        assert_eq!(after["data"]["code"], "SESSION_ERROR", "{after}");
        let state = socket.ask(&json!({"type": "state"}));
        assert_eq!(
            (&state["data"]["status"], &state["data"]["total_reward"]),
            (&json!("void"), &Value::Null)
        );
        assert_eq!(socket.ask(&reset(2))["type"], "observation", "the session goes on");
    }
    let server = serve_hostile("trap-start", &[]);
    let void = Socket::open(&server).ask(&reset(1));
    assert_eq!(
        (&void["data"]["code"], &void["data"]["cause"]),
        (&json!("EXECUTION_ERROR"), &json!("trap"))
    );
    let over_http = server.post("/reset", "{}");
    assert_eq!(over_http.status, 500);
    let told = over_http.json();
    assert_eq!((&told["void"], &told["cause"]), (&json!(true), &json!("trap")), "{told}");
}

#[test]
fn an_environment_that_saves_nothing_is_played_by_replaying() {
    let server = serve_hostile("replay-only", &[]);
    let mut socket = Socket::open(&server);
    socket.ask(&reset(1));
    assert_eq!(shown(&socket.ask(&step("2"))).1, json!(0.0));
    assert_eq!(shown(&socket.ask(&step("1"))).1, json!(1.0));
}

#[test]
fn a_session_is_had_as_tools_and_through_a_socket_at_once() {
    let server = serve("plan-path", &["--set", "environment.preset=easy"]);
    let call = |method: &str, parameters: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters});
        let answer = server.post("/mcp", &request.to_string());
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["id"], 7);
        answer.json()
    };
    let created = call("openenv/session/create", json!({}));
    let id = created["result"]["session_id"].as_str().unwrap();
    let tools = call("tools/list", json!({"session_id": id}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["begin", "observe", "moves", "plan"]);
    let tool = |name: &str, arguments: Value| {
        call("tools/call", json!({"session_id": id, "name": name, "arguments": arguments}))
    };
    assert_eq!(tool("moves", json!({"text": "D"}))["error"]["data"]["code"], "SESSION_ERROR");
    let mut socket = Socket::at(&server, &format!("/ws?session_id={id}"), "").unwrap();
    let begun = socket.ask(&reset(3));
    let observed = tool("observe", json!({}));
    assert_eq!(observed["result"]["structuredContent"], begun["data"]);
    let moved = tool("moves", json!({"text": "D"}));
    assert_eq!(moved["result"]["isError"], false);
    assert!(moved["result"]["structuredContent"]["reward"].is_f64(), "{moved}");
    assert_eq!(socket.ask(&json!({"type": "state"}))["data"]["step_count"], 1);
    let inside = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let told = socket.ask(&json!({"type": "mcp", "data": inside}));
    assert_eq!(told["data"]["result"], tools["result"]);
    let mut second = Socket::at(&server, &format!("/ws?session_id={id}"), "").unwrap();
    assert_eq!(second.hear()["data"]["code"], "SESSION_ERROR");
    let within = |session: &str| {
        let parameters = json!({"session_id": session, "name": "observe"});
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters});
        json!({"type": "mcp", "data": request})
    };
    let own = socket.ask(&within(id));
    assert_eq!(own["data"]["result"]["isError"], false, "{own}");
    let mut stranger = Socket::open(&server);
    let refused = stranger.ask(&within(id));
    assert_eq!(refused["data"]["error"]["code"], -32602, "{refused}");
    assert!(refused.to_string().contains("`session_id`"), "{refused}");
    drop(stranger);
    assert_eq!(tool("fly", json!({}))["error"]["code"], -32602);
    assert_eq!(call("tools/fly", json!({}))["error"]["code"], -32601);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let told = server.post("/mcp", &notification.to_string());
    assert_eq!((told.status, told.body.as_str()), (202, ""));
    drop(socket);
    assert_eq!(call("openenv/session/close", json!({"session_id": id}))["result"]["closed"], true);
    assert_eq!(tool("observe", json!({}))["error"]["code"], -32602);
    wait_until_empty(&server);

    let mut socket = Socket::at(&server, "/mcp", "").unwrap();
    socket.say(&notification);
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "begin", "arguments": {"seed": 3}}});
    assert_eq!(
        socket.ask(&begin)["result"]["structuredContent"]["observation"],
        begun["data"]["observation"]
    );
    socket.send(TEXT, b"{");
    assert_eq!(socket.hear()["error"]["code"], -32700);
}

#[test]
fn what_nobody_would_read_is_refused_by_name() {
    let server = serve("plan-path", &["--set", "environment.preset=easy"]);
    let mut socket = Socket::open(&server);
    socket.ask(&reset(3));
    let tool = |name: &str, more: Value| {
        let mut parameters = json!({"name": name});
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters});
        json!({"type": "mcp", "data": request})
    };
    for (message, field) in [
        (json!({"type": "reset", "data": {"seed": 4}, "seed": 5}), "seed"),
        (json!({"type": "state", "data": {"verbose": true}}), "verbose"),
        (json!({"type": "reset", "data": {"seed": 1, "task": {"seed": 2}}}), "seed"),
        (tool("observe", json!({"arguments": {"role": "player"}})), "role"),
        (tool("moves", json!({"arguments": {"text": "D", "kind": "plan"}})), "kind"),
        (tool("moves", json!({"argument": {"text": "D"}})), "argument"),
    ] {
        let refused = socket.ask(&message).to_string();
        assert!(refused.contains("error") && refused.contains(&format!("`{field}`")), "{refused}");
    }
    for (path, body, field) in [
        ("/plan-path/num_tasks", json!({"split": "train", "index": 1}), "index"),
        ("/plan-path/task", json!({"index": 3, "spilt": "test"}), "spilt"),
        ("/plan-path/task_range", json!({"start": 1, "stop": 3, "step": 2}), "step"),
    ] {
        let refused = server.post(path, &body.to_string());
        assert!(refused.status == 400 && refused.body.contains(&format!("`{field}`")), "{path}");
    }
    let task = json!({"seed": null, "task": {"split": "test", "index": 5}});
    let begun = socket.ask(&json!({"type": "reset", "data": task}));
    let metadata = &begun["data"]["metadata"];
    assert_eq!((&metadata["split"], &metadata["seed"]), (&json!("test"), &json!(5)), "{begun}");
    let apart = json!({"split": "train", "task": {"split": "test", "index": 5}});
    assert_eq!(server.post("/reset", &apart.to_string()).status, 422);
}

#[test]
fn one_thing_is_served_and_only_its_flags_are_taken() {
    for arguments in [
        &["serve", "--grader", "--environment", "sudoku"][..],
        &["serve", "--environment", "sudoku", "--public"],
        &["serve", "--environment", "sudoku", "--fuel", "1"],
        &["serve", "--grader", "--workflow", "solo"],
        &["serve", "--grader", "--token-file", "x"],
        &["serve", "--grader", "--adapter", "a=b"],
        &["serve", "--policy", "x", "--workflow", "solo"],
        &["serve", "--policy", "x", "--jobs", "2"],
        &["serve", "--policy", "x", "--environment", "sudoku"],
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert!(code == 2 && stdout.is_empty(), "{arguments:?}: {code} {stderr}");
    }
    let listen = ["serve", "--listen", "127.0.0.1:0", "--environment"];
    let (code, _, stderr) = run(&[&listen[..], &["sudokku"]].concat());
    assert!(code == 3 && stderr.contains("sudokku"), "{code}: {stderr}");
    let wrong = ["plan-path", "--set", "environment.wals=2"];
    let (code, _, stderr) = run(&[&listen[..], &wrong].concat());
    assert!(code == 2 && stderr.contains("did you mean `walls`"), "{code}: {stderr}");
}
