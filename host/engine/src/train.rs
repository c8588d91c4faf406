//! `host train`: the whole way from a configuration to a trained team.

mod advice;
mod escort;
mod outset;
mod resumed;
mod telling;

use std::collections::BTreeSet;

use super::forecast::Measurement;
use super::ranks::meet;
use super::{knock_out, load_config, report, say_caveats};
use advice::advise;
use escort::Escort;
use outset::Outset;
use resumed::Resumed;
use telling::announce;
use troupe_cli::args::TrainArgs;
use troupe_core::config::{Config, Dtype};
use troupe_core::error::ExitCode;
use troupe_model::{Device, PolicyError};
use troupe_trainer::ranks::Ranks;
use troupe_training::imitation::imitate;
use troupe_training::rehearsal::rehearse;
use troupe_training::run::RunFolder;
use troupe_training::team::{Team, with_shapes};
use troupe_training::training;

pub fn run(
    mut args: TrainArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<u8> {
    set_tables(&mut args);
    let ranks = meet()?;
    let resumed = Resumed::find(args.resume.as_deref(), &ranks)?;
    let whole = configured(&args, &ranks, resumed.as_ref())?;
    let measurement = args.forecast.then(|| Measurement::of(&whole)).transpose()?;
    let asked = measurement.as_ref().map_or(whole, Measurement::measured);
    let device = device()?;
    if args.print_config {
        report::line(&outlined(&asked, device)?);
        return Ok(ExitCode::Success as u8);
    }
    let mut team = Team::assemble(&asked, device)?;
    team.ranks = ranks.clone();
    let resolved = training::settle(&team.resolve(&asked), &team)?;
    if let Some(gb) = args.plan {
        let memory = u64::from(gb.get()) * 1_000_000_000;
        report::line(&training::plan_on_card(&resolved, &team, memory)?.to_string());
        return Ok(ExitCode::Success as u8);
    }
    let config = resolved.anchored();
    let chosen = prepare(&config, &mut team, resumed.as_ref())?;
    let folder = open_folder(resumed, &config, &team)?;
    if !args.forecast {
        announce(&folder);
    }
    advise(&config, &team, &args.config.set);
    let outset = Outset::agreed(folder, chosen, &ranks)?;
    outset.settle_manifest(&config, &team, device, args.accept_changes)?;
    let escort = Escort::of(&outset, &team, measurement)?;
    let path = outset.folder.path().to_owned();
    let mut training = outset.start(team)?;
    training.verify_logprobs(args.verify_logprobs);
    let code = escort.see_through(training, &ranks)?;
    let is_whole = code == ExitCode::Success as u8 && !args.forecast;
    if is_whole && ranks.world() == 1 {
        knock_out::at_the_end(&path, &config, device)?;
    }
    escort.tell_forecast()?;
    Ok(code)
}

/// `--from-tables` as the setting that it stands for.
fn set_tables(args: &mut TrainArgs) {
    if args.from_tables.is_empty() {
        return;
    }
    let runs: Vec<_> = args.from_tables.iter().map(|run| run.display().to_string()).collect();
    args.config.set.push(format!("rollout.tables={}", toml::Value::from(runs)));
}

/// What is to be trained: as the flags describe it, or as the run that is resumed has it.
fn configured(
    args: &TrainArgs,
    ranks: &Ranks,
    resumed: Option<&Resumed>,
) -> anyhow::Result<Config> {
    let config = ranks.agree(|| {
        let config = match resumed {
            Some(run) => run.config(&args.config),
            None => load_config(&args.config),
        }?;
        config.check_end()?;
        anyhow::Ok(config)
    })?;
    Ok(if args.plan.is_some() { as_on_card(config) } else { config })
}

/// The configuration with what a card chooses otherwise than this machine.
fn as_on_card(mut config: Config) -> Config {
    for policy in config.policies.values_mut() {
        policy.dtype = policy.dtype.map(|choice| choice.settle(Dtype::Bfloat16).into());
    }
    config
}

/// What a configuration resolves to: everything that plugins leave to the host is filled in.
pub fn outlined(config: &Config, device: Device) -> anyhow::Result<String> {
    let team = Team::outline(config, device)?;
    let config = training::settle(&team.resolve(config), &team)?;
    Ok(with_shapes(config, &team).to_annotated_toml().trim_end().to_owned())
}

/// Make sure that the run can take place: it is rehearsed if it has not begun, it fits in memory,
/// and its servers do their part. Returns the configuration with what this process chose where that
/// is left to the machine.
fn prepare(config: &Config, team: &mut Team, resumed: Option<&Resumed>) -> anyhow::Result<Config> {
    say_caveats(team);
    // Only rank 0 knows whether the run has begun.
    team.ranks.agree(|| match resumed {
        None => rehearse(config, team).map_err(anyhow::Error::from),
        Some(_) => Ok(()),
    })?;
    check_servers(config, team)?;
    let as_begun = team.ranks.agree(|| {
        anyhow::Ok(match resumed {
            Some(run) => run.as_begun(config.clone()),
            None => config.clone(),
        })
    })?;
    let plan = training::plan(&as_begun, team)?;
    if !team.policies.is_empty() {
        report::note(&plan.to_string());
    }
    join_servers(&as_begun, team, resumed)?;
    Ok(plan.settle(as_begun))
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

/// Have the servers that draw answers, and those that train policies, be part of the team.
fn join_servers(config: &Config, team: &mut Team, resumed: Option<&Resumed>) -> anyhow::Result<()> {
    team.find_engines(config)?;
    match resumed.map(Resumed::has_steps).transpose()?.unwrap_or(false) {
        true => team.reopen_distant(config)?,
        false => team.open_distant(config, true)?,
    }
    for (name, policy) in &team.distant {
        report::note(&format!("policy `{name}`: {}", policy.introduction()));
    }
    Ok(())
}

/// The run's folder, which rank 0 makes and the others watch.
fn open_folder(
    resumed: Option<Resumed>,
    config: &Config,
    team: &Team,
) -> anyhow::Result<RunFolder> {
    let written = match resumed {
        None if team.ranks.leads() => Some(RunFolder::create(config, &derived_name(team))?),
        other => other.map(Resumed::into_folder),
    };
    let path = || written.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default();
    let path = team.ranks.agree(|| anyhow::Ok(path()))?;
    Ok(written.unwrap_or_else(|| RunFolder::watch(path)))
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
