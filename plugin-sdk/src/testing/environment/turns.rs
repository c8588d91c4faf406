//! Turns: an episode is over within those that are advised.

use std::collections::BTreeMap;

use super::Examination;
use crate::testing::report::{Checked, Seen, require, skip};
use crate::testing::walk::Walk;
use crate::types::Status;

/// The expert needs no more turns of anybody than the environment advises.
pub fn check(examination: &Examination) -> Checked {
    if !examination.has_expert() {
        return skip("there is no expert who could need more turns than are advised");
    }
    let advised = examination.configuration.max_turns;
    let mut longest = 0;
    let solved = examination.experts.iter().filter(|walk| walk.status() == Status::Solved);
    for walk in solved {
        let (who, turns) = most_turns(walk);
        require(turns <= advised as usize, || {
            let place = walk.place();
            format!("the expert takes {turns} turns of {who} in {place}; {advised} are advised")
        })
        .seen(|| walk.reproducer())?;
        longest = longest.max(turns);
    }
    Ok(format!("the expert is done within {longest} turns; {advised} are advised"))
}

/// The seat with most turns in the walk, and how many. A kind of action may be a role
/// of its own.
fn most_turns(walk: &Walk) -> (String, usize) {
    let mut turns: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for one in walk.steps.iter().flat_map(|step| &step.deed.0) {
        *turns.entry((one.seat.to_string(), &one.action.kind)).or_default() += 1;
    }
    let most = turns.into_iter().max_by_key(|(_, turns)| *turns);
    most.map_or_else(Default::default, |((who, _), turns)| (format!("`{who}`"), turns))
}
