//! `host eval`: how good policies are on held-out tasks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::inspect_log::{self, Examined, Log};
use super::inventory::manifest;
use super::{assemble, decide, load_config, report, say_caveats, situations};
use troupe_cli::args::{CheckpointName, ConfigArgs, EvalArgs};
use troupe_core::archive::find_config;
use troupe_core::config::{Config, PolicyConfig};
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_core::statistics::{standard_error, usual_ks};
use troupe_core::storage::{StorageError, write_file};
use troupe_core::trajectory::{Ending, Episode, Sample};
use troupe_model::{Device, PolicyError};
use troupe_training::checkpoint::{FoundCheckpoint, load_latest, load_step};
use troupe_training::evaluation::{Evaluation, HeldOutTasks, evaluate, outcomes_of};
use troupe_training::manifest::Settled;
use troupe_training::metrics::{
    Answers, Outcome, RoleMetrics, Several, Success, TaskMean, count_endings, measure_roles,
    several_by_family, shares_of_tasks,
};
use troupe_training::run::{lines_of, unix_seconds};
use troupe_training::team::Team;

pub fn run(
    args: EvalArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let device = device()?;
    if let Some(file) = &args.situations {
        return situations::make(&args, file, device);
    }
    if args.decide {
        return decide::run(&args, device);
    }
    let runs: Vec<Option<&Path>> = match args.run.is_empty() {
        true => vec![None],
        false => args.run.iter().map(|run| Some(run.as_path())).collect(),
    };
    if let Some(path) = &args.inspect_log {
        inspect_log::check(path, runs.len())?;
    }
    let mut measured = Vec::new();
    for run in runs {
        measured.push(measure(&args, run, device)?);
    }
    if let Some(path) = &args.record {
        let episodes = measured.iter().flat_map(|one| &one.evaluation.rollout.episodes);
        record(path, &episodes.collect::<Vec<_>>())?;
    }
    if let Some(path) = &args.outcomes {
        let lines: Vec<String> =
            measured.iter().map(|one| lines_of(&one.outcomes)).collect::<Result<_, _>>()?;
        write_file(path, lines.concat().as_bytes())?;
    }
    if args.json {
        for one in &measured {
            report::line(&one.to_json()?.to_string());
        }
        return Ok(ExitCode::Success);
    }
    show(&measured);
    Ok(ExitCode::Success)
}

/// What one run, or one configuration, was found to be.
struct Measured {
    name: Option<String>,
    held_out: HeldOutTasks,
    evaluation: Evaluation,
    outcomes: Vec<Outcome>,
}

fn measure(args: &EvalArgs, run: Option<&Path>, device: Device) -> anyhow::Result<Measured> {
    let (config, step) = config_and_step(&args.config, run, args.step)?;
    let (config, mut team) = assemble(config, device)?;
    team.open_distant(&config, false)?;
    say_caveats(&team);
    let held_out = held_out(args, &config);
    situations::warn(&team, held_out.split);
    let began = unix_seconds();
    let evaluation = evaluate(&team, held_out, &config)?;
    let span = (began, unix_seconds());
    let outcomes = outcomes_of(&evaluation.rollout, step, held_out.answers);
    let name = run.map(|run| run.display().to_string());
    if let Some(path) = &args.inspect_log {
        let examined = examined(&team, &config, device, (name.clone(), step), held_out)?;
        let log = Log {
            examined: &examined,
            held_out,
            evaluation: &evaluation,
            outcomes: &outcomes,
            span,
        };
        log.write(path)?;
        let (count, path) = (evaluation.rollout.episodes.len(), path.display());
        report::note(&format!("wrote {count} episodes as a log of Inspect's: {path}"));
    }
    Ok(Measured { name, held_out, evaluation, outcomes })
}

/// Who is examined, for a log.
fn examined(
    team: &Team,
    config: &Config,
    device: Device,
    of: (Option<String>, Option<usize>),
    held_out: HeldOutTasks,
) -> anyhow::Result<Examined> {
    let manifest = manifest(config, Settled::of(config), 0, team, device)?;
    Ok(Examined::of(team, config, manifest, of, held_out.split))
}

/// Which tasks are asked for, and how they are answered.
pub(super) fn held_out(args: &EvalArgs, config: &Config) -> HeldOutTasks {
    HeldOutTasks {
        split: args.split.into(),
        from: 0,
        tasks: args.tasks.map_or(config.validation.tasks, |tasks| tasks as usize),
        answers: match args.sampled || args.samples.is_some() {
            true => Answers::Sampled,
            false => Answers::Greedy,
        },
        samples: args.samples.unwrap_or(1) as usize,
        seed: Seed::new(config.run.seed).named("evaluation"),
    }
}

impl Measured {
    fn to_json(&self) -> anyhow::Result<serde_json::Value> {
        let mut shown = serde_json::to_value(self.evaluation.success)?;
        shown["standard_error"] = standard_error(&shares_of_tasks(self.of_trained())).into();
        shown["families"] = serde_json::to_value(&self.evaluation.families)?;
        if self.held_out.samples > 1 {
            shown["several"] = serde_json::to_value(Several::of(self.of_trained()))?;
            shown["several_by_family"] = serde_json::to_value(several_by_family(&self.outcomes))?;
        }
        if let Some(name) = &self.name {
            shown["run"] = name.as_str().into();
        }
        let answers = |(role, of_role): (String, RoleMetrics)| {
            let RoleMetrics { samples, accepted, cut, refused, .. } = of_role;
            let shares = json!({
                "answers": samples, "accepted": accepted, "cut": cut, "refused": refused
            });
            (role, shares)
        };
        shown["roles"] = self.roles().into_iter().map(answers).collect();
        let (mut policies, mut situations) = (BTreeMap::new(), BTreeMap::new());
        for Sample { policy, situation, .. } in &self.evaluation.rollout.samples {
            *policies.entry(policy).or_insert(0) += 1;
            if let Some(situation) = situation {
                *situations.entry(situation).or_insert(0) += 1;
            }
        }
        shown["policies"] = serde_json::to_value(policies)?;
        if !situations.is_empty() {
            shown["situations"] = serde_json::to_value(situations)?;
        }
        shown["spent"] = serde_json::to_value(self.evaluation.rollout.totals)?;
        Ok(shown)
    }

    /// What became of tasks of families that are learned from.
    fn of_trained(&self) -> impl Iterator<Item = &Outcome> {
        let trained = &self.evaluation.trained;
        self.outcomes.iter().filter(|outcome| trained.contains(&outcome.family))
    }

    /// What it took, on a line.
    fn spent(&self) -> String {
        let name = self.name.as_ref().map_or(String::new(), |name| format!("{name}: "));
        format!("  {name}{}", report::spent(&self.evaluation.rollout.totals))
    }

    /// The answers of each role.
    fn roles(&self) -> BTreeMap<String, RoleMetrics> {
        measure_roles(&self.evaluation.rollout.samples, 1.0)
    }

    /// What became of the answers of each role: how many there were, how many were accepted and
    /// how many the limit cut, and why others were refused.
    fn answers(&self) -> impl Iterator<Item = Vec<String>> {
        let of_role = |(role, metrics): (String, RoleMetrics)| {
            let name = self.name.as_ref().map_or(role.clone(), |name| format!("{name}, {role}"));
            let mut refused: Vec<(&String, &f64)> = metrics.refused.iter().collect();
            refused.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            let refused: Vec<String> = (refused.into_iter())
                .map(|(cause, share)| format!("{} {cause}", report::percent(*share)))
                .collect();
            let [accepted, cut] = [metrics.accepted, metrics.cut].map(report::percent);
            vec![name, metrics.samples.to_string(), accepted, cut, refused.join(", ")]
        };
        self.roles().into_iter().map(of_role)
    }

    /// What is measured, how, and what came of it; then the same for each family.
    fn rows(&self) -> Vec<Vec<String>> {
        let Evaluation { success, families, rollout, .. } = &self.evaluation;
        let HeldOutTasks { split, answers, samples, .. } = self.held_out;
        let answers = match (answers, samples) {
            (Answers::Greedy, _) => "greedy".to_owned(),
            (Answers::Sampled, 1) => "sampled".to_owned(),
            (Answers::Sampled, samples) => format!("{samples} sampled"),
        };
        let row = |what: String, success: &Success, several: Option<Several>, endings: String| {
            let mut cells = vec![what, answers.clone(), report::success(success)];
            cells.extend(several.iter().flat_map(|several| {
                let best = format!("{:.3}", several.best.mean);
                let shares = several.pass.iter().skip(1).map(|(_, pass)| pass);
                let percent = |share: &TaskMean| report::percent(share.mean);
                let majority = several.majority.as_ref().map_or("–".to_owned(), percent);
                shares.map(percent).chain([majority, best]).collect::<Vec<_>>()
            }));
            cells.extend([success.tasks.to_string(), endings]);
            cells
        };
        let of = |outcomes: Vec<&Outcome>| (samples > 1).then(|| Several::of(outcomes));
        let (counts, _) = count_endings(&rollout.episodes);
        let endings: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        let what = self.name.clone().map_or(split.to_string(), |name| format!("{name}, {split}"));
        let all = of(self.of_trained().collect());
        let mut rows = vec![row(what, success, all, endings.join(", "))];
        if families.len() > 1 {
            for (name, success) in families {
                let own = self.outcomes.iter().filter(|outcome| outcome.family == *name);
                rows.push(row(format!("  {name}"), success, of(own.collect()), String::new()));
            }
        }
        rows
    }
}

fn show(measured: &[Measured]) {
    let k = measured.first().map_or(1, |one| one.held_out.samples);
    let mut header: Vec<String> =
        ["tasks of", "answers", "solved (95 % interval)"].map(str::to_owned).to_vec();
    if k > 1 {
        header.extend(usual_ks(k).into_iter().skip(1).map(|j| format!("pass@{j}")));
        header.extend([format!("majority@{k}"), format!("best@{k}")]);
    }
    header.extend(["tasks", "endings"].map(str::to_owned));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = measured.iter().flat_map(Measured::rows).collect();
    report::table(&header, &rows);
    report::line("");
    let rows: Vec<Vec<String>> = measured.iter().flat_map(Measured::answers).collect();
    report::table(&["role", "answers", "accepted", "cut by the limit", "refused"], &rows);
    measured.iter().for_each(|one| report::line(&one.spent()));
    for one in measured {
        let episodes = &one.evaluation.rollout.episodes;
        for (cause, count) in count_endings(episodes).1 {
            let first = episodes.iter().find_map(|episode| match &episode.ending {
                Ending::Void { cause: other, message } if *other == cause => Some(message),
                _ => None,
            });
            let first = first.map(String::as_str).unwrap_or_default();
            report::line(&format!("  void: {count} by {cause}, the first: {first}"));
        }
    }
}

/// Write episodes as JSON lines.
fn record(path: &Path, episodes: &[&Episode]) -> anyhow::Result<()> {
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
    Ok(config_and_step(args, run, step)?.0)
}

/// The same, and the step of the checkpoint.
pub(super) fn config_and_step(
    args: &ConfigArgs,
    run: Option<&Path>,
    step: CheckpointName,
) -> anyhow::Result<(Config, Option<usize>)> {
    let Some(run) = run else { return Ok((load_config(args)?, None)) };
    let mut config = Config::load(Some(&find_config(run)?), &args.set)?;
    args.settle_plugins(&mut config)?;
    let checkpoint = checkpoint_of(run, step)?;
    use_policies(&mut config, &checkpoint.path, &args.set);
    Ok((config, Some(checkpoint.progress.step)))
}

pub(super) fn checkpoint_of(
    run: &Path,
    step: CheckpointName,
) -> Result<FoundCheckpoint, StorageError> {
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
        (CheckpointName::Best, Some((best, _))) if best != latest.progress.step => {
            report::note(&format!(
                "note: taking step {best}, the best on validation tasks; --step last takes step {}",
                latest.progress.step
            ));
            load_step(&checkpoints, best)
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
        let within = ["path", "lora.path", "tinker", "tinker.path"];
        let within = within.into_iter().map(|key| format!("{table}.{key}"));
        let places: Vec<String> = within.chain([table.clone()]).collect();
        let key = |text: &String| text.split_once('=').map(|(key, _)| key.trim().to_owned());
        if set.iter().filter_map(key).any(|key| places.contains(&key)) {
            continue;
        }
        let Some(policy) = config.policies.get_mut(&name) else { continue };
        let saved = Some(checkpoint.join("policies").join(name));
        if let Some(tinker) = &mut policy.tinker {
            tinker.path = saved;
            continue;
        }
        match policy.base {
            Some(_) => policy.lora.get_or_insert_default().path = saved,
            None => policy.path = saved,
        }
    }
}
