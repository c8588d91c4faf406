//! Reach and end: roles that are asked, turns that come to an end.

use std::collections::BTreeSet;

use super::stage::{Manner, Phrase};
use super::{Examination, Exchange, SAID};
use crate::testing::report::{Checked, Objection, require};
use crate::types::Problem;
use crate::workflow::{Directive, Request, Status};

/// Answers within which a seat must act, and as many more for every seat.
const ANSWERS: u32 = 16;
const ANSWERS_PER_SEAT: u32 = 8;

/// Every role is asked at some time.
pub fn check_roles(examination: &Examination, rehearsals: &[Vec<Exchange>]) -> Checked {
    let diligent = examination.diligent(turn_limit(examination))?;
    let mut asked = BTreeSet::new();
    for exchange in rehearsals.iter().flatten().chain(&diligent) {
        let Directive::Ask(requests) = &exchange.step.directive else { continue };
        asked.extend(requests.iter().map(|request| request.seat.to_string()));
    }
    let roles = &examination.configuration.roles;
    for role in roles {
        let is_asked = asked.iter().any(|seat| seat.split('#').next() == Some(&role.name));
        require(is_asked, || {
            let count = rehearsals.len() + 1;
            format!("the role `{}` was never asked in {count} rehearsals", role.name)
        })?;
    }
    Ok(format!("{} seats of {} roles are asked", asked.len(), roles.len()))
}

/// However the roles answer, a seat acts or the session ends, and it ends
/// when the episode has.
pub fn check_turns(examination: &Examination, _: &[Vec<Exchange>]) -> Checked {
    let limit = turn_limit(examination);
    let silent = |_: u32, _: &Request, _: Phrase<'_>| Ok(String::new());
    let vague = |answer: u32, _: &Request, _: Phrase<'_>| Ok(format!("{SAID}{answer} {SAID}"));
    let ways: [(&str, super::stage::Say<'_>); 3] =
        [("as the expert", &expertly), ("nothing", &silent), ("what cannot be read", &vague)];
    let mut longest = 0;
    for (how, say) in ways {
        for solved_at_once in [false, true] {
            let manner = Manner::Scripted { say, answers: 2 * limit, solved_at_once, cut: None };
            let stretch = longest_stretch(&examination.play(0, manner)?);
            require(stretch < limit, || match solved_at_once {
                false => format!("nobody acts for {stretch} answers where the roles answer {how}"),
                true => format!(
                    "{stretch} answers are asked for without an end, also after the episode's, \
                     where the roles answer {how}"
                ),
            })?;
            longest = longest.max(stretch);
        }
    }
    Ok(format!("somebody acts, or it ends, after {longest} answers at most"))
}

/// What an expert says, or anything where it would say nothing.
pub fn expertly(answer: u32, _: &Request, phrase: Phrase<'_>) -> Result<String, Problem> {
    Ok(phrase(SAID)?.unwrap_or_else(|| format!("{SAID} {SAID}{answer}")))
}

impl Examination<'_> {
    /// A session in which all answer as the expert would.
    pub(super) fn diligent(&self, answers: u32) -> Result<Vec<Exchange>, Objection> {
        self.play(0, Manner::Scripted { say: &expertly, answers, solved_at_once: false, cut: None })
    }
}

fn turn_limit(examination: &Examination) -> u32 {
    let seats: u32 = examination.configuration.roles.iter().map(|role| role.seats).sum();
    ANSWERS + ANSWERS_PER_SEAT * seats
}

/// Answers in a row without an action, or after the end of the episode.
fn longest_stretch(exchanges: &[Exchange]) -> u32 {
    let (mut longest, mut stretch) = (0, 0);
    let mut is_over = false;
    for Exchange { event, step, .. } in exchanges {
        use crate::workflow::Event;
        match event {
            Event::Replied(_) => stretch += 1,
            Event::Acted(seen) if !is_over => {
                is_over = seen.status != Status::Ongoing;
                stretch = 0;
            }
            Event::Begun(_) | Event::Acted(_) | Event::Returned(_) => {}
        }
        if step.directive == Directive::Finish {
            break;
        }
        longest = longest.max(stretch);
    }
    longest
}
