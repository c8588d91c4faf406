//! What can be said and what is said: unreadable text, and the vocabulary.

use std::collections::HashSet;

use super::Examination;
use crate::environment::Task;
use crate::testing::phrasebook::GARBAGE;
use crate::testing::report::{Checked, Objection, Reproducer, Seen, require, skip};
use crate::testing::walk::{BYSTANDER, Deed, Walk};
use crate::types::Seat;

/// Text that cannot be read is an outcome, and worth nothing.
pub fn check_unreadable(examination: &Examination) -> Checked {
    let Some(task) = examination.tasks.first() else { return skip("there is no task") };
    for kind in &examination.description.actions {
        for garbage in GARBAGE {
            for player in examination.team.players() {
                let deed = Deed::saying(&[(player.clone(), &kind.name)], garbage);
                say(examination, task, &deed)
                    .seen(|| Reproducer::of(task).with(vec![deed.0.clone()]))?;
            }
        }
    }
    Ok("unreadable text is an outcome, not a problem".to_owned())
}

fn say(examination: &Examination, task: &Task, deed: &Deed) -> Result<(), Objection> {
    let team = &examination.team;
    let outcome = deed.carry_out(&mut *team.environment.start(task)?)?;
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
        return skip("the language is open-ended");
    }
    let words = words_of(&examination.configuration.vocabulary)?;
    for walk in examination.all_walks() {
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
