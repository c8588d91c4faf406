//! What can be said and what is said: unreadable text, and the vocabulary.

use std::collections::HashSet;

use super::Examination;
use crate::testing::phrasebook::GARBAGE;
use crate::testing::report::{Checked, Objection, Seen, require, skip};
use crate::testing::walk::{BYSTANDER, Deed, Walk};
use crate::types::{Seat, Split};

/// Text that cannot be read is an outcome, and worth nothing, at the start of a
/// task and on the expert's way.
pub fn check_unreadable(examination: &Examination) -> Checked {
    let mut said = 0;
    for expert in examination.pace.of(examination.experts.iter().take(Split::ALL.len())) {
        for steps in [0, expert.steps.len() / 2, expert.steps.len().saturating_sub(1)] {
            for kind in &examination.description.actions {
                for (garbage, seat) in GARBAGE
                    .iter()
                    .flat_map(|it| examination.team.seats.iter().map(move |s| (it, s)))
                {
                    let deed = Deed::saying(&[(seat.clone(), &kind.name)], garbage);
                    let seen = expert.reproducer_to(steps);
                    let acts = [seen.acts.clone(), vec![deed.0.clone()]].concat();
                    say(examination, expert, steps, &deed).seen(|| seen.with(acts))?;
                    said += 1;
                }
            }
        }
    }
    match said {
        0 => skip("there is no task"),
        _ => Ok("unreadable text is an outcome, not a problem, and pays nobody".to_owned()),
    }
}

fn say(
    examination: &Examination,
    expert: &Walk,
    steps: usize,
    deed: &Deed,
) -> Result<(), Objection> {
    let team = &examination.team;
    let mut episode = expert.episode_at(team, steps)?;
    let outcome = deed.carry_out(&mut *episode)?;
    let kind = deed.0.first().map_or("", |one| &one.action.kind);
    let text = deed.words();
    let text = text.escape_debug();
    // An open-ended language may well accept anything.
    require(!outcome.is_accepted() || examination.configuration.vocabulary.is_empty(), || {
        format!("`{kind}` accepted \"{text}\"")
    })?;
    let bystander = Seat::new(BYSTANDER);
    let mut seats = team.seats.iter().chain([&bystander]);
    require(seats.all(|seat| deed.income(&outcome, seat, &examination.contests) <= 0.0), || {
        format!("`{kind}` paid for \"{text}\", which nobody can read")
    })
}

/// The vocabulary covers what was seen and shown.
pub fn check_vocabulary(examination: &Examination) -> Checked {
    if examination.configuration.vocabulary.is_empty() {
        return Ok("the language is open-ended: any word may stand in it".to_owned());
    }
    let words = words_of(&examination.configuration.vocabulary)?;
    for walk in examination.pace.of(examination.all_walks()) {
        check_covered(&words, walk)?;
    }
    Ok(format!("{} words cover everything that was seen and shown", words.len()))
}

/// The vocabulary as a set; no word may be listed twice.
pub fn words_of(vocabulary: &[String]) -> Result<HashSet<&str>, Objection> {
    let words: HashSet<&str> = vocabulary.iter().map(String::as_str).collect();
    require(words.len() == vocabulary.len(), || "a word is listed twice".to_owned())?;
    Ok(words)
}

/// Every word of the walk's observations and of its expert is in the vocabulary.
pub fn check_covered(words: &HashSet<&str>, walk: &Walk) -> Result<(), Objection> {
    for (index, moment) in walk.moments().enumerate() {
        let said = moment.advices().map(|action| action.text.as_str());
        let said = moment.seen.iter().map(String::as_str).chain(said);
        for word in said.flat_map(str::split_whitespace) {
            require(words.contains(word), || format!("`{word}` is not in the vocabulary"))
                .seen(|| walk.reproducer_to(index))?;
        }
    }
    Ok(())
}
