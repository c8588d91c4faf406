//! `host imitate`: policies that answer as the environment's expert would, or
//! as another policy did.

use std::collections::BTreeSet;

use super::policy::check_free;
use super::{assemble, load_config, report, train};
use troupe_cli::args::ImitateArgs;
use troupe_core::config::{Config, ConfigError};
use troupe_core::error::ExitCode;
use troupe_model::{Device, PolicyError};
use troupe_training::imitation::{Recording, imitate_recording};
use troupe_training::rehearsal::pupils;
use troupe_training::team::Team;

pub fn run(
    args: ImitateArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = load_config(&args.config)?;
    // Read before anything that takes long.
    let recording = (!args.from.is_empty()).then(|| Recording::read(&args.from)).transpose()?;
    let (config, mut team) = assemble(config, device()?)?;
    let pupils = pupils(&config, &team);
    if pupils.is_empty() {
        return Err(nobody(&config).into());
    }
    // It plays while the others are warmed up.
    team.open_distant(&config, false)?;
    team.policies.keys().try_for_each(|name| check_free(&args.out.join(name), args.force))?;
    match recording {
        None => train::warm_start(&config, &mut team, &pupils)?,
        Some(recording) => learn_from(&recording, &config, &mut team, &pupils)?,
    }
    for (name, policy) in &team.policies {
        let folder = args.out.join(name);
        policy.save(&folder)?;
        report::line(&format!("{name}: {}", folder.display()));
    }
    Ok(ExitCode::Success)
}

/// No policy has weights here that could change.
fn nobody(config: &Config) -> ConfigError {
    let names: Vec<String> = config.policies.keys().map(|name| format!("`{name}`")).collect();
    ConfigError::Invalid {
        key: "policies".to_owned(),
        reason: format!(
            "none of them is trained here ({}), so there is nothing that could imitate; servers \
             have no warm start",
            names.join(", ")
        ),
    }
}

/// Imitate recorded answers, with a bar.
fn learn_from(
    recording: &Recording,
    config: &Config,
    team: &mut Team,
    pupils: &BTreeSet<String>,
) -> anyhow::Result<()> {
    recording.check(team, config)?;
    let found = recording.findings();
    report::note(&format!(
        "recordings: {} episodes read, {} of them held out and not used, {} solved; {} answers to \
         learn, {} duplicates and {} that were cut dropped",
        found.episodes,
        found.held_out,
        found.solved,
        found.answers,
        found.duplicates,
        found.unfinished
    ));
    let bar = report::Bar::at_most("imitation", config.imitation.max_steps, "steps");
    let end = imitate_recording(team, config, pupils, recording, |now| {
        let line = format!("loss {:.3}, solved {}", now.loss, report::percent(now.success.success));
        bar.step_to(now.step, line);
    })?;
    let (now, wanted) = (end.now, report::percent(config.imitation.success));
    let verdict = if end.reached {
        String::new()
    } else {
        format!(
            "; this is the best within {} steps, but not the {wanted} asked for: record more, \
             raise imitation.max_steps, or lower imitation.success",
            config.imitation.max_steps
        )
    };
    bar.milestone(&format!(
        "imitation: {} steps, loss {:.3}, {} of {} held-out tasks solved{verdict}",
        now.step,
        now.loss,
        report::percent(now.success.success),
        now.success.tasks
    ));
    bar.finish();
    Ok(())
}
