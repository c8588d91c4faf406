//! `host train`: the whole way from a configuration to a trained team.

use std::path::Path;

use super::args::TrainArgs;
use super::{load_config, report};
use crate::checkpoint::load_latest;
use crate::config::Config;
use crate::error::ExitCode;
use crate::imitation::imitate;
use crate::metrics::Success;
use crate::plugin::Plugin;
use crate::policy::{Device, PolicyError};
use crate::run::{Manifest, PluginEntry, PolicyEntry, RunFolder, Summary};
use crate::team::Team;
use crate::training::{Record, Training, plan, settle_learning_rate};

pub fn run(
    args: TrainArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let resumed = args.resume.as_deref().map(RunFolder::open).transpose()?;
    let config = match &resumed {
        Some(folder) => Config::load(Some(&folder.config_path()), &[])?,
        None => load_config(&args.config)?,
    };
    let device = device()?;
    let team = Team::assemble(&config, device)?;
    let config = settle_learning_rate(&team.resolve(&config), &team)?;
    if args.print_config {
        report::line(config.to_toml().trim_end());
        return Ok(ExitCode::Success);
    }
    let config = config.anchored();
    let plan = plan(&config, &team)?;
    report::note(&plan.to_string());
    let folder = match resumed {
        Some(folder) => folder,
        None => RunFolder::create(&config, &derived_name(&team))?,
    };
    announce(&folder);
    folder.settle_manifest(&manifest(&config, &team, device)?)?;
    let config = Config { train: plan.settle(&config.train), ..config };
    let mut training = match load_latest(&folder.checkpoints())? {
        Some(checkpoint) => Training::resume(config, team, folder, checkpoint)?,
        None => begin(config, team, folder)?,
    };
    training.verify_logprobs(args.verify_logprobs);
    let (summary, folder) = train(training)?;
    conclude(&summary, folder.path());
    Ok(ExitCode::Success)
}

/// The loop, with a bar.
fn train(mut training: Training) -> anyhow::Result<(Summary, RunFolder)> {
    let (done, steps) = (training.progress().step, training.steps());
    let bar = report::Bar::new("AT-GRPO", done, steps, "steps");
    bar.milestone(&format!(
        "test tasks solved before training: {}",
        report::success(&training.progress().before.greedy)
    ));
    while !training.is_done() {
        let record = training.step()?;
        bar.step_to(record.step, describe(&record));
        milestones(&bar, &record);
    }
    bar.finish();
    Ok(training.finish()?)
}

/// Warm-start the policies that ask for it and begin.
fn begin(config: Config, mut team: Team, folder: RunFolder) -> anyhow::Result<Training> {
    let from_scratch = |name: &String| config.trains(name) && config.is_random(name);
    if config.imitation.enabled && team.policies.keys().any(from_scratch) {
        warm_start(&config, &mut team)?;
    }
    Ok(Training::begin(config, team, folder)?)
}

/// Imitate the expert, with a bar.
pub fn warm_start(config: &Config, team: &mut Team) -> anyhow::Result<()> {
    let bar = report::Bar::new("warm start", 0, config.imitation.max_steps, "steps at most");
    let end = imitate(team, config, |now| {
        bar.step_to(
            now.step,
            format!("loss {:.3}, solved {}", now.loss, report::percent(now.success.success)),
        );
    })?;
    bar.milestone(&format!(
        "warm start: {} steps of imitation, {} of {} held-out tasks solved",
        end.step,
        report::percent(end.success.success),
        end.success.tasks
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
            "step {:4}: held-out success {}{sampled}",
            record.step,
            report::success(&validation.greedy)
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
    format!("{}-{}", team.stage.environment.name(), team.stage.workflow.name())
}

fn announce(folder: &RunFolder) {
    report::note(&format!(
        "run {}; `host train {}` repeats it",
        folder.path().display(),
        folder.config_path().display()
    ));
}

fn manifest(config: &Config, team: &Team, device: Device) -> anyhow::Result<Manifest> {
    let entry = |name: &str, version: &str, plugin: &Plugin| PluginEntry {
        name: name.to_owned(),
        version: version.to_owned(),
        digest: plugin.digest().to_owned(),
    };
    let (environment, workflow) = (&team.stage.environment, &team.stage.workflow);
    let mut policies = Vec::new();
    for (name, roles) in team.cast.policies() {
        let (digest, parameters) = match team.cast.guests().get(&name) {
            Some(guest) => (guest.identity(), 0),
            None => {
                let policy = &team.policies[&name];
                (policy.digest()?, policy.parameter_count())
            }
        };
        policies.push(PolicyEntry { name, roles, digest, parameters });
    }
    Ok(Manifest {
        host: env!("CARGO_PKG_VERSION").to_owned(),
        seed: config.run.seed,
        device: device.to_string(),
        plugins: vec![
            entry(environment.name(), &environment.description().version, environment.plugin()),
            entry(workflow.name(), &workflow.description().version, workflow.plugin()),
        ],
        policies,
    })
}

fn conclude(summary: &Summary, folder: &Path) {
    report::line("");
    let row = |what: &str, success: &Success| {
        vec![what.to_owned(), report::success(success), report::tasks(success)]
    };
    report::table(
        &["test split", "solved (95 % interval)", "tasks"],
        &[row("before", &summary.before), row("after", &summary.after)],
    );
    report::line("");
    report::line(&format!(
        "  {} steps in {}, {} void episodes",
        summary.steps,
        report::duration(summary.seconds),
        summary.void_episodes
    ));
    report::line(&format!("  run folder: {}", folder.display()));
}
