//! A solution must not pay more because it came later.

use crate::environment::Task;
use crate::testing::environment::{Examination, patience};
use crate::testing::report::{Objection, Seen, require};
use crate::testing::walk::{Deed, Walk};
use crate::types::{Seat, Status};

/// What a longer way may earn beyond the expert's: a share of the solution's worth.
const MARGIN: f64 = 0.01;

/// Do this first, then as the expert does.
pub fn finish(examination: &Examination, task: &Task, first: &[Deed]) -> Result<Walk, Objection> {
    let at_once = examination
        .expert_in(task)
        .is_some_and(|expert| expert.steps.first().is_some_and(|step| step.deed.0.len() > 1));
    let limit = first.len() + patience(&examination.configuration);
    Walk::take(&examination.team, task, limit, |walk| match first.get(walk.steps.len()) {
        Some(deed) => Some(deed.clone()),
        None => walk.advised(&examination.team, at_once),
    })
}

/// What the solution's seats have earned in a walk: the team's part once, and their own. What
/// another is paid for its part, such as a plan, it would also be paid at once.
pub fn sum(examination: &Examination, walk: &Walk, solution: &Walk) -> f64 {
    let contests = &examination.contests;
    let own = |seat: &Seat| -> f64 {
        walk.steps.iter().map(|step| step.deed.own_income(&step.outcome, seat, contests)).sum()
    };
    let team: f64 = walk.steps.iter().map(|step| step.outcome.for_team()).sum();
    team + solution.seats().iter().map(own).sum::<f64>()
}

/// A solution that took longer than the expert's has not earned more.
pub fn pays_no_more(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    let Some(expert) = examination.expert_in(&walk.task) else { return Ok(()) };
    let are_solutions = walk.status() == Status::Solved && expert.status() == Status::Solved;
    let (took, needs) = (walk.steps.len(), expert.steps.len());
    if !are_solutions || took <= needs {
        return Ok(());
    }
    let (earned, worth) = (sum(examination, walk, expert), sum(examination, expert, expert));
    require(earned - worth <= MARGIN * worth.abs().max(MARGIN), || {
        let place = walk.place();
        format!("a solution after {took} actions earned {earned:.3}, one after {needs} {worth:.3}, in {place}")
    })
    .seen(|| walk.reproducer())
}
