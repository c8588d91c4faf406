//! `host eval`: how good policies are on held-out tasks.

use std::path::Path;

use super::args::{ConfigArgs, EvalArgs};
use super::{load_config, report};
use crate::checkpoint::load_latest;
use crate::config::Config;
use crate::error::ExitCode;
use crate::evaluation::{Exam, evaluate};
use crate::metrics::count_endings;
use crate::policy::{Device, PolicyError};
use crate::run::find_config;
use crate::seed::Seed;
use crate::storage::{StorageError, write_file};
use crate::team::Team;
use crate::trajectory::Episode;

pub fn run(
    args: EvalArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = config_of(&args.config, args.run.as_deref())?;
    let team = Team::assemble(&config, device()?)?;
    let tasks = args.tasks.unwrap_or(config.validation.tasks);
    let seed = Seed::new(config.run.seed).named("evaluation");
    let exam = Exam { split: args.split.into(), tasks, sampled: args.sampled, seed };
    let evaluation = evaluate(&team, exam, &config.rollout)?;
    if let Some(path) = &args.record {
        record(path, &evaluation.rollout.episodes)?;
    }
    if args.json {
        report::line(&serde_json::to_string(&evaluation.success)?);
        return Ok(ExitCode::Success);
    }
    let (endings, void) = count_endings(&evaluation.rollout.episodes);
    let show = |counts: &std::collections::BTreeMap<String, usize>| {
        let shown: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        shown.join(", ")
    };
    report::table(
        &["split", "answers", "solved (95 % interval)", "tasks", "endings"],
        &[vec![
            exam.split.to_string(),
            if args.sampled { "sampled" } else { "greedy" }.to_owned(),
            report::success(&evaluation.success),
            evaluation.success.tasks.to_string(),
            show(&endings),
        ]],
    );
    if !void.is_empty() {
        report::line(&format!("  void episodes by cause: {}", show(&void)));
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

/// The configuration of the flags, or of a run with its latest policies.
pub fn config_of(args: &ConfigArgs, run: Option<&Path>) -> anyhow::Result<Config> {
    let Some(run) = run else { return Ok(load_config(args)?) };
    let mut config = Config::load(Some(&find_config(run)?), &args.set)?;
    if !args.plugins.is_empty() {
        config.plugins.files.clone_from(&args.plugins);
    }
    config.sandbox.grant.extend(args.grant_sandbox.iter().cloned());
    use_latest_policies(&mut config, run)?;
    Ok(config)
}

fn use_latest_policies(config: &mut Config, run: &Path) -> Result<(), StorageError> {
    let checkpoints = run.join("checkpoints");
    let Some((checkpoint, _)) = load_latest(&checkpoints)? else {
        let reason = "the run has no checkpoint yet".to_owned();
        return Err(StorageError::Unfit { path: run.to_owned(), reason });
    };
    let trained: Vec<String> =
        config.policies.keys().filter(|name| config.trains(name)).cloned().collect();
    for name in trained {
        let Some(policy) = config.policies.get_mut(&name) else { continue };
        let saved = Some(checkpoint.join("policies").join(name));
        match policy.base {
            Some(_) => policy.lora.get_or_insert_default().path = saved,
            None => policy.path = saved,
        }
    }
    Ok(())
}
