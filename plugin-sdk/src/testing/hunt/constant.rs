//! What solves a task without a look at it must not solve the others.

use crate::testing::environment::Examination;
use crate::testing::report::{Objection, Seen, require};
use crate::testing::walk::Walk;
use crate::types::Status;

/// Actions of the longest walk that may be blind.
pub const LONGEST: usize = 2;
/// Other tasks that are tried, of which so many are needed to tell.
const OTHERS: usize = 12;
const TELLING: usize = 3;

/// The same actions do not solve three in four of the tasks that the expert solves otherwise.
pub fn looks(examination: &Examination, walk: &Walk) -> Result<(), Objection> {
    if walk.status() != Status::Solved || walk.steps.len() > LONGEST {
        return Ok(());
    }
    let own = examination.expert_in(&walk.task).map(deeds);
    if own.as_ref() == Some(&deeds(walk)) {
        return Ok(());
    }
    let others = examination.experts.iter().filter(|expert| {
        expert.task != walk.task && expert.status() == Status::Solved && Some(deeds(expert)) != own
    });
    let (mut tried, mut solved) = (0, 0);
    for expert in others.take(OTHERS) {
        let mut same = walk.steps.iter().map(|step| step.deed.clone());
        let there = Walk::take(&examination.team, &expert.task, LONGEST, |_| same.next())?;
        tried += 1;
        solved += usize::from(there.status() == Status::Solved);
    }
    require(tried < TELLING || 4 * solved < 3 * tried, || {
        let words: Vec<String> = walk.steps.iter().map(|step| step.deed.words()).collect();
        let said: String = words.join("`, `").chars().take(120).collect();
        format!("`{said}` solves {solved} of {tried} other tasks whose solutions differ")
    })
    .seen(|| walk.reproducer())
}

/// What is said in a walk.
fn deeds(walk: &Walk) -> Vec<String> {
    walk.steps.iter().map(|step| step.deed.words()).collect()
}
