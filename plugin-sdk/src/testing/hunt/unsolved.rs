//! Not to solve a task must not pay like solving it, whatever is done instead.

use crate::testing::environment::{Examination, ROUNDING, has_done_its_part, shares, worth};
use crate::testing::report::{Objection, Seen, require};
use crate::testing::walk::Walk;
use crate::types::{Seat, Status};

/// What a seat that the expert's solution pays was paid without one.
///
/// Where roles are not named, the expert is one seat that does everything; a role beside it is paid
/// for its part, such as a good plan, also if another fails. So each of its two incomes, its own
/// and the team's, is held against the solution alone.
pub fn income(examination: &Examination, seat: &Seat, team: f64, all: f64) -> f64 {
    if shares(&examination.team, seat) { all } else { team.max(all - team) }
}

/// The walk earns nobody what a solution pays, if it is none.
pub fn pays_less(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    let Examination { team, contests, .. } = examination;
    let expert = examination.expert_in(&walk.task);
    let Some(expert) = expert.filter(|expert| expert.status() == Status::Solved) else {
        return Ok(());
    };
    // A walk that was merely cut short may not have paid yet for taking long.
    let is_short = walk.status() == Status::Ongoing && walk.steps.len() < expert.steps.len();
    if walk.status() == Status::Solved || is_short {
        return Ok(());
    }
    let everybody: f64 = walk.steps.iter().map(|step| step.outcome.for_team()).sum();
    for seat in walk.seats() {
        let solved = worth(examination, &seat, expert);
        let earned = income(examination, &seat, everybody, walk.total(&seat, contests));
        if solved <= ROUNDING || (team.has(&seat) && has_done_its_part(&seat, walk, expert)) {
            continue;
        }
        require(earned < solved - ROUNDING, || {
            let place = walk.place();
            format!(
                "without a solution {seat} earned {earned:.3}, with one {solved:.3}, in {place}"
            )
        })
        .seen(|| walk.reproducer())?;
    }
    Ok(())
}
