//! One run as a page shows it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::bounds::Bounds;
use super::figures::{HeldOut, best_step, held_out, rounded, thinned, void};
use super::notes::Notes;
use super::selection::{Selection, Shown};
use super::siblings::Leaf;
use super::story::Story;
use super::texts::Texts;
use troupe_core::archive::{find_config, read_lines};
use troupe_core::config::{Change, Config, changes};
use troupe_core::storage::{StorageError, read_json};

/// One run.
#[derive(Debug, Serialize)]
pub struct Chapter {
    /// What it is called: the name of its folder, with those above it where runs share it.
    pub name: String,
    /// Its folder, as it was given.
    pub folder: String,
    /// What could not be shown, and why.
    pub notes: Vec<String>,
    /// Whether the run came to its end.
    pub finished: bool,
    /// The step whose checkpoint is the best.
    pub best: Option<usize>,
    /// α of r = α·team + local.
    pub alpha: f64,
    /// Whether its policies are compared with what they were: else `kl` is 0 for want of a measure.
    pub has_reference: bool,
    /// Lines of the metrics.
    pub metrics: Vec<Value>,
    /// Void training episodes by cause.
    pub void: BTreeMap<String, u64>,
    /// Before and after.
    pub summary: Option<Value>,
    /// What cannot be said for it.
    pub caveats: Vec<String>,
    /// What each role is good for, if that was measured.
    pub role_worth: Option<Value>,
    /// What it was made of.
    pub manifest: Option<Value>,
    /// Settings that are not as they would be by themselves.
    pub settings: Vec<Change>,
    /// What can be done with it: what for, and the command.
    pub commands: Vec<(&'static str, String)>,
    /// What became of held-out tasks.
    pub held_out: Vec<HeldOut>,
    /// Recorded episodes.
    pub episodes: Vec<Story>,
    /// Answers of tables.
    pub tables: Vec<Leaf>,
    /// How much of it all is shown.
    pub shown: Shown,
}

/// Write the chapter of a run of this name, with its texts among the others.
///
/// # Errors
/// If the folder is none of a run, or its files cannot be read at all. What is damaged in it is
/// noted in the chapter.
pub fn write(
    (run, name): (&Path, String),
    bounds: Bounds,
    texts: &mut Texts,
) -> Result<Chapter, StorageError> {
    let config_path = find_config(run)?;
    let mut notes = Notes::default();
    let lines = lines_of(run, "metrics.jsonl", &mut notes)?;
    let outcomes = lines_of(run, "outcomes.jsonl", &mut notes)?;
    let config = notes.unless(Config::load(Some(&config_path), &[]));
    let text = std::fs::read_to_string(&config_path);
    let text = notes.unless(text.map_err(StorageError::io("read", &config_path)));
    let settings = text.and_then(|text| notes.unless(changes(&text)));
    let summary = json_of(run, "summary.json", &mut notes);
    let manifest = json_of(run, "manifest.json", &mut notes);
    let role_worth = json_of(run, "roles.json", &mut notes);
    let best = best_step(&lines);
    let mut selection = Selection::of(run, best, bounds, texts, &mut notes)?;
    if let Some(config) = &config {
        selection.draw(config, &lines);
    }
    let Selection { shown, episodes, tables, .. } = selection;
    Ok(Chapter {
        name,
        folder: run.display().to_string(),
        notes: notes.into_list(),
        finished: summary.is_some(),
        best,
        has_reference: config.as_ref().is_some_and(|config| config.train.needs_reference()),
        alpha: config.map_or(1.0, |config| config.advantage.alpha),
        shown: Shown { answers_drawn: answers_drawn(&lines), ..shown },
        void: void(&lines),
        metrics: thinned(lines),
        summary: summary.map(rounded),
        role_worth,
        caveats: manifest.as_ref().map(caveats).unwrap_or_default(),
        manifest: manifest.map(without_config),
        settings: settings.unwrap_or_default(),
        commands: commands(run, !tables.is_empty()),
        held_out: held_out(&outcomes),
        episodes: episodes.into_iter().map(|(story, _)| story).collect(),
        tables,
    })
}

fn lines_of(run: &Path, name: &str, notes: &mut Notes) -> Result<Vec<Value>, StorageError> {
    let (lines, unreadable) = read_lines(&run.join(name))?;
    if unreadable > 0 {
        notes.add(format!("{unreadable} lines of {name} cannot be read"));
    }
    Ok(lines)
}

fn json_of(run: &Path, name: &str, notes: &mut Notes) -> Option<Value> {
    let path = run.join(name);
    path.is_file().then(|| notes.unless(read_json(&path))).flatten()
}

/// The manifest repeats the configuration, which the page has already.
fn without_config(mut manifest: Value) -> Value {
    if let Value::Object(fields) = &mut manifest {
        fields.retain(|name, _| name != "config" && name != "settled");
    }
    manifest
}

/// Of each environment on a server that it is played there.
fn caveats(manifest: &Value) -> Vec<String> {
    let text = |of: &Value, name: &str| of[name].as_str().unwrap_or_default().to_owned();
    let servers = manifest["servers"].as_array().into_iter().flatten();
    let caveat = |server: &Value| {
        let (name, address) = (text(server, "name"), text(server, "address"));
        let states = match server["forks"].as_bool() {
            Some(true) => "states are gone back to by replaying the actions",
            _ => "states cannot be gone back to",
        };
        format!(
            "the environment `{name}` is played at {address}: it is neither isolated nor \
             reproducible; {states}"
        )
    };
    servers.map(caveat).collect()
}

fn answers_drawn(lines: &[Value]) -> usize {
    let of_role = |role: &Value| role.get("samples").and_then(Value::as_u64);
    let of_line = |line: &Value| -> u64 {
        let roles = line.get("roles").and_then(Value::as_object);
        roles.into_iter().flat_map(|roles| roles.values()).filter_map(of_role).sum()
    };
    lines.iter().map(of_line).sum::<u64>() as usize
}

fn commands(run: &Path, has_tables: bool) -> Vec<(&'static str, String)> {
    let (folder, config) = (run.display().to_string(), run.join("config.toml"));
    let (folder, config) = (quoted(&folder), config.display().to_string());
    let config = quoted(&config);
    let mut commands = vec![
        ("repeat the run", format!("host train {config}")),
        ("go on with it", format!("host train --resume {folder}")),
        ("measure it on held-out tasks", format!("host eval --run {folder} --split test")),
        ("watch what it learned", format!("host play --run {folder}")),
    ];
    if has_tables {
        let compare = "--compare at-grpo,rloo,naive";
        commands.push(("compare estimators", format!("host advantage --run {folder} {compare}")));
    }
    commands
}

/// A word as a shell reads it.
fn quoted(text: &str) -> Cow<'_, str> {
    // Paths have no NUL in them, which is what cannot be quoted.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests;
