//! What a policy was trained on, what that took, and what was measured.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::super::report;
use super::subject::Origin;
use super::{File, cell};
use troupe_core::archive::read_lines;
use troupe_core::config::changes;
use troupe_core::storage::{StorageError, read_json};
use troupe_training::manifest::PluginEntry;
use troupe_training::metrics::{HeldOut, Success};
use troupe_training::run::Summary;

/// Settings that say where something lies on the machine of the run.
const PLACES: [&str; 9] = [
    ".files",
    ".path",
    ".dir",
    ".name",
    ".corpus",
    ".interpreters",
    ".tokenizer",
    ".url",
    ".token_file",
];

/// An account of a policy's training.
#[derive(Serialize)]
pub struct Account {
    task: String,
    plugins: Vec<PluginEntry>,
    files: Vec<File>,
    spent: String,
    settings: Vec<Setting>,
    results: Vec<Row>,
    /// Whether the run came to its end.
    #[serde(skip)]
    is_over: bool,
    /// Whether the policy as it is was examined on test tasks.
    #[serde(skip)]
    is_tested: bool,
}

#[derive(Serialize)]
struct Setting {
    key: String,
    value: String,
    default: String,
}

/// A success that was measured.
#[derive(Serialize)]
struct Row {
    tasks: &'static str,
    step: String,
    answers: &'static str,
    solved: String,
    number: String,
}

/// The account of a run's policy.
///
/// # Errors
/// If the run's files cannot be read.
pub fn of(origin: &Origin) -> anyhow::Result<Account> {
    let manifest = origin.manifest.as_ref();
    let records = manifest.iter().flat_map(|manifest| &manifest.records.files);
    let file =
        |(name, digest): (&String, &String)| File { name: name.clone(), digest: digest.clone() };
    let summary: Option<Summary> = read_json(&origin.run.join("summary.json")).ok();
    let results = results(origin, summary.as_ref())?;
    let here = origin.progress.step.to_string();
    Ok(Account {
        task: task(origin),
        plugins: manifest.map(|manifest| manifest.plugins.clone()).unwrap_or_default(),
        files: records.map(file).collect(),
        spent: spent(origin),
        settings: settings(origin)?,
        is_over: summary.is_some(),
        is_tested: results.iter().any(|row| row.tasks == "test" && row.step == here),
        results,
    })
}

/// Who played what.
fn task(origin: &Origin) -> String {
    let team = origin.manifest.iter().flat_map(|manifest| &manifest.policies);
    let player = |name: &str, roles: &[String]| format!("`{name}` as {}", roles.join(" and "));
    let team: Vec<String> = team
        .filter(|entry| !entry.roles.is_empty())
        .map(|entry| player(&entry.name, &entry.roles))
        .collect();
    let families = origin.config.families();
    let played: Vec<String> = families
        .iter()
        .filter(|family| family.weight > 0.0)
        .map(|family| {
            let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".to_owned());
            format!("`{}` with `{}`", named(&family.environment), named(&family.workflow))
        })
        .collect();
    format!("Tasks of the training split of {}, played by {}.", played.join(", "), team.join(", "))
}

/// What training took, and of which build.
fn spent(origin: &Origin) -> String {
    let progress = &origin.progress;
    let mut said = format!(
        "{} {}: {} answers, {} tokens drawn, in {} ({} of processors' time).",
        progress.step,
        if progress.step == 1 { "step" } else { "steps" },
        progress.totals.samples,
        progress.totals.completion_tokens,
        report::duration(progress.spent.seconds),
        report::duration(progress.spent.cpu_seconds),
    );
    if let Some(manifest) = &origin.manifest {
        let builds: Vec<String> = manifest.builds.iter().map(ToString::to_string).collect();
        said += &format!(
            " On `{}`, seed {}, by Troupe {}.",
            manifest.device,
            manifest.seed,
            builds.join(", then ")
        );
    }
    said
}

/// What the configuration says that the defaults do not, but for places on a machine.
fn settings(origin: &Origin) -> Result<Vec<Setting>, StorageError> {
    let damaged = |reason: toml::de::Error| StorageError::Damaged {
        path: origin.run.join("config.toml"),
        reason: reason.to_string(),
    };
    let found = changes(&origin.config.to_toml()).map_err(damaged)?;
    let is_place = |key: &str| PLACES.iter().any(|place| format!(".{key}").ends_with(place));
    let shown = |value: Option<String>| value.map_or("–".to_owned(), |value| cell(&value));
    let setting = found.into_iter().filter(|change| !is_place(&change.key));
    Ok(setting
        .map(|change| Setting {
            key: change.key,
            value: shown(change.value),
            default: shown(change.default),
        })
        .collect())
}

/// Test tasks whenever they were played, and validation tasks after this step.
fn results(origin: &Origin, summary: Option<&Summary>) -> Result<Vec<Row>, StorageError> {
    let (lines, _) = read_lines(&origin.run.join("metrics.jsonl"))?;
    let here = origin.progress.step;
    let mut rows = Vec::new();
    for line in &lines {
        let step = line["step"].as_u64().unwrap_or_default() as usize;
        let mut add = |tasks: &'static str| {
            let Some(held_out) = held_out(line, tasks) else { return };
            rows.push(row(tasks, step, "likeliest", &held_out.greedy));
            rows.extend(held_out.sampled.iter().map(|it| row(tasks, step, "drawn", it)));
        };
        if step == here {
            add("validation");
        }
        add("test");
    }
    if let Some(best) = summary.and_then(|summary| summary.best.as_ref()) {
        rows.push(row("test", best.step, "likeliest", &best.test));
    }
    Ok(rows)
}

fn held_out(line: &Value, tasks: &str) -> Option<HeldOut> {
    serde_json::from_value(line.get(tasks)?.clone()).ok()
}

fn row(tasks: &'static str, step: usize, answers: &'static str, success: &Success) -> Row {
    Row {
        tasks,
        step: step.to_string(),
        answers,
        solved: report::success(success),
        number: report::tasks(success),
    }
}

impl Account {
    /// What its figures do not say.
    pub fn limits(&self, origin: &Origin) -> Vec<String> {
        let mut limits = Vec::new();
        let step = origin.progress.step;
        if !self.is_over {
            limits.push("The run has not come to its end.".to_owned());
        }
        if !self.is_tested {
            limits.push(format!(
                "The policy as it is, after step {step}, has not played test tasks."
            ));
        }
        let others: BTreeSet<&str> = origin
            .manifest
            .iter()
            .flat_map(|manifest| &manifest.policies)
            .filter(|entry| !entry.roles.is_empty() && entry.name != origin.name)
            .map(|entry| entry.name.as_str())
            .collect();
        if !others.is_empty() {
            let others: Vec<&str> = others.into_iter().collect();
            limits.push(format!(
                "Successes are the team's, with `{}`; with others it may do less.",
                others.join("`, `")
            ));
        }
        limits.push(
            "Intervals say how far the tasks speak for others of their kind; another seed of \
             training may come to something else."
                .to_owned(),
        );
        if origin.progress.best.is_some_and(|(best, _)| best == step) {
            limits.push(
                "The step was chosen by its success on validation tasks, which flatters \
                         that figure."
                    .to_owned(),
            );
        }
        if origin.progress.void_episodes > 0 {
            limits.push(format!(
                "{} episodes of training were void: a plugin or a server failed in them.",
                origin.progress.void_episodes
            ));
        }
        limits
    }
}
