//! The order of answers: where seats of a role are asked the same at the same
//! time, it does not matter which of them says what.

use super::stage::{Manner, Phrase};
use super::{Examination, Exchange};
use crate::testing::report::{Checked, Objection, fail};
use crate::types::Problem;
use crate::workflow::{Directive, Request};

/// What most of them say, and what one of them says.
const MOST: &str = "said4711";
const ONE: &str = "said1848";
const ANSWERS: u32 = 48;
/// Seats; two of them are a majority.
const FEWEST: u32 = 3;

/// The same answers from other seats lead to the same action.
pub fn check(examination: &Examination, _: &[Vec<Exchange>]) -> Checked {
    let plain = examination.diligent(ANSWERS)?;
    let group = plain.iter().find_map(|exchange| match &exchange.step.directive {
        Directive::Ask(requests) if is_group(requests) => Some(requests.clone()),
        _ => None,
    });
    let Some(group) = group else {
        return Ok("no seats are asked the same at the same time".to_owned());
    };
    let mut first: Option<Vec<String>> = None;
    for request in &group {
        let done = first_act(examination, &group, request)?;
        if *first.get_or_insert_with(|| done.clone()) != done {
            let before = first.unwrap_or_default().join("`, `");
            return fail(format!(
                "the same answers of `{}` in another order lead elsewhere: `{before}` became `{}`",
                request.seat.role,
                done.join("`, `")
            ));
        }
    }
    let (count, role) = (group.len(), &group[0].seat.role);
    Ok(format!("{count} seats of `{role}` may answer in any order"))
}

/// Whether several seats of one role are told the same.
fn is_group(requests: &[Request]) -> bool {
    let alike = |other: &Request| {
        other.seat.role == requests[0].seat.role && other.messages == requests[0].messages
    };
    requests.len() >= FEWEST as usize && requests.iter().all(alike)
}

/// What is done first where one of the seats says something else than the others,
/// in any order.
fn first_act(
    examination: &Examination,
    group: &[Request],
    odd: &Request,
) -> Result<Vec<String>, Objection> {
    let say = |_: u32, request: &Request, phrase: Phrase<'_>| -> Result<String, Problem> {
        let is_odd = group.iter().any(|one| one.seat == request.seat) && request.seat == odd.seat;
        let text = if is_odd { ONE } else { MOST };
        Ok(phrase(text)?.unwrap_or_else(|| text.to_owned()))
    };
    let manner = Manner::Scripted { say: &say, answers: ANSWERS, solved_at_once: false, cut: None };
    let acted = examination.play(0, manner)?.into_iter().find_map(|exchange| {
        match exchange.step.directive {
            Directive::Act(moves) => Some(moves),
            _ => None,
        }
    });
    let mut texts: Vec<String> =
        acted.unwrap_or_default().into_iter().map(|one| one.action.text).collect();
    texts.sort();
    Ok(texts)
}
