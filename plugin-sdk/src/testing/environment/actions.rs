//! Actions that are named: what the environment says can be done can be done.

use std::collections::{BTreeMap, BTreeSet};

use super::Examination;
use crate::testing::report::{Checked, Objection, Reproducer, Seen, fail, skip};
use crate::testing::walk::{Deed, Walk};
use crate::types::{Action, ActionKind, Move};

/// Moments at which a named action is tried.
const MOMENTS: usize = 60;
/// A kind of action that no environment has.
const UNHEARD_OF: &str = "no-such-kind";
/// Texts that are enough to see that all are refused.
const ENOUGH_TEXTS: usize = 8;
/// Words that a named action may have.
const WORDS: usize = 2;

/// Every kind of action is accepted at some time, and so is every word that a
/// description names as one.
pub fn check(examination: &Examination) -> Checked {
    if !examination.has_expert() {
        return skip("there is no expert who shows what can be done");
    }
    let accepted = accepted(examination);
    let mut named = 0;
    for kind in &examination.description.actions {
        let of_kind = accepted.get(kind.name.as_str());
        if of_kind.is_none() && is_ignored(examination, kind)? {
            return fail(format!(
                "nothing of the kind `{}` was ever accepted, and all is refused alike",
                kind.name
            ))
            .seen(|| tried(examination, kind, "anything"));
        }
        let known =
            |text: &str| of_kind.is_some_and(|texts| texts.iter().any(|said| says(said, text)));
        let listed = listed(&kind.summary, &known).into_iter().chain(quoted(&kind.summary));
        for text in listed.collect::<BTreeSet<_>>() {
            named += 1;
            if !known(text) && !is_accepted(examination, kind, text)? {
                return fail(format!(
                    "`{text}` is named as a `{}`, but was refused at every moment",
                    kind.name
                ))
                .seen(|| tried(examination, kind, text));
            }
        }
    }
    let kinds = examination.description.actions.len();
    Ok(format!("{kinds} kinds of action and {named} named words are accepted at some time"))
}

/// The first task, and the text said in it.
fn tried(examination: &Examination, kind: &ActionKind, text: &str) -> Reproducer {
    let deed = Deed::saying(&[(examination.team.seats[0].clone(), &kind.name)], text);
    Reproducer::of(&examination.tasks[0]).with(vec![deed.0])
}

/// What was accepted, by its kind, in any case.
fn accepted<'e>(examination: &'e Examination) -> BTreeMap<&'e str, BTreeSet<String>> {
    let mut accepted: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for step in examination.all_walks().flat_map(|walk| &walk.steps) {
        for (Move { action, .. }, effect) in step.deed.0.iter().zip(&step.outcome.effects) {
            if effect.accepted {
                accepted.entry(&action.kind).or_default().insert(action.text.to_lowercase());
            }
        }
    }
    accepted
}

/// Whether every text of a kind is refused in the words with which an
/// unknown kind is refused.
fn is_ignored(examination: &Examination, kind: &ActionKind) -> Result<bool, Objection> {
    let (mut told, mut said) = (BTreeSet::new(), BTreeSet::new());
    let bare = |feedback: &str, action: &Action| {
        feedback.replace(action.text.trim(), "_").replace(&action.kind, "_")
    };
    let steps = examination.all_walks().flat_map(|walk| &walk.steps);
    // One of several simultaneous moves may come too late.
    for step in steps.filter(|step| step.deed.0.len() == 1) {
        for (Move { action, .. }, effect) in step.deed.0.iter().zip(&step.outcome.effects) {
            if action.kind == kind.name && !action.text.trim().is_empty() {
                told.insert(bare(&effect.feedback, action));
                said.insert(&action.text);
            }
        }
    }
    if told.len() != 1 || said.len() < ENOUGH_TEXTS {
        return Ok(false);
    }
    let unheard_of = Action::new(UNHEARD_OF, "anything");
    let deed = Deed::of([(examination.team.seats[0].clone(), unheard_of.clone())]);
    let mut episode = examination.team.environment.start(&examination.tasks[0])?;
    let outcome = deed.carry_out(&mut *episode);
    Ok(outcome.is_ok_and(|outcome| told.contains(&bare(outcome.told(), &unheard_of))))
}

/// Whether the words stand in what was said.
fn says(said: &str, words: &str) -> bool {
    let bare = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (said, words) = (bare(said), bare(words));
    said.windows(words.len().max(1)).any(|some| some == words)
}

/// Short plain words in quotation marks, but for the names of fields in JSON.
fn quoted(summary: &str) -> Vec<&str> {
    let of = |mark: char| {
        let pieces: Vec<&str> = summary.split(mark).collect();
        let is_field =
            |rest: &&[&str]| rest.get(1).is_some_and(|rest| rest.trim_start().starts_with(':'));
        let inside = pieces[1..].chunks(2).filter(|rest| !is_field(rest)).map(|rest| rest[0]);
        inside.collect::<Vec<&str>>()
    };
    let plain = |text: &&str| {
        let is_word =
            |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_lowercase());
        let count = text.split(' ').count();
        count <= WORDS && text.split(' ').all(is_word)
    };
    of('`').into_iter().chain(of('"')).filter(plain).collect()
}

/// Single words in a list in which at least two others are known: "up, down,
/// left, right or jump".
fn listed<'s>(summary: &'s str, known: &impl Fn(&str) -> bool) -> Vec<&'s str> {
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_lowercase());
    let mut lists: Vec<Vec<&str>> = vec![Vec::new()];
    let (mut is_listed, mut is_last) = (false, false);
    for token in summary.split_whitespace() {
        let word = token.trim_matches(|letter: char| !letter.is_alphanumeric());
        if ["or", "and"].contains(&word) {
            (is_listed, is_last) = (true, true);
            continue;
        }
        if !is_listed {
            lists.push(Vec::new());
        }
        lists.iter_mut().last().into_iter().for_each(|list| list.push(word));
        is_listed = token.ends_with([',', '/', '|']) && !is_last;
        is_last = false;
    }
    let told = |list: &Vec<&str>| list.iter().filter(|word| known(word)).count() >= 2;
    lists.into_iter().filter(told).flatten().filter(is_word).collect()
}

/// Whether the text is accepted at one of many moments.
fn is_accepted(
    examination: &Examination,
    kind: &ActionKind,
    text: &str,
) -> Result<bool, Objection> {
    let team = &examination.team;
    let moments = |walk: &Walk| 0..walk.steps.len().max(1);
    let walks = examination.walks();
    let moments = walks.flat_map(|walk| moments(walk).map(move |steps| (walk, steps)));
    let all = examination.walks().map(|walk| walk.steps.len().max(1)).sum::<usize>();
    let some = moments.step_by(all.div_ceil(MOMENTS).max(1));
    for (walk, steps) in examination.pace.of(some) {
        for seat in &team.seats {
            let deed = Deed::saying(&[(seat.clone(), &kind.name)], text);
            let mut episode = walk.episode_at(team, steps)?;
            if deed.carry_out(&mut *episode).is_ok_and(|outcome| outcome.is_accepted()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_named_as_actions_are_found_and_placeholders_are_not() {
        let known = |word: &str| ["up", "down", "left"].contains(&word);
        let some = "one of up, down, left or jump, then a number";
        assert_eq!(listed(some, &known), ["up", "down", "left", "jump"]);
        assert!(listed("walls, boxes and goals", &known).is_empty());
        assert_eq!(quoted("`undo` takes a move back; `A C`, `N`, `r1c2=3`"), ["undo"]);
        assert_eq!(quoted(r#"such as {"input": "5", "mode": "slow"}"#), ["slow"]);
        assert!(says("r1c2 up up", "up up") && !says("upper", "up"));
    }
}
