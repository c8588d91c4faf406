//! `--influence`: which groups a collapse came from, step by step.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Crossroads, Future, meddling_at, show};
use crate::again::Again;
use crate::report;
use troupe_cli::args::ReplayArgs;
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_terminal::UsageError;
use troupe_training::training::{Culprit, Effect, Influence, unfit_for_influence};

/// All that was found.
#[derive(Serialize)]
struct Traced {
    steps: Vec<Influence>,
    /// What the run said where it ended itself with the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    alarm: Option<String>,
    /// How the run goes on from the worst step as it was, and without the groups that were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    futures: Option<Futures>,
}

#[derive(Serialize)]
struct Futures {
    was: Future,
    is: Future,
}

/// Look at so many steps from one on, and then at how the worst of them would have gone without the
/// groups that were found.
pub fn look(again: &Again, args: &ReplayArgs, config: &Config) -> anyhow::Result<ExitCode> {
    if let Some(reason) = unfit_for_influence(config) {
        return Err(UsageError(format!("--influence is not for this run: {reason}")).into());
    }
    let road = Crossroads::reach(again, args.at, args)?;
    let (mut steps, mut alarm) = (Vec::new(), None);
    let bar = report::Bar::new("looking at", 0, args.steps as usize, "steps");
    for step in args.at..args.at.saturating_add(args.steps) {
        let Some((influence, ended)) = road.influence(step as usize - 1)? else { break };
        steps.push(influence);
        bar.step_to(steps.len(), String::new());
        alarm = ended.map(|alarm| alarm.to_string());
        if alarm.is_some() {
            break;
        }
    }
    bar.finish();
    if steps.is_empty() {
        let message = format!("the run ends with step {}; name one before", args.at - 1);
        return Err(UsageError(message).into());
    }
    let futures = futures(again, args, &steps)?;
    let found = Traced { steps, alarm, futures };
    match args.json {
        true => report::line(&serde_json::to_string(&found)?),
        false => tell(&found, args),
    }
    Ok(ExitCode::Success)
}

/// Both futures of the step that has lost the most to single groups.
fn futures(
    again: &Again,
    args: &ReplayArgs,
    steps: &[Influence],
) -> anyhow::Result<Option<Futures>> {
    let lost = steps.iter().filter(|step| !step.found.is_empty());
    let Some(worst) = lost.min_by(|one, other| one.effect.mean.total_cmp(&other.effect.mean))
    else {
        return Ok(None);
    };
    let groups: BTreeMap<usize, f32> =
        worst.found.iter().map(|culprit| (culprit.group, 0.0)).collect();
    let mut road = Crossroads::reach(again, worst.step as u32, args)?;
    road.steps = (args.at + args.steps) as usize - worst.step;
    let was = road.go_on(&[], meddling_at(worst.step, BTreeMap::new()))?;
    let is = road.go_on(&[], meddling_at(worst.step, groups))?;
    Ok(Some(Futures { was, is }))
}

fn points(effect: &Effect) -> String {
    let [mean, low, high] =
        [effect.mean, effect.interval.low, effect.interval.high].map(|share| 100.0 * share);
    format!("{mean:+.1} points ({low:+.1} to {high:+.1})")
}

fn tell(found: &Traced, args: &ReplayArgs) {
    let row = |step: &Influence| {
        let by = match (step.effect.is_harm(), step.found.len()) {
            (false, _) => "no harm that is shown".to_owned(),
            (true, 0) => format!("the step as a whole, no few of {} groups", step.groups),
            (true, count) => {
                format!("{count} of {} groups; without them {}", step.groups, points(&step.without))
            }
        };
        vec![step.step.to_string(), points(&step.effect), by]
    };
    report::table(
        &["step", "what it did to success", "by"],
        &found.steps.iter().map(row).collect::<Vec<_>>(),
    );
    let culprits = found.steps.iter().flat_map(|step| {
        step.found.iter().map(|culprit| culprit_row(step.step, culprit)).collect::<Vec<_>>()
    });
    let culprits: Vec<Vec<String>> = culprits.collect();
    if !culprits.is_empty() {
        let heads = ["step", "group", "task", "roles", "turn", "rows", "worth", "alone"];
        report::table(&heads, &culprits);
    }
    if let (Some(alarm), Some(Influence { step, .. })) = (&found.alarm, found.steps.last()) {
        report::line(&format!("  the run ended itself with step {step}: {alarm}"));
    }
    if let Some(Futures { was, is }) = &found.futures {
        show(was, is);
    }
    report::line(&format!(
        "  success: of {} validation tasks, four episodes of each before and after",
        args.tasks
    ));
}

fn culprit_row(step: usize, culprit: &Culprit) -> Vec<String> {
    let Culprit { group, task, roles, turn, rows, worth, effect } = culprit;
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    vec![
        step.to_string(),
        group.to_string(),
        task.to_string(),
        roles.join(", "),
        (turn + 1).to_string(),
        format!("{} to {}", rows.first().unwrap_or(&0), rows.last().unwrap_or(&0)),
        format!("{:+.2} to {:+.2}", worth.0, worth.1),
        points(effect),
    ]
}
