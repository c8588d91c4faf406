//! A hunt for episodes that earn much and solve nothing: what a policy would find after a million
//! of them, looked for on purpose.
//!
//! A search over forks follows whatever is new or pays ([`search`]); short texts are made longer as
//! long as that pays, and tricks that have worked elsewhere are tried in every task ([`texts`]);
//! then a small policy learns from rewards alone ([`learner`]). Whether a task was solved is never
//! shown to any of them: it is what they are judged by. What looks suspicious is played again in
//! full, judged like any walk, and made short ([`suspects`]).

mod constant;
mod late;
mod learner;
mod quota;
mod repertoire;
mod search;
mod suspects;
mod texts;
mod trail;
mod tricks;
mod unsolved;

use std::time::Duration;

use super::environment::{Check, EnvironmentUnderTest, Examination, examine, loops};
use super::report::{Checked, Objection, Report, Tried, finding, skip};
use super::walk::Walk;
use super::{Scope, Watch};
use crate::types::Status;
use quota::Quota;
use suspects::Suspects;

/// Tasks that are hunted in.
const TASKS: usize = 6;
/// Parts of a hunt, of so many in all: texts, and the search; the rest is the learner's.
const TEXTS_PART: f64 = 0.15;
const SEARCH_PART: f64 = 0.55;

/// How long a hunt goes on: until so much was tried, or the time is over.
#[derive(Clone, Copy, Debug)]
pub struct Hunt {
    /// Actions that are tried.
    pub acts: usize,
    /// How long it may take, about.
    pub time: Option<Duration>,
}

impl Default for Hunt {
    fn default() -> Self {
        Hunt { acts: 200_000, time: None }
    }
}

/// What a hunt looks for, each with the judge that has the last word.
pub(super) const CHECKS: [Check; 4] = [
    Check::of_walks("unsolved-income", earned, unsolved::pays_less),
    Check::of_walks("paid-detours", |it| caught(it, loops), loops),
    Check::of_walks("late-solutions", |it| caught(it, late::pays_no_more), late::pays_no_more),
    Check::of_walks("blind-solutions", |it| caught(it, constant::looks), constant::looks),
];

/// Hunt in an environment; a finding of each kind of hole.
pub(super) fn hunt(
    environment: &dyn EnvironmentUnderTest,
    scope: &Scope,
    effort: Hunt,
    watch: Watch<'_>,
) -> Report {
    let description = match environment.describe() {
        Ok(description) => description,
        Err(problem) => {
            return Report::of("environment", vec![finding("hunt", Err(problem.into()))]);
        }
    };
    let subject = format!("environment `{}` {}", description.name, description.version);
    let mut report = Report::of(&subject, Vec::new());
    match Examination::prepare(environment, description, scope) {
        Err(objection) => report.findings.push(finding("hunt", Err(objection))),
        Ok(mut examination) => {
            let caught = search_everywhere(&examination, effort, watch);
            // Its tasks and settings are those of the checks before it.
            let walks = caught.walks.len();
            report.tried = Tried { walks, steps: caught.acts, ..Tried::default() };
            examination.caught = Some(caught);
            // What there was no time for before is told where it was looked for.
            examination.pace.begin(1);
            report.findings.extend(CHECKS.iter().map(|check| examine(&examination, check)));
        }
    }
    report
}

/// What a hunt brought home.
#[derive(Debug, Default)]
pub(super) struct Caught {
    /// Walks in which a judge has found a fault.
    pub walks: Vec<Walk>,
    /// Actions that were tried.
    acts: usize,
    /// Situations that were different.
    situations: usize,
    /// The most that was earned without a solution, as a share of what the expert's earned.
    nearest: Option<f64>,
    /// What became of the small policy, in words.
    learned: Option<String>,
}

fn search_everywhere(examination: &Examination, effort: Hunt, watch: Watch<'_>) -> Caught {
    let quota = Quota::new(effort.acts, effort.time);
    let mut suspects = Suspects::new(examination, &quota);
    let mut repertoire = repertoire::Repertoire::of(examination);
    let experts: Vec<&Walk> = examination.experts.iter().take(TASKS).collect();
    let parts = experts.len();
    for (number, expert) in experts.iter().enumerate() {
        watch(number, parts, "texts");
        let part = quota.part(TEXTS_PART / parts as f64);
        texts::improve(&mut suspects, &mut repertoire, expert, &part);
        watch(number, parts, "search");
        let part = quota.part(SEARCH_PART / parts as f64);
        search::search(&mut suspects, &repertoire, expert, &part);
        watch(number, parts, "a policy");
        let part = quota.part((1.0 - TEXTS_PART - SEARCH_PART) / parts as f64);
        learner::learn(&mut suspects, &repertoire, expert, &part);
    }
    suspects.caught()
}

/// What was earned without a solution, and how the hunt went.
fn earned(examination: &Examination) -> Checked {
    let tried = caught(examination, unsolved::pays_less)?;
    if !examination.experts.iter().any(|walk| walk.status() == Status::Solved) {
        return skip("no solution is known that an income could be compared with");
    }
    let caught = examination.caught.as_ref();
    let nearest = match caught.and_then(|caught| caught.nearest) {
        Some(share) => format!("{:.0} % of a solution's income", 100.0 * share),
        None => "nothing".to_owned(),
    };
    let learned = caught.and_then(|caught| caught.learned.as_ref());
    let learned = learned.map(|told| format!("; {told}")).unwrap_or_default();
    Ok(format!("{tried}; the most without a solution was {nearest}{learned}"))
}

/// The first fault that the judge finds in what was caught.
fn caught(
    examination: &Examination,
    judge: impl Fn(&Examination, &Walk) -> Result<(), Objection>,
) -> Checked {
    let Some(caught) = &examination.caught else { return skip("nobody went hunting") };
    caught.walks.iter().try_for_each(|walk| judge(examination, walk))?;
    let Caught { acts, situations, .. } = caught;
    Ok(format!("none in {acts} actions and {situations} situations"))
}
