//! Rewards: numbers that add up, no paid loop, nothing better than a solution.

use super::returns::{self, Gain};
use super::words::Mask;
use super::{Examination, ROUNDING};
use crate::environment::{Award, Recipient, Seat, Status};
use crate::testing::report::{Checked, Objection, Seen, fail, require, skip};
use crate::testing::team::Team;
use crate::testing::walk::{BYSTANDER, Step, Walk};

/// Rewards are finite and belong to seats that play.
pub fn check_rewards(examination: &Examination) -> Checked {
    for walk in examination.pace.of(examination.all_walks()) {
        is_sound(examination, walk)?;
    }
    Ok("rewards are finite and somebody's".to_owned())
}

/// All awards of the walk are finite and for seats that play.
pub fn is_sound(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    for (index, step) in walk.steps.iter().enumerate() {
        let fault = |fault: String| {
            let (words, place) = (step.deed.words(), walk.place());
            Objection::from(format!("{fault}, after `{words}`, in {place}"))
        };
        let sound = step.outcome.check(step.deed.0.len()).and_then(|()| {
            step.outcome.awards.iter().try_for_each(|award| check_whom(examination, award))
        });
        sound.map_err(fault).seen(|| walk.reproducer_to(index + 1))?;
    }
    Ok(())
}

fn check_whom(examination: &Examination, Award { to, name, .. }: &Award) -> Result<(), String> {
    match to {
        Recipient::Seat(seat) if !examination.team.seats.contains(seat) => Err(format!(
            "the award `{name}` is for `{seat}`, who does not play (`configure` names who does)"
        )),
        _ => Ok(()),
    }
}

/// A way back to an earlier state must not have paid the seat that went it, nor
/// any other.
pub fn check_loops(examination: &Examination) -> Checked {
    let counters = returns::counters(&examination.strolls);
    let mut count = 0;
    // A search shows a loop with fewer actions than a stroll.
    for walk in examination.pace.of(examination.searches.iter().chain(examination.walks())) {
        pays_no_loop(examination, walk, &counters)?;
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

/// The walk has no way back that pays.
pub fn has_no_paid_loop(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    pays_no_loop(examination, walk, &returns::counters(&examination.strolls))
}

fn pays_no_loop(examination: &Examination, walk: &Walk, counters: &Mask) -> Result<(), Objection> {
    let contests = &examination.contests;
    let told = |gain: Gain, words: &str, times: &str| {
        (format!("{words} {:.3} for {}{times}", gain.value, gain.seat), gain.steps)
    };
    let back = || {
        let words = "a way back to an earlier state earned";
        returns::gain(walk, contests).map(|gain| told(gain, words, ""))
    };
    let over_and_over = || {
        let words = "the same actions over and over lead back to the same observation and earn";
        returns::steady_gain(walk, counters, contests).map(|gain| told(gain, words, " every time"))
    };
    let without_end = || {
        let words = "the same actions over and over solve nothing and earn";
        let expert = examination.expert_in(&walk.task)?;
        returns::endless_gain(walk, expert, contests).map(|gain| told(gain, words, " every time"))
    };
    match back().or_else(over_and_over).or_else(without_end) {
        None => Ok(()),
        Some((fault, steps)) => {
            fail(format!("{fault}, in {}", walk.place())).seen(|| walk.reproducer_to(steps))
        }
    }
}

/// Not to solve a task must not pay like solving it.
pub fn check_loitering(examination: &Examination) -> Checked {
    let mut compared = 0;
    for walk in examination.pace.of(examination.strolls.iter().chain(&examination.searches)) {
        compared += worse(examination, walk)?;
    }
    match compared {
        0 => skip("there is no solution whose worth could be compared with aimless actions'"),
        _ => Ok(format!("{compared} incomes without a solution were less than one with it")),
    }
}

/// Whether the walk earns less than a solution, if it is none.
pub fn is_worse(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    worse(examination, walk).map(drop)
}

/// A seat that always says nothing earns nothing of its own.
fn check_idle(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    let is_idle = |seat: &Seat| {
        let mut said = walk.deeds_of(seat).peekable();
        said.peek().is_some() && said.all(|action| action.text.trim().is_empty())
    };
    for seat in walk.seats().into_iter().filter(is_idle) {
        let own = |step: &Step| step.deed.own_income(&step.outcome, &seat, &examination.contests);
        let earned: f64 = walk.steps.iter().map(own).sum();
        require(earned <= ROUNDING, || {
            let place = walk.place();
            format!("{seat} says nothing and earns {earned:.3} of its own, in {place}")
        })
        .seen(|| walk.reproducer())?;
    }
    Ok(())
}

fn worse(examination: &Examination, walk: &Walk) -> Result<usize, Objection> {
    check_idle(examination, walk)?;
    match examination.expert_in(&walk.task) {
        Some(expert) if expert.status() == Status::Solved && walk.status() != Status::Solved => {
            check_worse(examination, walk, expert)
        }
        _ => Ok(0),
    }
}

/// No seat has earned by the walk what the solution is worth to it; how many
/// were compared.
fn check_worse(examination: &Examination, walk: &Walk, expert: &Walk) -> Result<usize, Objection> {
    let Examination { team, contests, .. } = examination;
    // A walk that was merely cut short may not have paid yet for taking long.
    if walk.status() == Status::Ongoing && walk.steps.len() < expert.steps.len() {
        return Ok(0);
    }
    let mut compared = 0;
    for seat in walk.seats() {
        let (shares, solved) = (shares(team, &seat), worth(examination, &seat, expert));
        let idle = walk.total(&seat, contests);
        let is_unpaid = solved <= 0.0 && (seat.role == BYSTANDER || idle <= ROUNDING);
        if (shares && is_unpaid) || (team.has(&seat) && has_done_its_part(&seat, walk, expert)) {
            continue;
        }
        require(idle < solved, || {
            let place = walk.place();
            format!(
                "aimless actions earned {idle:.3} for {seat}, a solution {solved:.3}, in {place}"
            )
        })
        .seen(|| walk.reproducer())?;
        compared += 1;
    }
    Ok(compared)
}

/// Whether the seat is paid as the expert's seats are: as one of them, or with everybody.
pub fn shares(team: &Team, seat: &Seat) -> bool {
    seat.role == BYSTANDER || team.has(seat)
}

/// What the expert's walk pays a seat; one outside the expert's team is compared with one that
/// does everything.
pub fn worth(examination: &Examination, seat: &Seat, expert: &Walk) -> f64 {
    let Examination { team, contests, .. } = examination;
    expert.total(if shares(team, seat) { seat } else { &team.seats[0] }, contests)
}

/// Whether the seat did all that the expert has it do, so that it was another
/// one's fault that nothing was solved.
pub fn has_done_its_part(seat: &Seat, walk: &Walk, expert: &Walk) -> bool {
    let mut done = walk.deeds_of(seat);
    let mut wanted = expert.deeds_of(seat).peekable();
    wanted.peek().is_some() && wanted.all(|deed| done.any(|other| other == deed))
}
