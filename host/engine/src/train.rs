//! `host train`: the whole way from a configuration to a trained team.

mod advice;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::forecast::{Measurement, Prospect};
use super::inventory::manifest;
use super::ranks::meet;
use super::stop::StopSignal;
use super::{knock_out, load_config, report, say_caveats};
use advice::advise;
use troupe_cli::args::{ConfigArgs, TrainArgs};
use troupe_core::config::{Config, ConfigError, Dtype};
use troupe_core::error::ExitCode;
use troupe_core::forecast::MEASURED;
use troupe_model::{Device, PolicyError};
use troupe_tinker::TinkerPolicy;
use troupe_trainer::ranks::Ranks;
use troupe_training::checkpoint::{FoundCheckpoint, load_latest, steps_of};
use troupe_training::imitation::imitate;
use troupe_training::manifest::{Manifest, Settled};
use troupe_training::metrics::Success;
use troupe_training::rehearsal::{beginners, rehearse};
use troupe_training::run::{Change, RunFolder, Summary};
use troupe_training::team::{Team, with_shapes};
use troupe_training::training::{
    Record, Training, plan, plan_on_card, settle as settle_config, slow_dtype,
};

/// Says what came of a run.
type Tell = fn(&Summary, &Path);

/// What accompanies a run.
struct Way<'a> {
    stop: &'a StopSignal,
    tell: Tell,
    /// What its forecast is made of, if it has none yet.
    prospect: Option<&'a Prospect>,
}

pub fn run(
    mut args: TrainArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<u8> {
    if !args.from_tables.is_empty() {
        let runs: Vec<_> = args.from_tables.iter().map(|run| run.display().to_string()).collect();
        args.config.set.push(format!("rollout.tables={}", toml::Value::from(runs)));
    }
    let ranks = meet()?;
    let resumed = args.resume.as_deref().filter(|_| ranks.leads());
    let resumed = resumed.map(RunFolder::open).transpose()?;
    let earlier = resumed.as_ref().map(RunFolder::manifest).transpose()?.flatten();
    let config = ranks.agree(|| {
        let config = match &resumed {
            Some(folder) => config_of(folder, &args.config),
            None => load_config(&args.config),
        };
        config.map_err(anyhow::Error::from)
    })?;
    let config = if args.plan.is_some() { as_on_card(config) } else { config };
    let forecast = args.forecast.then(|| Measurement::of(&config)).transpose()?;
    let config = forecast.as_ref().map_or(config, Measurement::measured);
    let device = device()?;
    if args.print_config {
        report::line(&outlined(&config, device)?);
        return Ok(ExitCode::Success as u8);
    }
    let mut team = Team::assemble(&config, device)?;
    team.ranks = ranks.clone();
    let config = settle_config(&team.resolve(&config), &team)?;
    if let Some(gb) = args.plan {
        let memory = u64::from(gb.get()) * 1_000_000_000;
        report::line(&plan_on_card(&config, &team, memory)?.to_string());
        return Ok(ExitCode::Success as u8);
    }
    let config = config.anchored();
    say_caveats(&team);
    // Only rank 0 knows whether the run has begun.
    ranks.agree(|| match resumed {
        None => rehearse(&config, &team).map_err(anyhow::Error::from),
        Some(_) => Ok(()),
    })?;
    check_servers(&config, &team)?;
    let planned = ranks.agree(|| {
        anyhow::Ok(match &earlier {
            Some(earlier) => earlier.settled.apply(config.clone()),
            None => config.clone(),
        })
    })?;
    let plan = plan(&planned, &team)?;
    if !team.policies.is_empty() {
        report::note(&plan.to_string());
    }
    team.find_engines(&planned)?;
    let kept = resumed.as_ref().map(|folder| steps_of(&folder.checkpoints())).transpose()?;
    match kept.is_some_and(|steps| !steps.is_empty()) {
        true => team.reopen_distant(&planned)?,
        false => team.open_distant(&planned, true)?,
    }
    for (name, policy) in &team.distant {
        report::note(&format!("policy `{name}`: {}", policy.introduction()));
    }
    let folder = open(resumed, &config, &team)?;
    if forecast.is_none() {
        announce(&folder);
    }
    advise(&config, &team, &args.config.set);
    slow_dtype(&team).iter().for_each(|note| report::note(note));
    let settled = ranks.agree(|| anyhow::Ok(plan.settle(planned)))?;
    let checkpoint =
        ranks.agree(|| load_latest(&folder.checkpoints()).map_err(anyhow::Error::from))?;
    let after = checkpoint.as_ref().map_or(0, |found| found.progress.step);
    let manifest = manifest(&config, (Settled::of(&settled), after), &team, device)?;
    settle(&folder, &manifest, &config, args.accept_changes)?;
    ranks.check("plugins or policies", (&manifest.plugins, &manifest.policies))?;
    let stop =
        StopSignal::listen(format!("stopped; go on with {}", resume_command(folder.path())))?;
    let prospect = Prospect::of(&folder, &settled, &team);
    let tell = if forecast.is_some() { |_: &Summary, _: &Path| () } else { conclude };
    let way = Way { stop: &stop, tell, prospect: prospect.as_ref() };
    let path = folder.path().to_owned();
    let training = ready(settled, team, folder, checkpoint)?;
    let code = train_and_leave(training, way, (&ranks, args.verify_logprobs))?;
    let is_whole = code == ExitCode::Success as u8 && forecast.is_none();
    if is_whole && ranks.world() == 1 {
        knock_out::at_the_end(&path, &config, device)?;
    }
    if let Some((forecast, prospect)) = forecast.zip(prospect) {
        forecast.tell(&prospect)?;
    }
    Ok(code)
}

/// What a configuration resolves to: everything that plugins leave to the host is filled in.
pub fn outlined(config: &Config, device: Device) -> anyhow::Result<String> {
    let team = Team::outline(config, device)?;
    let config = settle_config(&team.resolve(config), &team)?;
    Ok(with_shapes(config, &team).to_annotated_toml().trim_end().to_owned())
}

/// The configuration with what a card chooses otherwise than this machine.
fn as_on_card(mut config: Config) -> Config {
    for policy in config.policies.values_mut() {
        policy.dtype = policy.dtype.map(|choice| choice.settle(Dtype::Bfloat16).into());
    }
    config
}

/// The run where it goes on, or at its beginning.
fn ready(
    config: Config,
    team: Team,
    folder: RunFolder,
    checkpoint: Option<FoundCheckpoint>,
) -> anyhow::Result<Training> {
    match checkpoint {
        Some(checkpoint) => go_on(config, team, folder, checkpoint),
        None => begin(config, team, folder),
    }
}

fn train_and_leave(
    mut training: Training,
    way: Way,
    (ranks, verify_logprobs): (&Ranks, bool),
) -> anyhow::Result<u8> {
    training.verify_logprobs(verify_logprobs);
    let distant = training.distant();
    let trained = train(training, way, ranks);
    leave(&distant);
    let code = trained?;
    // To the others, a rank that leaves early is lost.
    ranks.gather(())?;
    Ok(code)
}

/// The run's folder, which rank 0 makes and the others watch.
fn open(resumed: Option<RunFolder>, config: &Config, team: &Team) -> anyhow::Result<RunFolder> {
    let written = match resumed {
        None if team.ranks.leads() => Some(RunFolder::create(config, &derived_name(team))?),
        other => other,
    };
    let path = || written.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default();
    let path = team.ranks.agree(|| anyhow::Ok(path()))?;
    Ok(written.unwrap_or_else(|| RunFolder::watch(path)))
}

/// Write down what the run is made of, or compare it with what it was made of.
fn settle(
    folder: &RunFolder,
    manifest: &Manifest,
    config: &Config,
    accepted: bool,
) -> anyhow::Result<()> {
    if !folder.is_written_here() {
        return Ok(());
    }
    for difference in folder.settle_manifest(manifest, accepted)? {
        report::note(&format!("note: {difference}"));
    }
    if accepted {
        // What was granted anew is not asked about again.
        folder.write_config(config)?;
    }
    Ok(())
}

/// The configuration of a run, with what is granted anew.
fn config_of(folder: &RunFolder, args: &ConfigArgs) -> Result<Config, ConfigError> {
    let mut config = Config::load(Some(&folder.config_path()), &[])?;
    args.grant(&mut config);
    Ok(config)
}

/// The loop, with a bar, until it is done or asked to stop.
fn train(
    mut training: Training,
    Way { stop, tell, prospect }: Way,
    ranks: &Ranks,
) -> anyhow::Result<u8> {
    let (done, whole, unit) = training.reached();
    let bar = report::Bar::new("AT-GRPO", done, whole, unit);
    bar.milestone(&format!(
        "test tasks solved before training: {}",
        report::success(&training.progress().before.greedy)
    ));
    stop.heed();
    while !training.is_done() {
        // Whichever of them was asked, all stop after the same step.
        if let Some(code) = ranks.gather(stop.asked())?.into_iter().flatten().max() {
            bar.finish();
            let step = training.progress().step;
            let folder = training.stop()?;
            let resume = resume_command(folder.path());
            report::note(&format!("stopped and saved after step {step}; go on with {resume}"));
            return Ok(code);
        }
        let record = training.step()?;
        let described = describe(&record);
        bar.log(&format!("step {:4}: {described}", record.step));
        bar.step_to(training.reached().0, described);
        milestones(&bar, &record);
        if record.step == MEASURED {
            prospect.map_or(Ok(()), Prospect::keep)?;
        }
    }
    bar.finish();
    let (summary, folder) = training.finish()?;
    tell(&summary, folder.path());
    Ok(ExitCode::Success as u8)
}

/// Unload what is on servers, however the run ended; what cannot be is named.
fn leave(distant: &BTreeMap<String, Arc<TinkerPolicy>>) {
    for (name, policy) in distant {
        if let Err(failure) = policy.close() {
            report::note(&format!("note: the policy `{name}`: {failure}"));
        }
    }
}

fn resume_command(folder: &Path) -> String {
    format!("`host train --resume {}`", folder.display())
}

/// Go on from a checkpoint, and say what is amiss in the folder.
fn go_on(
    config: Config,
    team: Team,
    folder: RunFolder,
    checkpoint: FoundCheckpoint,
) -> anyhow::Result<Training> {
    for damage in &checkpoint.passed_over {
        report::note(&format!("note: {damage}; going back to step {}", checkpoint.progress.step));
    }
    if folder.is_written_here() {
        for damage in folder.metrics().check(checkpoint.progress.step)? {
            report::note(&format!("note: {damage}"));
        }
    }
    Ok(Training::resume(config, team, folder, checkpoint)?)
}

/// Warm-start the policies that ask for it and begin.
fn begin(config: Config, mut team: Team, folder: RunFolder) -> anyhow::Result<Training> {
    let beginners = beginners(&config, &team);
    if !beginners.is_empty() {
        warm_start(&config, &mut team, &beginners)?;
    }
    let tested = config.validation.tasks;
    let wait = report::Wait::new(format!("{tested} test tasks before training"));
    let begun = Training::begin(config, team, folder);
    wait.finish();
    Ok(begun?)
}

/// Have some policies imitate the expert, with a bar.
pub fn warm_start(
    config: &Config,
    team: &mut Team,
    pupils: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let bar = report::Bar::at_most("warm start", config.imitation.max_steps, "steps");
    let end = imitate(team, config, pupils, |now| {
        let described = format!(
            "loss {:.3}, solved {}, accepted {}",
            now.loss,
            report::percent(now.success.success),
            report::percent(now.accepted)
        );
        bar.log(&format!("warm start, step {:3}: {described}", now.step));
        bar.step_to(now.step, described);
    })?;
    bar.milestone(&format!(
        "warm start: {} steps of imitation, {} of {} held-out tasks solved, {} of the answers \
         accepted",
        end.step,
        report::percent(end.success.success),
        end.success.tasks,
        report::percent(end.accepted)
    ));
    bar.finish();
    Ok(())
}

fn describe(record: &Record) -> String {
    let rewards =
        record.roles.iter().map(|(role, metrics)| format!("{role} {:+.2}", metrics.reward.mean));
    let rewards: Vec<String> = rewards.collect();
    format!("reward {}", rewards.join(", "))
}

fn milestones(bar: &report::Bar, record: &Record) {
    for warning in &record.warnings {
        bar.milestone(&format!("step {:4}: warning: {warning}", record.step));
    }
    if let Some(validation) = &record.validation {
        let sampled = validation.sampled.as_ref().map_or(String::new(), |sampled| {
            format!(", sampled {}", report::percent(sampled.success))
        });
        bar.milestone(&format!(
            "step {:4}: held-out success {}{sampled}{}",
            record.step,
            report::success(&validation.greedy),
            report::by_family(&validation.families)
        ));
    }
    if let Some(difference) = record.largest_logprob_difference {
        bar.milestone(&format!(
            "step {:4}: largest |sampler − trainer| log-probability {difference:.2e}",
            record.step
        ));
    }
    let void: usize = record.void.values().sum();
    if void > 0 {
        let causes: Vec<String> =
            record.void.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        bar.milestone(&format!(
            "step {:4}: {void} of {} episodes void: {}",
            record.step,
            record.episodes,
            causes.join(", ")
        ));
    }
}

fn derived_name(team: &Team) -> String {
    match &team.families[..] {
        [only] => format!("{}-{}", only.scenario.environment.name(), only.scenario.workflow.name()),
        families => {
            let names: Vec<&str> =
                families.iter().map(|known| known.scenario.family.as_str()).collect();
            names.join("+").chars().filter(|c| !"/\\".contains(*c)).take(100).collect()
        }
    }
}

fn announce(folder: &RunFolder) {
    report::note(&format!(
        "run {}; `host train {}` repeats it",
        folder.path().display(),
        folder.config_path().display()
    ));
}

/// A run that would go back to states of an environment on a server that does not repeat itself
/// is refused.
fn check_servers(config: &Config, team: &Team) -> anyhow::Result<()> {
    for foreign in team.families.iter().filter_map(|family| family.scenario.environment.foreign()) {
        if !config.rollout.scheme.repeats_tasks() {
            foreign.check_forks()?;
        }
    }
    Ok(())
}

fn conclude(summary: &Summary, folder: &Path) {
    report::line("");
    let row = |what: &str, success: &Success| {
        vec![what.to_owned(), report::success(success), report::tasks(success)]
    };
    let mut rows = vec![row("before", &summary.before), row("after", &summary.after)];
    if let Some(best) = &summary.best {
        rows.push(row(&format!("best (step {})", best.step), &best.test));
    }
    if summary.families.len() > 1 {
        for (name, Change { before, after }) in &summary.families {
            rows.push(row(&format!("{name}, before"), before));
            rows.push(row(&format!("{name}, after"), after));
        }
    }
    report::table(&["test split", "solved (95 % interval)", "tasks"], &rows);
    report::line("");
    let taken_back = match summary.taken_back {
        0 => String::new(),
        count => format!(", {} made again more slowly", counted(count, "update")),
    };
    report::line(&format!(
        "  {} in {}, {}{taken_back}",
        counted(summary.steps, "step"),
        report::duration(summary.seconds),
        counted(summary.void_episodes, "void episode")
    ));
    report::line(&format!("  run folder: {}", folder.display()));
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
