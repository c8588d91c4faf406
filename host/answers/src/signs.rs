//! What `±` stands for: one answer for each choice of signs.

use std::cell::Cell;

use crate::answer::{Answer, Chain, Joiner, Value};
use crate::term::Term;
use crate::verdict::Reason;

/// More signs than that are not written out.
const MOST_SIGNS: u32 = 4;

/// The answer with each `±` written out as a list, and no list in a list.
///
/// # Errors
/// If there are too many of them.
pub fn written_out(answer: Answer) -> Result<Answer, Reason> {
    let Answer::List(items, joiner) = answer else {
        let mut choices = choices(answer)?;
        return Ok(match choices.pop() {
            Some(only) if choices.is_empty() => only,
            last => {
                choices.extend(last);
                Answer::List(choices, Joiner::Or)
            }
        });
    };
    let mut flat = Vec::new();
    for item in items {
        match written_out(item)? {
            Answer::List(inner, _) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    Ok(Answer::List(flat, joiner))
}

/// One answer for each choice of signs. A `∓` goes with the `±` beside it; without one, each
/// `±` is a choice of its own.
fn choices(answer: Answer) -> Result<Vec<Answer>, Reason> {
    let (uppers, lowers) = (Cell::new(0_u32), Cell::new(0_u32));
    let count = |term: Term| {
        if let Term::PlusMinus { upper, .. } = &term {
            let count = if *upper { &uppers } else { &lowers };
            count.set(count.get() + 1);
        }
        term
    };
    let answer = answer.with_terms(&|term| term.rebuilt(&count));
    let signs = match (uppers.get(), lowers.get()) {
        (0, 0) => return Ok(vec![answer]),
        (_, 1..) => 1,
        (uppers, 0) if uppers <= MOST_SIGNS => uppers,
        _ => return Err(Reason::TooLarge),
    };
    let choice = |choice: u32| {
        let met = Cell::new(0_u32);
        let chosen = |term: Term| {
            let Term::PlusMinus { upper, term } = term else { return term };
            let bit = if signs == 1 { 0 } else { met.get() };
            met.set(met.get() + 1);
            if (choice >> bit & 1 == 0) == upper { *term } else { term.negative() }
        };
        answer.clone().with_terms(&|term| term.rebuilt(&chosen))
    };
    Ok((0..1 << signs).map(choice).collect())
}

impl Answer {
    /// This answer with every scalar replaced.
    #[must_use]
    pub fn with_terms(self, replace: &dyn Fn(Term) -> Term) -> Answer {
        let each = |answers: Vec<Answer>| -> Vec<Answer> {
            answers.into_iter().map(|answer| answer.with_terms(replace)).collect()
        };
        let boxed = |answer: Box<Answer>| Box::new(answer.with_terms(replace));
        match self {
            Answer::Value(value) => {
                Answer::Value(Value { term: replace(value.term), unit: value.unit })
            }
            Answer::List(items, joiner) => Answer::List(each(items), joiner),
            Answer::Tuple { open, items, close } => {
                Answer::Tuple { open, items: each(items), close }
            }
            Answer::Set(items) => Answer::Set(each(items)),
            Answer::Builder(element, condition) => {
                Answer::Builder(boxed(element), boxed(condition))
            }
            Answer::Combined(left, operation, right) => {
                Answer::Combined(boxed(left), operation, boxed(right))
            }
            Answer::Matrix { bars, rows } => {
                Answer::Matrix { bars, rows: rows.into_iter().map(each).collect() }
            }
            Answer::Relations(chain) => {
                let rest = chain.rest.into_iter();
                let rest = rest.map(|(relation, side)| (relation, side.with_terms(replace)));
                Answer::Relations(Chain { first: boxed(chain.first), rest: rest.collect() })
            }
            Answer::Ratio(parts, unit) => {
                Answer::Ratio(parts.into_iter().map(replace).collect(), unit)
            }
            same @ (Answer::Known(_) | Answer::Digits(..) | Answer::Words(_)) => same,
        }
    }
}
