use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::examined::Played;
use super::{Examined, Log, check, results, summary};
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{
    Action, Author, Completion, Ending, Episode, Event, Message, Reward, Sample, Status, StopReason,
};
use troupe_guests::plugin::Split;
use troupe_training::evaluation::{Evaluation, HeldOutTasks, outcomes_of};
use troupe_training::metrics::{Answers, Success};
use troupe_training::rollout::Rollout;

/// A planner and an executor, each played by a policy of its own, on a board.
fn examined() -> Examined {
    let policy = |name: &str, roles: &[&str]| json!({ "name": name, "roles": roles, "digest": name.repeat(2), "parameters": 10 });
    let manifest = json!({
        "host": "1.2.3",
        "builds": [{ "version": "1.2.3", "commit": "0123456789abcdef", "changed": false }],
        "seed": 1, "device": "cpu", "processor": "x86_64",
        "plugins": [{ "name": "board", "version": "0.1.0", "digest": "ab" }],
        "interpreters": {},
        "policies": [policy("thinker", &["planner"]), policy("doer", &["executor"])],
        "settled": {
            "gradient_checkpointing": "auto", "offload_optimizer": "auto", "cache_gib": 0.5,
        },
        "config": {},
    });
    let turns = [("planner", 2), ("executor", 2)];
    let played = Played {
        family: "board".to_owned(),
        environment: "board".to_owned(),
        version: "0.1.0".to_owned(),
        workflow: "planner-executor".to_owned(),
        max_turns: turns.map(|(role, most)| (role.to_owned(), most)).into(),
    };
    let players = [("planner", "thinker"), ("executor", "doer")];
    Examined {
        run: Some("runs/board".to_owned()),
        step: Some(7),
        families: vec![played],
        players: players.map(|(role, policy)| (role.to_owned(), policy.to_owned())).to_vec(),
        config: Config::default().with("environment.walls=3").unwrap(),
        manifest: serde_json::from_value(manifest).unwrap(),
    }
}

fn message(author: Author, text: &str) -> Message {
    Message { author, text: text.to_owned() }
}

fn replied(role: &str, turn: usize, told: &str, text: &str) -> Event {
    let rules = format!("You are the {role}.");
    Event::Replied {
        role: role.to_owned(),
        instance: 0,
        thread: String::new(),
        turn,
        prompt: vec![message(Author::System, &rules), message(Author::User, told)],
        tools: Vec::new(),
        text: text.to_owned(),
        cut: false,
        forced: false,
    }
}

fn acted(role: &str, kind: &str, text: &str, reward: (f64, f64), name: &str) -> Event {
    let (team, local) = reward;
    Event::Acted {
        action: Action {
            role: role.to_owned(),
            instance: 0,
            kind: kind.to_owned(),
            text: text.to_owned(),
        },
        accepted: local >= 0.0,
        feedback: if local < 0.0 { "There is a wall.".to_owned() } else { String::new() },
        reward: Reward { team, local, parts: BTreeMap::from([(name.to_owned(), team + local)]) },
        status: Status::Ongoing,
    }
}

fn seen(text: &str) -> Event {
    Event::Observed { text: text.to_owned() }
}

/// An answer's row.
fn row(task: usize, (role, policy): (&str, &str), turn: usize, reward: (f64, f64)) -> Sample {
    Sample {
        task,
        family: "board".to_owned(),
        episode: 0,
        turn,
        role: role.to_owned(),
        instance: 0,
        thread: String::new(),
        situation: None,
        hint: None,
        parent: None,
        caller: None,
        round: 0,
        policy: policy.to_owned(),
        branch: 0,
        kept: true,
        state: 0,
        prompt: [1, 2, 3].into(),
        completion: Completion {
            tokens: vec![4, 5],
            logprobs: vec![-0.5, -0.1],
            text: String::new(),
            stop: StopReason::EndOfText,
            forced: Vec::new(),
            usage: None,
        },
        reward: Reward { team: reward.0, local: reward.1, parts: BTreeMap::new() },
        accepted: true,
    }
}

/// One that is solved, one that is cut after two turns of each, and one in which a plugin failed.
fn rollout() -> Rollout {
    let solved = vec![
        seen("#@.G"),
        replied("planner", 0, "#@.G", "R R"),
        acted("planner", "plan", "R R", (0.0, 0.25), "plan"),
        replied("executor", 0, "#@.G plan R R", "R R"),
        Event::Called {
            role: "executor".to_owned(),
            tool: "run".to_owned(),
            arguments: "{\"source\":\"print(1)\"}".to_owned(),
            succeeded: true,
            answer: "{\"stdout\":\"1\"}".to_owned(),
        },
        acted("executor", "moves", "R R", (1.0, 0.0), "reached"),
        Event::Credited { answer: 0, name: "advice".to_owned(), value: 0.5 },
        Event::Logged {
            plugin: "board".to_owned(),
            level: "info".to_owned(),
            text: "two moves".to_owned(),
        },
    ];
    let turn = |turn| {
        [
            replied("planner", turn, "#@.G", "L"),
            replied("executor", turn, "#@.G", "L"),
            acted("planner", "plan", "L", (-0.5, -0.1), "illegal"),
            acted("executor", "moves", "L", (-0.5, -0.2), "illegal"),
            seen("#@.G"),
        ]
    };
    let truncated = [vec![seen("#@.G")], turn(0).to_vec(), turn(1).to_vec()].concat();
    let void = vec![seen("@..G"), replied("planner", 0, "@..G", "R R R")];
    let failure = Ending::Void {
        cause: "out_of_fuel".to_owned(),
        message: "`board` ran out of fuel in `act`".to_owned(),
    };
    let endings = [(solved, Ending::Solved), (truncated, Ending::Truncated), (void, failure)];
    let episode = |(task, (events, ending)): (usize, (Vec<Event>, Ending))| Episode {
        task,
        family: "board".to_owned(),
        split: "test".to_owned(),
        seed: task as u32,
        episode: 0,
        events,
        ending,
    };
    let (planner, executor) = (("planner", "thinker"), ("executor", "doer"));
    let samples = vec![
        row(0, planner, 0, (0.0, 0.75)),
        row(0, executor, 0, (1.0, 0.0)),
        row(1, planner, 0, (-0.5, -0.1)),
        row(1, executor, 0, (-0.5, -0.2)),
        row(1, planner, 1, (-0.5, -0.1)),
        row(1, executor, 1, (-0.5, -0.2)),
    ];
    let episodes = endings.into_iter().enumerate().map(episode).collect();
    Rollout { samples, episodes, ..Rollout::default() }
}

fn evaluation() -> Evaluation {
    let rollout = rollout();
    let success = Success::of(&rollout.episodes);
    let family = "board".to_owned();
    Evaluation {
        success,
        families: BTreeMap::from([(family.clone(), success)]),
        trained: BTreeSet::from([family]),
        rollout,
    }
}

/// The whole log as one object.
fn whole(samples: usize) -> Value {
    let (examined, evaluation) = (examined(), evaluation());
    let outcomes = outcomes_of(&evaluation.rollout, Some(7), Answers::Greedy);
    let held_out = HeldOutTasks {
        split: Split::Test,
        from: 0,
        tasks: 3,
        answers: Answers::Greedy,
        samples,
        seed: Seed::new(1),
    };
    let span = (1_800_000_000.0, 1_800_000_060.0);
    let log =
        Log { examined: &examined, held_out, evaluation: &evaluation, outcomes: &outcomes, span };
    let entries = log.entries();
    let mut whole = log.header(&entries);
    whole["samples"] = entries.iter().map(|entry| entry.sample(&log)).collect();
    whole["reductions"] = results::reductions(&log, &entries).unwrap_or_default();
    whole
}

/// `tests/parity/inspect_log.py` has the real package read the same file.
#[test]
fn a_log_is_the_one_that_inspect_was_seen_to_read() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/parity/golden/inspect-log.json");
    let mut log = whole(1);
    // Which build it is changes with every build.
    log["eval"]["packages"]["troupe"] = "1.2.3".into();
    let text = serde_json::to_string_pretty(&log).unwrap() + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(golden).unwrap();
    assert!(text == expected, "the log has changed; INSTA_UPDATE=always writes `{golden}` anew");
}

#[test]
fn void_is_an_error_and_truncated_a_limit_and_neither_is_silent() {
    let log = whole(1);
    let [solved, truncated, void] = log["samples"].as_array().unwrap().as_slice() else {
        panic!("three samples")
    };
    assert_eq!((&solved["error"], &solved["limit"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&truncated["limit"]["type"], &truncated["limit"]["limit"]),
        (&json!("turn"), &json!(2))
    );
    let error = "out_of_fuel: `board` ran out of fuel in `act`";
    assert_eq!(void["error"]["message"], error);
    assert_eq!(summary(void)["error"], error);
    assert_eq!(summary(truncated)["limit"], "turn");
    assert_eq!(void["scores"]["solved"]["explanation"], "void, which counts as not solved");
    assert_eq!(void["scores"].as_object().unwrap().len(), 1, "a failure is never a reward");
    assert_eq!(log["results"]["completed_samples"], 2);
    let of = |score: usize, what: &str| log["results"]["scores"][score][what].clone();
    assert_eq!((of(0, "scored_samples"), of(1, "scored_samples")), (json!(3), json!(2)));
    let mean = |score: usize| of(score, "metrics")["mean"]["value"].as_f64().unwrap();
    let means = [mean(1), mean(2), mean(3)].map(|mean| (mean * 1e6).round() / 1e6);
    assert_eq!(means, [0.0, 0.275, -0.2], "team, planner, executor");
}

#[test]
fn several_samples_of_a_task_are_epochs_and_reduced_to_their_mean() {
    let log = whole(3);
    assert_eq!(log["eval"]["config"]["epochs"], 3);
    assert_eq!(log["results"]["scores"][0]["reducer"], "mean");
    let reduced = log["reductions"][0]["samples"].as_array().unwrap();
    assert_eq!(reduced[0], json!({ "value": 1.0, "sample_id": 0 }));
}

#[test]
fn a_log_is_of_one_evaluation_and_ends_as_inspect_expects() {
    let refused = |path: &str, runs| check(&PathBuf::from(path), runs).unwrap_err().to_string();
    assert!(refused("a.eval", 2).contains("one for each of the 2 runs"));
    assert!(refused("logs/a.json", 1).contains("`logs/a.eval`"));
    check(&PathBuf::from("logs/a.eval"), 1).unwrap();
}
