//! What was evaluated, and how.

use chrono::DateTime;
use serde_json::{Map, Value, json};
use toml::Table;

use super::usage::model;
use super::{Log, results};
use troupe_core::config::{MixConfig, changes};
use troupe_core::provenance::Build;
use troupe_core::storage::digest;
use troupe_training::metrics::Answers;

/// Letters of a name that is made up.
const LETTERS: usize = 22;

/// A time in seconds since 1970, as Inspect writes it.
pub(super) fn time(seconds: f64) -> String {
    let time = DateTime::from_timestamp(seconds as i64, 0).unwrap_or_default();
    format!("{:?}", time.naive_utc()) + "+00:00"
}

/// A name for something of this evaluation, which no other has.
pub(super) fn name(log: &Log, what: &str) -> String {
    let (began, over) = log.span;
    let policies: Vec<&String> =
        log.examined.manifest.policies.iter().map(|policy| &policy.digest).collect();
    let text = format!("{what} {began} {over} {policies:?}");
    digest(text.as_bytes())[..LETTERS].to_owned()
}

/// What was evaluated.
pub(super) fn eval(log: &Log) -> Value {
    let Log { examined, held_out, .. } = log;
    let families = &examined.families;
    let joined = |words: Vec<&str>| words.join("+");
    let tasks = joined(families.iter().map(|played| played.environment.as_str()).collect());
    let versions = joined(families.iter().map(|played| played.version.as_str()).collect());
    let workflows = joined(families.iter().map(|played| played.workflow.as_str()).collect());
    let mut policies: Vec<&str> =
        examined.players.iter().map(|(_, policy)| policy.as_str()).collect();
    policies.sort_unstable();
    policies.dedup();
    json!({
        "eval_id": name(log, "evaluation"),
        "run_id": name(log, "run"),
        "created": time(log.span.0),
        "task": tasks,
        "task_id": name(log, "task"),
        "task_version": versions,
        "task_args": arguments(log, |family| &family.settings),
        "solver": workflows,
        "solver_args": arguments(log, |family| &family.workflow_settings),
        "dataset": dataset(log, &tasks),
        "model": model(&policies.join("+")),
        "model_generate_config": drawn(log),
        "model_args": digests(log),
        "model_roles": roles(log),
        "config": {
            "limit": held_out.tasks,
            "epochs": held_out.samples,
            "fail_on_error": false,
            "score_on_error": true,
        },
        "revision": revision(log),
        "packages": { "troupe": Build::this().version },
        "metadata": metadata(log),
        "viewer": viewer(log),
        "scorers": [{ "name": results::SOLVED }, { "name": results::TEAM }, { "name": results::ROLES }],
    })
}

/// How episodes were played.
pub(super) fn plan(log: &Log) -> Value {
    let step = |name: &str| json!({ "solver": name });
    let steps: Vec<Value> =
        log.examined.families.iter().map(|played| step(&played.workflow)).collect();
    json!({ "name": "plan", "steps": steps, "config": drawn(log) })
}

/// The own settings of the environment or the workflow; of several families, each one's.
fn arguments(log: &Log, own: fn(&MixConfig) -> &Table) -> Value {
    let families = log.examined.config.families();
    match &families[..] {
        [only] => json!(own(only)),
        _ => {
            let named = families.iter().map(|family| {
                let name = family.family.as_ref().or(family.environment.as_ref());
                (name.cloned().unwrap_or_default(), json!(own(family)))
            });
            named.collect::<Map<_, _>>().into()
        }
    }
}

fn dataset(log: &Log, tasks: &str) -> Value {
    let mut ids: Vec<Value> = Vec::new();
    for episode in &log.evaluation.rollout.episodes {
        let id = log.id(episode);
        if ids.last() != Some(&id) {
            ids.push(id);
        }
    }
    let name = format!("{tasks} {}", log.held_out.split);
    json!({ "name": name, "samples": ids.len(), "sample_ids": ids, "shuffled": false })
}

/// How answers are drawn, where a role has no settings of its own.
fn drawn(log: &Log) -> Value {
    let (rollout, validation) = (&log.examined.config.rollout, &log.examined.config.validation);
    let mut drawn = json!({ "max_tokens": rollout.max_completion_tokens });
    drawn["temperature"] = match log.held_out.answers {
        Answers::Greedy => 0.0.into(),
        Answers::Sampled => {
            drawn["top_p"] = validation.top_p.unwrap_or(rollout.top_p).into();
            validation.temperature.unwrap_or(rollout.temperature).into()
        }
    };
    if !rollout.stop.is_empty() {
        drawn["stop_seqs"] = json!(rollout.stop);
    }
    drawn
}

/// By policy, the digest of its weights, or who answers for it.
fn digests(log: &Log) -> Map<String, Value> {
    let policies = log.examined.manifest.policies.iter();
    policies.map(|policy| (policy.name.clone(), policy.digest.clone().into())).collect()
}

fn roles(log: &Log) -> Map<String, Value> {
    let players = log.examined.players.iter();
    players.map(|(role, policy)| (role.clone(), json!({ "model": model(policy) }))).collect()
}

/// The commit of this program; Inspect has no word for one that is not known.
fn revision(log: &Log) -> Value {
    let build = log.examined.manifest.builds.last().cloned().unwrap_or_else(Build::this);
    build.commit.map_or(
        Value::Null,
        |commit| json!({ "type": "git", "origin": "", "commit": commit, "dirty": build.changed }),
    )
}

fn metadata(log: &Log) -> Value {
    let Log { examined, held_out, .. } = log;
    json!({
        "run": examined.run,
        "step": examined.step,
        "split": held_out.split.name(),
        "answers": held_out.answers,
        "device": examined.manifest.device,
        "plugins": examined.manifest.plugins,
        "settings": settings(log),
    })
}

/// What the configuration says that the defaults do not, as TOML.
fn settings(log: &Log) -> Map<String, Value> {
    let found = changes(&log.examined.config.to_toml()).unwrap_or_default();
    let set = found.into_iter().filter_map(|change| Some((change.key, change.value?.into())));
    set.collect()
}

/// Boards and tables are plain text, and what models wrote is not to be trusted. Columns that are
/// always empty are not shown.
fn viewer(log: &Log) -> Value {
    let shown = |id: &str| json!({ "id": id, "visible": true });
    let score = |scorer: &str, name: &str| shown(&format!("score__{scorer}__{name}"));
    let mut columns = vec![shown("sampleStatus"), shown("sampleId")];
    if log.held_out.samples > 1 {
        columns.push(shown("epoch"));
    }
    columns.extend([shown("input"), shown("answer")]);
    columns.push(score(results::SOLVED, results::SOLVED));
    columns.push(score(results::TEAM, results::TEAM));
    columns.extend(log.examined.players.iter().map(|(role, _)| score(results::ROLES, role)));
    columns.extend(["tokens", "limit", "error"].map(shown));
    columns.extend(["target", "duration"].map(|id| json!({ "id": id, "visible": false })));
    let view = json!({ "name": "episodes", "columns": columns });
    json!({ "trust_content": false, "task_samples_view": view })
}
