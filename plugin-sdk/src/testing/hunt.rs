//! A hunt for episodes that earn much and solve nothing: what a policy would find after a million
//! of them, looked for on purpose.
//!
//! A search over forks follows whatever is new or pays ([`search`]); short texts are made longer as
//! long as that pays, and tricks that have worked elsewhere are tried in every task ([`texts`]);
//! then a small policy learns from rewards alone ([`learner`]). None of them is paid for solving a
//! task: that only says what is a find. What looks suspicious is played again in full, judged like
//! any walk, and made short ([`suspects`], [`hole`]).

mod constant;
mod ground;
mod hole;
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

use super::environment::{EnvironmentUnderTest, Examination, counters, shortened, subject};
use super::report::{Checked, Report, Tried, finding, skip};
use super::walk::Walk;
use super::{Scope, Watch};
use crate::types::Status;
pub(super) use hole::Hole;
use quota::Quota;
use suspects::Suspects;

/// Tasks that are hunted in.
const TASKS: usize = 6;
/// Shares of a hunt: of texts, and of the search; the rest is the learner's.
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
            return Report::of("environment", vec![finding("description", Err(problem.into()))]);
        }
    };
    let mut report = Report::of(&subject(&description), Vec::new());
    match Examination::prepare(environment, description, scope) {
        Err(objection) => report.findings.push(finding("start", Err(objection))),
        Ok(examination) => {
            let caught = search_everywhere(&examination, effort, watch);
            // Its tasks and settings are those of the checks before it.
            let walks = caught.walks.len();
            report.tried = Tried { walks, steps: caught.acts, ..Tried::default() };
            report.findings.extend(Hole::ALL.map(|hole| {
                let found = finding(hole.name(), caught.told(&examination, hole));
                shortened(&examination, found, hole.judge())
            }));
        }
    }
    report.of_tasks_from(scope.from)
}

/// What a hunt brought home.
#[derive(Debug, Default)]
struct Caught {
    /// Walks in which a judge has found a fault.
    walks: Vec<Walk>,
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
    let counters = counters(&examination.strolls);
    let mut suspects = Suspects::new(examination, &quota, &counters);
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

impl Caught {
    /// The first fault of this kind in what was caught; else how the hunt went.
    fn told(&self, examination: &Examination, hole: Hole) -> Checked {
        self.walks.iter().try_for_each(|walk| hole.judge()(examination, walk))?;
        let Caught { acts, situations, nearest, learned, .. } = self;
        let tried = format!("none in {acts} actions and {situations} situations");
        if hole != Hole::UnsolvedIncome {
            return Ok(tried);
        }
        if !examination.experts.iter().any(|walk| walk.status() == Status::Solved) {
            return skip("no solution is known that an income could be compared with");
        }
        let nearest = match nearest {
            Some(share) => format!("{:.0} % of a solution's income", 100.0 * share),
            None => "nothing".to_owned(),
        };
        let learned = learned.as_ref().map(|told| format!("; {told}")).unwrap_or_default();
        Ok(format!("{tried}; the most without a solution was {nearest}{learned}"))
    }
}
