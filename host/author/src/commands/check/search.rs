//! A look at a plugin, and further looks at other tasks and settings while there is time.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use plugin_sdk::testing::{Hunt, Report, Scope, Verdict};
use plugin_sdk::types::Setting;

use super::environment::ComponentEnvironment;
use super::workflow::ComponentWorkflow;
use super::{BUDGET, Effort};
use troupe_guests::plugin::{EnvironmentPlugin, WorkflowPlugin};
use troupe_terminal::Bar;

/// How long a hunt takes without `--minutes`.
const HUNT: Duration = Duration::from_mins(1);

/// Look at an environment, and hunt in it if that is wanted.
pub(super) fn environment(plugin: &EnvironmentPlugin, scope: Scope, effort: &Effort) -> Report {
    let bar: OnceCell<Bar> = OnceCell::new();
    let declared = &plugin.description().settings;
    let suits = |scope: &Scope| scope.suits_environment(&ComponentEnvironment::new(plugin));
    let mut report = rounds(&scope, declared, effort, suits, |scope, round| {
        let watch = |done: usize, all: usize, check: &str| {
            let bar = bar.get_or_init(|| Bar::new("check", 0, all, "checks"));
            bar.step_to(
                done,
                if round == 0 { check.to_owned() } else { format!("{check}, round {round}") },
            );
        };
        // Saved states are kept as long as the environment: each round forgets them.
        scope.watch_environment(&ComponentEnvironment::new(plugin), &watch)
    });
    bar.into_inner().into_iter().for_each(Bar::finish);
    if effort.hunt {
        report.merge(hunt(plugin, scope, effort));
    }
    report
}

/// Hunt for episodes that earn much and solve nothing.
fn hunt(plugin: &EnvironmentPlugin, scope: Scope, effort: &Effort) -> Report {
    let time = effort.minutes.map_or(HUNT, |minutes| Duration::from_secs_f64(60.0 * minutes));
    let bar: OnceCell<Bar> = OnceCell::new();
    let watch = |done: usize, all: usize, phase: &str| {
        bar.get_or_init(|| Bar::new("hunt", 0, all, "tasks")).step_to(done, phase.to_owned());
    };
    let scope = Scope { budget: Some(BUDGET.min(time)), ..scope };
    let hunt = Hunt { acts: usize::MAX, time: Some(time) };
    let report = scope.hunt(&ComponentEnvironment::new(plugin), hunt, &watch);
    bar.into_inner().into_iter().for_each(Bar::finish);
    report
}

/// Look at a workflow.
pub(super) fn workflow(plugin: &WorkflowPlugin, scope: Scope, effort: &Effort) -> Report {
    let suits = |scope: &Scope| scope.suits_workflow(&ComponentWorkflow::new(plugin));
    rounds(&scope, &plugin.description().settings, effort, suits, |scope, _| {
        scope.check_workflow(&ComponentWorkflow::new(plugin))
    })
}

/// Look once, and again elsewhere until the minutes are over or something is found.
fn rounds(
    scope: &Scope,
    declared: &[Setting],
    effort: &Effort,
    suits: impl Fn(&Scope) -> bool,
    look: impl Fn(&Scope, u32) -> Report,
) -> Report {
    let minutes = effort.minutes.filter(|_| !effort.hunt);
    let end = minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes));
    let left = || end.map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()));
    let first = Scope { budget: Some(BUDGET.max(left() / 2)), ..scope.clone() };
    let mut whole = look(&first, 0);
    let mut round = 1;
    while whole.passed() && !left().is_zero() {
        let elsewhere = scope.elsewhere(declared, round);
        let elsewhere = Scope { budget: Some(left().min(BUDGET)), ..elsewhere };
        // Not all settings go together.
        if suits(&elsewhere) {
            whole.merge(placed(look(&elsewhere, round), &elsewhere));
        }
        round += 1;
    }
    whole
}

/// The report, with where else faults were found that no episode shows.
fn placed(mut report: Report, scope: &Scope) -> Report {
    let faults = report.findings.iter_mut().filter(|it| it.verdict == Verdict::Failed);
    for finding in faults.filter(|finding| finding.reproducer.is_none()) {
        let set = scope.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let set = set.collect::<Vec<_>>().join(", ");
        finding.sentence += &format!(" (with tasks from {}; {set})", scope.from);
    }
    report
}
