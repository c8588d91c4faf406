//! `host verify`: whether a run's files are what its steps left.

mod bounds;
mod bundle;
mod kept;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::again::{Again, Obstacle, config_of, obstacle};
use super::report;
use bounds::Bounds;
use kept::Kept;
use troupe_cli::args::VerifyArgs;
use troupe_core::archive::find_config;
use troupe_core::config::{Budget, Config, Store};
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_core::storage::{StorageError, read_json};
use troupe_model::{Device, PolicyError};
use troupe_training::checkpoint::steps_of;
use troupe_training::manifest::Manifest;
use troupe_training::run::Link;
use troupe_training::verification::{Fault, chain_of, check, compare, plan};

/// What was found.
#[derive(Debug, Serialize)]
struct Verdict {
    faults: Vec<Fault>,
    /// Steps of the run, after the beginning.
    steps: usize,
    /// Those that were computed again.
    recomputed: Vec<usize>,
    /// The probability that one forged step, all that follows being made anew to fit, would have
    /// been found: of the step for which it is least.
    found: f64,
    /// What can be said of steps where last digits are others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bounds: Vec<Bounds>,
    /// Why not every step can be computed again to the bit, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_recomputed: Option<String>,
}

pub fn run(
    args: &VerifyArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = Config::load(Some(&find_config(&args.run)?), &[])?;
    let manifest = manifest_of(&args.run)?;
    if let Some(folder) = &args.bundle {
        return bundle::make(&args.run, &manifest, folder);
    }
    let mut faults = check(&args.run, Some(&manifest))?;
    let chain = chain_of(&args.run)?;
    let device = device()?;
    if faults.is_empty() {
        faults = Kept::of(&args.run, device)?.weights(&chain)?;
    }
    let mut verdict = Verdict {
        faults,
        steps: chain.len() - 1,
        recomputed: Vec::new(),
        found: 0.0,
        bounds: Vec::new(),
        not_recomputed: None,
    };
    // What is known to be broken is not worth computing.
    if args.steps > 0 && verdict.faults.is_empty() {
        let obstacle = obstacle(&manifest, &config, device)
            .filter(|obstacle| !args.anyway || !obstacle.can_be_ignored());
        let nor = match &obstacle {
            None | Some(Obstacle::Changed { .. }) => {
                recompute(args, &manifest, device, &chain, &mut verdict)?;
                None
            }
            // A card computes in other ways, and not only in other orders.
            Some(Obstacle::Digits { what: "processor", .. }) => {
                bound(args, &manifest, device, &mut verdict)?
            }
            Some(_) => None,
        };
        verdict.not_recomputed = obstacle.map(|obstacle| why(&obstacle, nor));
    }
    match args.json {
        true => report::line(&serde_json::to_string(&verdict)?),
        false => show(&verdict),
    }
    Ok(if verdict.faults.is_empty() { ExitCode::Success } else { ExitCode::Check })
}

/// Why not every step can be computed again to the bit, nor its weights bounded, and what computes
/// them even so.
fn why(obstacle: &Obstacle, nor: Option<&str>) -> String {
    let nor = nor.map(|nor| format!("; nor are its weights bounded: {nor}")).unwrap_or_default();
    let even_so = if obstacle.can_be_ignored() { " (--anyway computes even so)" } else { "" };
    format!("{obstacle}{nor}{even_so}")
}

fn manifest_of(run: &Path) -> Result<Manifest, StorageError> {
    read_json(&run.join("manifest.json"))
}

fn recompute(
    args: &VerifyArgs,
    manifest: &Manifest,
    device: Device,
    chain: &[Link],
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let mut checkpoints = steps_of(&args.run.join("checkpoints"))?;
    let since = manifest.changed_after().unwrap_or(0);
    checkpoints.retain(|step| *step >= since);
    let (eligible, chosen) = choose(args, &checkpoints, verdict.steps);
    let stretches = plan(&chosen, &checkpoints);
    let all: usize = stretches.iter().map(|(from, to)| to - from).sum();
    let bar = report::Bar::new("verify", 0, all, "steps");
    let again = Again { run: &args.run, manifest, device };
    for (from, to) in stretches {
        again.compute(from, to, |link| {
            verdict.recomputed.push(link.step);
            verdict.faults.extend(compare(&chain[link.step], link));
            bar.step_to(verdict.recomputed.len(), String::new());
        })?;
    }
    bar.finish();
    if !args.anyway {
        verdict.faults.extend(Kept::of(&args.run, device)?.best()?);
    }
    let everywhere = eligible.len() == verdict.steps;
    verdict.found = match everywhere {
        true => chosen.len() as f64 / verdict.steps.max(1) as f64,
        false => 0.0,
    };
    Ok(())
}

/// What stored answers make of checkpoints, where bits cannot be compared; why nothing.
fn bound(
    args: &VerifyArgs,
    manifest: &Manifest,
    device: Device,
    verdict: &mut Verdict,
) -> anyhow::Result<Option<&'static str>> {
    let config = config_of(&args.run, &args.run)?;
    if let Some(why) = unbounded(manifest, &config) {
        return Ok(Some(why));
    }
    let mut stretches = bounds::stretches(&args.run, &steps_of(&args.run.join("checkpoints"))?)?;
    let since = manifest.changed_after().unwrap_or(0);
    stretches
        .retain(|(from, to)| *from >= since && args.reach.is_none_or(|reach| to - from <= reach));
    if stretches.is_empty() {
        return Ok(Some(
            "it takes two checkpoints and all tables of the run up to the last (checkpoint.keep, \
             rollout.store_mib), and at most --reach steps between them",
        ));
    }
    draw(args).shuffle(&mut stretches);
    let again = Again { run: &args.run, manifest, device };
    for stretch in stretches.into_iter().take(args.steps) {
        let (bounds, faults) = bounds::compute(&again, &config, stretch)?;
        verdict.bounds.extend(bounds);
        verdict.faults.extend(faults);
    }
    Ok(None)
}

/// Why stored answers do not say what steps made of them, if they do not.
fn unbounded(manifest: &Manifest, config: &Config) -> Option<&'static str> {
    let mut stores = manifest.sessions_since_change().map(|session| session.store);
    let is_partial = config.rollout.store == Store::Kept || stores.any(|it| it == Store::Kept);
    let mut budgets = manifest.sessions_since_change().map(|session| &session.budget);
    let is_spent = |budget: &Budget| *budget != Budget::default();
    let families = config.families();
    let reasons = [
        (config.critics().next().is_some(), "critics judge its answers"),
        (is_partial, "not all answers were stored (rollout.store)"),
        (
            is_spent(&config.train.budget) || budgets.any(is_spent),
            "what was spent of its budget is not stored (train.budget)",
        ),
        (config.rollout.refill > 0, "its steps drew further tasks (rollout.refill)"),
        (config.rollout.staleness > 0, "its answers were drawn ahead (rollout.staleness)"),
        (
            families.iter().any(|family| !family.curriculum.settings.is_empty()),
            "which tasks were played depends on answers (curriculum)",
        ),
    ];
    reasons.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why)
}

/// What says which steps are drawn.
fn draw(args: &VerifyArgs) -> Seed {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    Seed::new(args.seed.unwrap_or_else(now)).named("verify")
}

/// The steps that can be computed again, and those that are.
fn choose(args: &VerifyArgs, checkpoints: &[usize], steps: usize) -> (Vec<usize>, Vec<usize>) {
    let is_reached = |step: &usize| {
        let before = checkpoints.iter().filter(|kept| *kept < step).max();
        before.is_some_and(|kept| args.reach.is_none_or(|reach| step - kept <= reach))
    };
    let eligible: Vec<usize> = (1..=steps).filter(is_reached).collect();
    let mut chosen = eligible.clone();
    draw(args).shuffle(&mut chosen);
    chosen.truncate(args.steps);
    (eligible, chosen)
}

fn show(verdict: &Verdict) {
    let Verdict { faults, steps, recomputed, found, bounds, not_recomputed } = verdict;
    for fault in faults {
        report::line(&format!("  ✗ {fault}"));
    }
    if faults.is_empty() {
        report::line(&format!(
            "  ✓ manifest, figures, tables, outcomes, checkpoints and summary are what {steps} \
             steps left, each tied to those before it"
        ));
    }
    if let Some(why) = not_recomputed {
        let what = match recomputed.is_empty() {
            true => "no step was computed again to the bit",
            false => "not every step can be computed again to the bit",
        };
        report::line(&format!("  – {what}: {why}"));
    }
    let within = |bounds: &&Bounds| !faults.iter().any(|fault| bounds.is_meant_by(fault));
    for Bounds { from, to, policy, differs, orders } in bounds.iter().filter(within) {
        report::line(&format!(
            "  ✓ steps {} to {to}, from the answers that the run stored: `{policy}` is within last \
             digits: {} of what it moved, two orders of summation {}",
            from + 1,
            bounds::percent(*differs),
            bounds::percent(*orders)
        ));
    }
    if !bounds.is_empty() {
        report::line(
            "  rewards and held-out figures are taken as they are stored: another processor draws \
             other answers",
        );
    }
    if !recomputed.is_empty() {
        let mark =
            if faults.is_empty() { "✓ and came out the same" } else { "✗ not all alike" };
        report::line(&format!("  {mark}: {} of {steps} steps computed again", recomputed.len()));
        report::line(&match found {
            0.0 => "  steps out of reach could have been forged".to_owned(),
            found => format!(
                "  a forged step, with all that follows made to fit, would have been found with a \
                 probability of at least {}",
                report::percent(*found)
            ),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::example;
    use troupe_training::manifest::Session;

    #[test]
    fn stored_answers_bound_weights_only_where_they_are_all_that_a_step_depends_on() {
        let found = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            let config = Config::load(None, &sets).unwrap();
            unbounded(&example(&config), &config)
        };
        assert_eq!(found(&[]), None);
        let ramp = "settings={size={from=3,to=5}}";
        for (set, named) in [
            ("rollout.store=kept".to_owned(), "rollout.store"),
            ("train.budget.samples=9".to_owned(), "train.budget"),
            ("rollout.refill=1".to_owned(), "rollout.refill"),
            ("rollout.staleness=1".to_owned(), "rollout.staleness"),
            (format!("curriculum.{ramp}"), "curriculum"),
            (
                format!("mix=[{{environment='a'}},{{environment='b',curriculum={{{ramp}}}}}]"),
                "curriculum",
            ),
        ] {
            assert!(found(&[&set]).is_some_and(|why| why.contains(named)), "{set}");
        }
        let whole = Config::default();
        let mut partly = example(&whole);
        partly.sessions[0].store = Store::Kept;
        assert!(unbounded(&partly, &whole).is_some());
        let (after, became) = (5, Some(String::new()));
        let since = Session { after, became, ..Session::of(&whole, after, 1) };
        partly.sessions.push(since);
        assert_eq!(unbounded(&partly, &whole), None, "only steps since the change are looked at");
    }

    #[test]
    fn anyway_is_suggested_only_where_it_computes_more() {
        let said = why(&Obstacle::Processes(2), Some("critics judge its answers"));
        assert!(said.contains("bounded: critics") && said.ends_with("(--anyway computes even so)"));
        let said = why(&Obstacle::Changed { after: 6 }, None);
        assert!(said.contains("steps up to 6") && !said.contains("--anyway"), "{said}");
    }
}
