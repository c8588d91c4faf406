//! What the evaluation showed: the figures of `host eval`.

use serde_json::{Map, Value, json};

use super::Log;
use super::entry::Entry;
use troupe_core::statistics::{mean, standard_error};
use troupe_training::metrics::{Outcome, Several, Success, shares_of_tasks};

/// Whether the task was solved.
pub(super) const SOLVED: &str = "solved";
/// What the team earned.
pub(super) const TEAM: &str = "team_reward";
/// What each role earned on its own.
pub(super) const ROLES: &str = "role_reward";

/// How several samples of a task are made one.
const REDUCER: &str = "mean";

/// All scores.
pub(super) fn results(log: &Log, entries: &[Entry]) -> Value {
    let counting: Vec<&Entry> = entries.iter().filter(|entry| !entry.episode.is_void()).collect();
    let mut scores = vec![solved(log)];
    let team: Vec<f64> = counting.iter().map(|entry| entry.team_reward()).collect();
    scores.push(means(log, TEAM, TEAM, &team));
    for (role, _) in &log.examined.players {
        let own = counting.iter().filter(|entry| entry.has(log, role));
        let own: Vec<f64> = own.map(|entry| entry.reward_of(role)).collect();
        scores.push(means(log, role, ROLES, &own));
    }
    json!({
        "total_samples": entries.len(),
        "completed_samples": counting.len(),
        "scores": scores,
    })
}

/// What each task's samples come to, where there are several.
pub(super) fn reductions(log: &Log, entries: &[Entry]) -> Option<Value> {
    if log.held_out.samples < 2 {
        return None;
    }
    let reduced = |samples: &[Entry]| {
        let solved = samples.iter().filter(|entry| entry.outcome.solved).count();
        json!({ "value": solved as f64 / samples.len() as f64, "sample_id": log.id(samples[0].episode) })
    };
    let tasks = entries.chunk_by(|one, other| one.episode.task == other.episode.task);
    let samples: Vec<Value> = tasks.map(reduced).collect();
    Some(json!([{ "scorer": SOLVED, "reducer": REDUCER, "samples": samples }]))
}

/// The share that was solved of families that are learned from, then each family's.
fn solved(log: &Log) -> Value {
    let evaluation = log.evaluation;
    let of_trained = || {
        let is_trained = |outcome: &&Outcome| evaluation.trained.contains(&outcome.family);
        log.outcomes.iter().filter(is_trained)
    };
    let error = standard_error(&shares_of_tasks(of_trained()));
    let mut metrics = vec![share("accuracy", &evaluation.success), metric("stderr", error)];
    if log.held_out.samples > 1 {
        let several = Several::of(of_trained());
        let pass = several.pass.iter().skip(1);
        metrics.extend(pass.map(|(k, pass)| metric(&format!("pass@{k}"), pass.mean)));
        let majority = several.majority.iter();
        metrics.extend(majority.map(|it| metric(&format!("majority@{}", several.k), it.mean)));
    }
    if evaluation.families.len() > 1 {
        metrics.extend(evaluation.families.iter().map(|(family, success)| {
            let mut of_family = share(family, success);
            of_family["group"] = "family".into();
            of_family
        }));
    }
    score(log, (SOLVED, SOLVED), log.outcomes.len(), metrics)
}

/// A mean that void episodes have no part in.
fn means(log: &Log, name: &str, scorer: &str, values: &[f64]) -> Value {
    let metrics = vec![metric("mean", mean(values)), metric("stderr", standard_error(values))];
    score(log, (name, scorer), values.len(), metrics)
}

fn score(log: &Log, (name, scorer): (&str, &str), scored: usize, metrics: Vec<Value>) -> Value {
    let named = |metric: Value| (metric["name"].as_str().unwrap_or_default().to_owned(), metric);
    let mut score = json!({
        "name": name,
        "scorer": scorer,
        "scored_samples": scored,
        "unscored_samples": log.outcomes.len() - scored,
        "metrics": metrics.into_iter().map(named).collect::<Map<_, _>>(),
    });
    if log.held_out.samples > 1 {
        score["reducer"] = REDUCER.into();
    }
    score
}

fn metric(name: &str, value: f64) -> Value {
    json!({ "name": name, "value": value })
}

/// With Wilson's interval.
fn share(name: &str, success: &Success) -> Value {
    let mut share = metric(name, success.success);
    share["metadata"] = json!({ "low": success.low, "high": success.high });
    share
}
