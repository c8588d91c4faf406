//! Rewards: numbers that add up, no paid loop, nothing better than a solution.

use super::{Examination, returns};
use crate::environment::{Award, Recipient, Status};
use crate::testing::report::{Checked, Objection, Seen, fail, require, skip};
use crate::testing::walk::{BYSTANDER, TESTER, Walk};

/// Rewards are finite and belong to somebody.
pub fn check_rewards(examination: &Examination) -> Checked {
    for walk in examination.all_walks() {
        for (index, step) in walk.steps.iter().enumerate() {
            let seen = || walk.reproducer_to(index + 1);
            let place = || format!("of `{}`, in {}", step.deed.action.text, walk.place());
            let effects = step.outcome.effects.len();
            require(effects == 1, || format!("one move had {effects} effects {}", place()))
                .seen(seen)?;
            for Award { to, name, value } in &step.outcome.awards {
                require(value.is_finite(), || {
                    format!("the reward `{name}` is not a finite number: {value} {}", place())
                })
                .seen(seen)?;
                require(!matches!(to, Recipient::Mover(1..)), || {
                    format!("the reward `{name}` is for a move that was not made {}", place())
                })
                .seen(seen)?;
            }
        }
    }
    Ok("rewards are finite and somebody's".to_owned())
}

/// Whoever comes back to where it was must not have earned on the way, nor
/// anybody else.
pub fn check_loops(examination: &Examination) -> Checked {
    let counters = returns::counters(&examination.strolls);
    let mut count = 0;
    // A search shows a loop with fewer actions than a stroll.
    for walk in examination.searches.iter().chain(examination.walks()) {
        let place = walk.place();
        if let Some(gain) = returns::gain(walk) {
            let (role, value) = (gain.role, gain.value);
            return fail(format!(
                "a way back to an earlier state earned {value:.3} for {role}, in {place}"
            ))
            .seen(|| walk.reproducer_to(gain.steps));
        }
        if let Some(gain) = returns::steady_gain(walk, &counters) {
            let (role, value) = (gain.role, gain.value);
            return fail(format!(
                "the same actions over and over lead back to the same observation and earn \
                 {value:.3} for {role} every time, in {place}"
            ))
            .seen(|| walk.reproducer_to(gain.steps));
        }
        count += returns::count(walk, &counters);
    }
    let goes_on = |walk: &Walk| {
        let outcomes = walk.steps.iter().map(|step| &step.outcome);
        outcomes
            .into_iter()
            .any(|outcome| outcome.is_accepted() && outcome.status == Status::Ongoing)
    };
    match count {
        0 if examination.all_walks().any(goes_on) => {
            skip("no walk came back to where it had been, so no loop was seen")
        }
        0 => Ok("there are no loops: every accepted action ended its episode".to_owned()),
        _ => Ok(format!("{count} ways back to where a walk had been earned nothing")),
    }
}

/// Not to solve a task must not pay like solving it.
pub fn check_loitering(examination: &Examination) -> Checked {
    let mut compared = 0;
    for expert in examination.experts.iter().filter(|walk| walk.status() == Status::Solved) {
        let others = examination.strolls.iter().chain(&examination.searches);
        let others = others.filter(|walk| walk.task == expert.task);
        for walk in others.filter(|walk| walk.status() != Status::Solved) {
            check_worse(walk, expert)?;
            compared += 1;
        }
    }
    match compared {
        0 => skip("there is no solution to compare aimless actions with"),
        _ => Ok(format!("{compared} walks that solved nothing earned less than a solution")),
    }
}

/// No role of the walk has earned what the solution is worth to it.
fn check_worse(walk: &Walk, expert: &Walk) -> Result<(), Objection> {
    // A walk that was merely cut short may not have paid yet for taking long.
    if walk.status() == Status::Ongoing && walk.steps.len() < expert.steps.len() {
        return Ok(());
    }
    for role in walk.roles() {
        let solved = expert.total(if role == BYSTANDER { BYSTANDER } else { TESTER });
        // Rewards may all be local; then a bystander earns nothing in either case.
        if role == BYSTANDER && solved <= 0.0 {
            continue;
        }
        let idle = walk.total(role);
        require(idle < solved, || {
            let place = walk.place();
            format!(
                "aimless actions earned {idle:.3} for {role}, a solution {solved:.3}, in {place}"
            )
        })
        .seen(|| walk.reproducer())?;
    }
    Ok(())
}
