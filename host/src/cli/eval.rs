//! `host eval`: how good policies are on held-out tasks.

use std::path::Path;

use super::args::{CheckpointName, ConfigArgs, EvalArgs};
use super::{load_config, report};
use crate::checkpoint::{Found, load_latest, load_step};
use crate::config::{Config, PolicyConfig};
use crate::error::ExitCode;
use crate::evaluation::{HeldOutTasks, evaluate};
use crate::metrics::{Success, count_endings};
use crate::policy::{Device, PolicyError};
use crate::run::find_config;
use crate::seed::Seed;
use crate::storage::{StorageError, write_file};
use crate::team::Team;
use crate::trajectory::{Ending, Episode};

pub fn run(
    args: EvalArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = config_of(&args.config, args.run.as_deref(), args.step)?;
    let team = Team::assemble(&config, device()?)?;
    let tasks = args.tasks.map_or(config.validation.tasks, |tasks| tasks as usize);
    let seed = Seed::new(config.run.seed).named("evaluation");
    let held_out = HeldOutTasks { split: args.split.into(), tasks, sampled: args.sampled, seed };
    let evaluation = evaluate(&team, held_out, &config.rollout)?;
    if let Some(path) = &args.record {
        record(path, &evaluation.rollout.episodes)?;
    }
    if args.json {
        let mut shown = serde_json::to_value(evaluation.success)?;
        shown["families"] = serde_json::to_value(&evaluation.families)?;
        report::line(&shown.to_string());
        return Ok(ExitCode::Success);
    }
    let (endings, void) = count_endings(&evaluation.rollout.episodes);
    let show = |counts: &std::collections::BTreeMap<String, usize>| {
        let shown: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        shown.join(", ")
    };
    let row = |what: String, success: &Success, endings: String| {
        let answers = if args.sampled { "sampled" } else { "greedy" }.to_owned();
        vec![what, answers, report::success(success), success.tasks.to_string(), endings]
    };
    let mut rows = vec![row(held_out.split.to_string(), &evaluation.success, show(&endings))];
    if evaluation.families.len() > 1 {
        let of_family = |(name, success)| row(format!("  {name}"), success, String::new());
        rows.extend(evaluation.families.iter().map(of_family));
    }
    report::table(&["split", "answers", "solved (95 % interval)", "tasks", "endings"], &rows);
    for (cause, count) in &void {
        let first = evaluation.rollout.episodes.iter().find_map(|episode| match &episode.ending {
            Ending::Void { cause: other, message } if other == cause => Some(message),
            _ => None,
        });
        let first = first.map(String::as_str).unwrap_or_default();
        report::line(&format!("  void: {count} by {cause}, the first: {first}"));
    }
    Ok(ExitCode::Success)
}

/// Write episodes as JSON lines.
fn record(path: &Path, episodes: &[Episode]) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for episode in episodes {
        serde_json::to_writer(&mut lines, episode)?;
        lines.push(b'\n');
    }
    write_file(path, &lines)?;
    let solved = episodes.iter().filter(|episode| episode.solved()).count();
    let (count, path) = (episodes.len(), path.display());
    report::note(&format!("recorded {count} episodes, {solved} of them solved, in {path}"));
    Ok(())
}

/// The configuration of the flags, or of a run with the policies of one of its
/// checkpoints.
pub fn config_of(
    args: &ConfigArgs,
    run: Option<&Path>,
    step: CheckpointName,
) -> anyhow::Result<Config> {
    let Some(run) = run else { return Ok(load_config(args)?) };
    let mut config = Config::load(Some(&find_config(run)?), &args.set)?;
    if !args.plugins.is_empty() {
        config.plugins.files.clone_from(&args.plugins);
    }
    args.grant(&mut config);
    let checkpoint = checkpoint_of(run, step)?;
    use_policies(&mut config, &checkpoint.path, &args.set);
    Ok(config)
}

fn checkpoint_of(run: &Path, step: CheckpointName) -> Result<Found, StorageError> {
    let checkpoints = run.join("checkpoints");
    let unfit =
        |reason: &str| StorageError::Unfit { path: run.to_owned(), reason: reason.to_owned() };
    if let CheckpointName::Step(step) = step {
        return load_step(&checkpoints, step);
    }
    let latest =
        load_latest(&checkpoints)?.ok_or_else(|| unfit("the run has no checkpoint yet"))?;
    for damage in &latest.passed_over {
        report::note(&format!("note: {damage}; taking step {}", latest.progress.step));
    }
    match (step, latest.progress.best) {
        (CheckpointName::Best, Some((best, _))) => load_step(&checkpoints, best),
        (CheckpointName::Best, None) => {
            Err(unfit("no step of it was validated, so none is known to be the best"))
        }
        _ => Ok(latest),
    }
}

/// What was trained is taken from the checkpoint, unless the user says where
/// it is to be taken from.
pub fn use_policies(config: &mut Config, checkpoint: &Path, set: &[String]) {
    let snapshots: Vec<(String, String)> = (config.policies.iter())
        .filter_map(|(name, policy)| Some((name.clone(), policy.snapshot_of.clone()?)))
        .collect();
    let trained: Vec<String> =
        config.policies.keys().filter(|name| config.trains(name)).cloned().collect();
    let snapshots_of = snapshots.iter().map(|(name, _)| name.clone());
    for (name, source) in &snapshots {
        // It is what its source was, which is not what its source is.
        let Some(source) = config.policies.get(source) else { continue };
        let frozen = PolicyConfig { train: false, ..source.clone() };
        config.policies.insert(name.clone(), frozen);
    }
    for name in trained.into_iter().chain(snapshots_of) {
        let table = format!("policies.{name}");
        let places = [table.clone(), format!("{table}.path"), format!("{table}.lora.path")];
        let key = |text: &String| text.split_once('=').map(|(key, _)| key.trim().to_owned());
        if set.iter().filter_map(key).any(|key| places.contains(&key)) {
            continue;
        }
        let Some(policy) = config.policies.get_mut(&name) else { continue };
        let saved = Some(checkpoint.join("policies").join(name));
        match policy.base {
            Some(_) => policy.lora.get_or_insert_default().path = saved,
            None => policy.path = saved,
        }
    }
}
