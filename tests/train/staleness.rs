//! Answers that a server draws while the step before is learned from, with the real binary.

use std::fs;
use std::path::Path;

use serde_json::Value;
use troupe_core::archive::list_tables;
use troupe_core::table::read_table;

use crate::adapters::metrics;
use crate::fake_vllm::{Fake, Trap};
use crate::support::run;
use crate::vllm::{prepared, train};

/// Six steps, saved after the third, with a look at validation tasks after the fourth; every step
/// moves the policies.
const AHEAD: [&str; 6] = [
    "rollout.staleness=1",
    "train.steps=6",
    "validation.every=4",
    "checkpoint.every=3",
    "train.learning_rate=0.01",
    "train.warmup_steps=0",
];

fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let moves = ["train.max_movement=0"];
    AHEAD.iter().chain(&moves).chain(more).flat_map(|set| ["--set", set]).collect()
}

fn staleness(record: &Value) -> u64 {
    record.get("staleness").map_or(0, |staleness| staleness.as_u64().unwrap())
}

/// How far the trainer is from what drew a step's answers, in nats per token.
fn difference(record: &Value) -> f64 {
    let updates = record["updates"].as_object().unwrap().values();
    updates.map(|update| update["mean_logprob_difference"].as_f64().unwrap()).fold(0.0, f64::max)
}

/// What answered in a step by its table: how many steps the policies had learned in.
fn versions(run_folder: &Path, step: usize) -> Vec<usize> {
    let tables = list_tables(run_folder).unwrap();
    let (_, path) = tables.iter().find(|(number, _)| *number == step).unwrap();
    let mut found: Vec<usize> = read_table(path).unwrap().iter().map(|row| row.version).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn a_step_is_drawn_by_the_policies_before_the_update() {
    let (folder, config) = prepared();
    let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, Trap::None);
    let (code, stderr) = train(&config, &fake.url, &flags(&[]));
    assert_eq!(code, 0, "{stderr}");
    let run_folder = folder.path().join("run");
    let records = metrics(&run_folder);
    let steps = &records[1..];
    assert_eq!(steps.iter().map(staleness).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1]);
    for record in steps {
        let is_fresh = staleness(record) == 0;
        // Its answers are of other weights than those that learn, and the canary is of these.
        assert_eq!(difference(record) < 1e-5, is_fresh, "{record}");
        assert!(record["canaries"]["planner"].as_f64().unwrap() < 1e-5, "{record}");
    }
    let versions: Vec<Vec<usize>> = (1..=6).map(|step| versions(&run_folder, step)).collect();
    assert_eq!(versions, [[0], [0], [1], [2], [3], [4]]);
    assert_eq!(fake.loaded(), (4, 0), "two versions of two policies");
}

#[test]
fn a_run_that_draws_ahead_is_resumed_as_if_it_had_never_stopped() {
    let (folder, config) = prepared();
    let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, Trap::None);
    let (code, stderr) = train(&config, &fake.url, &flags(&[]));
    assert_eq!(code, 0, "{stderr}");
    let run_folder = folder.path().join("run");
    let whole = metrics(&run_folder);
    fs::remove_dir_all(run_folder.join("checkpoints/step-000006")).unwrap();
    let (code, _, stderr) = run(&["train", "--resume", run_folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    let again = metrics(&run_folder);
    assert_eq!(again.len(), whole.len());
    for (again, whole) in again.iter().zip(&whole) {
        // The server's log-probabilities depend in their last digits on what it is asked beside.
        for part in ["step", "roles", "groups", "endings", "totals"] {
            assert_eq!(again[part], whole[part]);
        }
        assert_eq!(staleness(again), staleness(whole));
    }
}

#[test]
fn a_server_that_dies_while_it_draws_ahead_costs_no_step_that_was_learned() {
    let (folder, config) = prepared();
    let base = folder.path().join("base");
    let fake = Fake::start(folder.path(), &base, 4, Trap::DiesAt(900));
    let hasty = ["planner", "executor"].map(|role| format!("policies.{role}.sampler.retries=0"));
    let (code, stderr) = train(&config, &fake.url, &flags(&[&hasty[0], &hasty[1]]));
    assert_eq!(code, 8, "{stderr}");
    let run_folder = folder.path().join("run");
    let last = metrics(&run_folder).last().unwrap()["step"].as_u64().unwrap();
    assert!((1..6).contains(&last), "it died in the middle: {last}");
    assert!(run_folder.join(format!("checkpoints/step-{last:06}")).exists());
}

#[test]
fn what_is_saved_when_a_server_dies_is_a_critic_that_knows_nothing_of_the_step_that_was_lost() {
    let (folder, config) = prepared();
    let base = folder.path().join("base");
    // It is to load this version while the second step is under way.
    let fake = Fake::start(folder.path(), &base, 4, Trap::DiesOfVersion(2));
    let critic = [
        "policies.planner.sampler.retries=0",
        "policies.executor.sampler.retries=0",
        "policies.critic.base=base",
        "policies.critic.learns=value",
        "policies.critic.value.updates=1",
        "policies.critic.value.minibatch_samples=4",
        "policies.critic.value.warmup_steps=0",
    ];
    let (code, stderr) = train(&config, &fake.url, &flags(&critic));
    assert_eq!(code, 8, "{stderr}");
    let run_folder = folder.path().join("run");
    assert_eq!(metrics(&run_folder).last().unwrap()["step"], 1);
    let saved = run_folder.join("checkpoints/step-000001/critics/critic/critic.json");
    let saved: Value = serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap();
    assert_eq!(saved["step"], 1, "{saved}");
}

#[test]
fn only_what_is_asked_on_servers_can_be_drawn_ahead() {
    let (folder, config) = prepared();
    let (code, _, stderr) = run(&["train", &config, "--set", "rollout.staleness=1"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("the policy `executor` answers here"), "{stderr}");
    let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, Trap::None);
    let (code, stderr) =
        train(&config, &fake.url, &[&flags(&[])[..], &["--processes", "2"]].concat());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("several processes"), "{stderr}");
}
