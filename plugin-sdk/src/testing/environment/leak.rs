//! What must not be told: the solution, and the number of the task.
//!
//! An observation may well name what can be done, and the expert's answer is
//! then among it. It gives the answer away when the answer can be copied
//! without understanding: it always stands in the same place, or after the same
//! words; or the expert's next actions stand there one after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::Examination;
use crate::environment::{Split, Status, Task};
use crate::testing::report::{Checked, Objection, Reproducer, Seen, fail, require, skip};
use crate::testing::walk::{Moment, Walk};
use crate::types::Seat;

/// Answers that have to be copied before it is called copying, and how many of
/// them must differ.
const SAMPLES: usize = 6;
const DIFFERENT_ANSWERS: usize = 3;
/// Copied answers in a hundred from which on it is called copying.
const COPIED_PERCENT: usize = 90;
/// The chance below which answers behind the same words are no chance.
const CHANCE: f64 = 1e-6;
/// Letters and digits of a plan that is told without anything in between.
const DENSE_PLAN: usize = 8;
/// Actions in a row that make a plan, and what may stand between two of them.
const PLAN_ACTIONS: usize = 3;
const PLAN_GAP: usize = 8;
/// Seeds that nothing but the seed itself looks like.
const UNLIKELY_SEEDS: [u32; 3] = [3_141_592_653, 2_718_281_828, 1_618_033_988];

/// Where an answer stands in a text, as a reader would find it who does not
/// know the answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    FromStart(usize),
    FromEnd(usize),
    After(String),
}

impl Spot {
    fn words(&self) -> String {
        match self {
            Spot::FromStart(0) => "at the start".to_owned(),
            Spot::FromStart(bytes) => format!("{bytes} bytes from the start"),
            Spot::FromEnd(0) => "at the end".to_owned(),
            Spot::FromEnd(bytes) => format!("{bytes} bytes before the end"),
            Spot::After(words) => format!("after `{}`", words.trim()),
        }
    }
}

/// The expert's answer must not be there to be copied.
pub fn check_solution(examination: &Examination) -> Checked {
    if !examination.has_expert() {
        return skip("there is no expert whose solution could be looked for");
    }
    for (player, seat) in examination.team.players().iter().enumerate() {
        check_told_to(examination, player, seat)?;
    }
    Ok("no observation and no rules give the expert's answer away".to_owned())
}

/// No seat is told what the expert would have it do. What another is to do may
/// well be told: to say so is then the task.
fn check_told_to(examination: &Examination, player: usize, seat: &Seat) -> Result<(), Objection> {
    let experts = &examination.experts;
    let rules = |walk: &Walk| examination.team.environment.start(&walk.task)?.rules(seat);
    let rules = experts.iter().map(rules).collect::<Result<Vec<String>, _>>()?;
    let of_rules = experts.iter().zip(&rules).map(|(walk, rules)| (rules.as_str(), walk));
    let of_starts = experts.iter().map(|walk| (walk.start.seen_by(player), walk));
    for (what, texts) in
        [("rules", of_rules.collect::<Vec<_>>()), ("observation", of_starts.collect())]
    {
        check_plans(what, &texts, seat)?;
        let first = |(text, walk): &(&str, &Walk)| {
            let advice = walk.start.advice[player].as_ref()?;
            Some((text.to_lowercase(), advice.text.to_lowercase()))
        };
        let samples: Vec<_> = texts.iter().filter_map(first).collect();
        check_copied(what, &samples).seen(|| experts[0].reproducer_to(0))?;
    }
    let later: Vec<_> = experts.iter().flat_map(|walk| samples_of(walk, player, seat)).collect();
    check_copied("observation", &later).seen(|| experts[0].reproducer_to(0))
}

/// Every moment of an expert's walk: what a seat sees, what it answers. A seat that
/// goes on as before may find its last answer in what it sees, and learns nothing.
fn samples_of(walk: &Walk, player: usize, seat: &Seat) -> Vec<(String, String)> {
    let steps = walk.moments().zip(&walk.steps);
    let mut last = None;
    let answered = steps.filter_map(|(moment, step)| {
        let answer = step.deed.by(seat)?;
        let before = last.replace(&answer.text);
        if before == Some(&answer.text) {
            return None;
        }
        Some((moment.seen_by(player).to_lowercase(), answer.text.to_lowercase()))
    });
    answered.collect()
}

/// Fail if one spot holds nearly all answers.
fn check_copied(what: &str, samples: &[(String, String)]) -> Result<(), Objection> {
    let mut held: BTreeMap<Spot, Vec<&str>> = BTreeMap::new();
    for (text, answer) in samples {
        for spot in spots(text, answer) {
            held.entry(spot).or_default().push(answer);
        }
    }
    check_hinted(what, samples, &held)?;
    for (spot, answers) in held {
        let different: BTreeSet<&str> = answers.iter().copied().collect();
        let copied = answers.len() >= SAMPLES
            && different.len() >= DIFFERENT_ANSWERS
            && 100 * answers.len() >= COPIED_PERCENT * samples.len();
        require(!copied, || {
            let (count, all, place) = (answers.len(), samples.len(), spot.words());
            format!("the {what} holds the expert's answer {place} ({count} of {all} times)")
        })?;
    }
    Ok(())
}

/// Fail if certain words, where they stand, are always followed by the answer.
fn check_hinted(
    what: &str,
    samples: &[(String, String)],
    held: &BTreeMap<Spot, Vec<&str>>,
) -> Result<(), Objection> {
    let share = |answer: &str| {
        let same = samples.iter().filter(|(_, other)| other == answer).count();
        (same as f64 / samples.len() as f64).clamp(f64::EPSILON, 1.0)
    };
    for (spot, answers) in held {
        let Spot::After(words) = spot else { continue };
        let told = samples.iter().filter(|(text, _)| text.contains(words.as_str())).count();
        let chance: f64 = answers.iter().map(|answer| share(answer)).product();
        let always = 100 * answers.len() >= COPIED_PERCENT * told && answers.len() >= SAMPLES;
        require(!always || chance > CHANCE, || {
            let (count, place) = (answers.len(), spot.words());
            format!("the {what} holds the expert's answer {place} ({count} of {told} times)")
        })?;
    }
    Ok(())
}

/// Everywhere the answer stands as words of its own.
fn spots(text: &str, answer: &str) -> BTreeSet<Spot> {
    let mut spots = BTreeSet::new();
    for start in occurrences(text, answer) {
        let (before, after) = (&text[..start], &text[start + answer.len()..]);
        spots.insert(Spot::FromStart(start));
        spots.insert(Spot::FromEnd(after.len()));
        let context = last_word(before);
        // Only the first place after these words can be found without the answer.
        if !context.trim().is_empty() && text.find(context) == Some(start - context.len()) {
            spots.insert(Spot::After(context.to_owned()));
        }
    }
    spots
}

/// The last word of a text with what follows it.
fn last_word(text: &str) -> &str {
    let end = text.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let start = end.rfind(char::is_whitespace).map_or(0, |index| index + 1);
    // White space may be longer than a byte.
    text.get(start..).unwrap_or(text)
}

/// Where the words stand in the text, not as part of longer words.
fn occurrences<'t>(text: &'t str, words: &'t str) -> impl Iterator<Item = usize> + 't {
    let joins = |one: Option<char>, other: Option<char>| {
        one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
    };
    let found = text.match_indices(words).filter(|(_, words)| !words.trim().is_empty());
    found.map(|(start, _)| start).filter(move |&start| {
        let (before, after) = (&text[..start], &text[start + words.len()..]);
        !joins(before.chars().next_back(), words.chars().next())
            && !joins(words.chars().next_back(), after.chars().next())
    })
}

/// Fail if most texts hold the expert's actions one after the other.
fn check_plans(what: &str, texts: &[(&str, &Walk)], seat: &Seat) -> Result<(), Objection> {
    let plan = |walk: &Walk| -> Vec<String> {
        walk.deeds_of(seat).map(|action| action.text.to_lowercase()).collect()
    };
    let (mut plans, mut told, mut first) = (0, 0, None);
    for (text, walk) in texts {
        let plan = plan(walk);
        let different: BTreeSet<&String> = plan.iter().collect();
        if walk.status() != Status::Solved || plan.len() < PLAN_ACTIONS || different.len() < 2 {
            continue;
        }
        plans += 1;
        if holds_plan(&text.to_lowercase(), &plan) {
            told += 1;
            first = first.or(Some(walk));
        }
    }
    match first {
        Some(walk) if 2 * told > plans => fail(format!(
            "the {what} holds the expert's actions in their order ({told} of {plans} times)"
        ))
        .seen(|| walk.reproducer_to(0)),
        _ => Ok(()),
    }
}

fn holds_plan(text: &str, plan: &[String]) -> bool {
    let follows = |start: usize| {
        let mut end = start + plan[0].len();
        plan[1..].iter().all(|next| {
            let gap = occurrences(&text[end..], next).next().filter(|&gap| gap <= PLAN_GAP);
            gap.inspect(|gap| end += gap + next.len()).is_some()
        })
    };
    let dense = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let whole = dense(&plan.concat());
    let is_dense = || {
        let mut words = text.split_whitespace().map(dense);
        whole.len() >= DENSE_PLAN && words.any(|word| word.contains(&whole))
    };
    occurrences(text, &plan[0]).any(follows) || is_dense()
}

/// A task's number is nothing to be learned, nor is its split.
pub fn check_seed(examination: &Examination) -> Checked {
    let mut told: Vec<(Task, Vec<(&str, String)>)> = Vec::new();
    for split in Split::ALL {
        for seed in UNLIKELY_SEEDS {
            let task = examination.task(split, seed);
            let texts = texts_of(examination, &task).seen(|| Reproducer::of(&task))?;
            check_told(&task, &texts).seen(|| Reproducer::of(&task))?;
            told.push((task, texts));
        }
    }
    for (what, of_task) in hidden_names() {
        let names = |(task, texts): &(Task, Vec<(&str, String)>)| {
            let name = of_task(task);
            texts.iter().any(|(_, text)| occurrences(text, &name).next().is_some())
        };
        // The name of another task must not stand there as well.
        let others = told.iter().enumerate().any(|(index, (_, texts))| {
            let other = of_task(&told[(index + UNLIKELY_SEEDS.len() + 1) % told.len()].0);
            texts.iter().any(|(_, text)| occurrences(text, &other).next().is_some())
        });
        require(others || !told.iter().all(names), || format!("every task tells {what}"))
            .seen(|| Reproducer::of(&told[0].0))?;
    }
    Ok("no observation and no rules name the task's seed or its split".to_owned())
}

/// What a task is named by, in letters as a text would have them.
type Telling = fn(&Task) -> String;

/// Numbers and names that say which task it is, if all tasks tell theirs.
fn hidden_names() -> Vec<(&'static str, Telling)> {
    vec![
        ("its split", |task| task.split.name().to_lowercase()),
        ("the last four digits of its seed", |task| format!("{:04}", task.seed % 10_000)),
        ("the last three digits of its seed", |task| format!("{:03}", task.seed % 1000)),
        ("the end of its seed in bits", |task| format!("{:016b}", task.seed % 65_536)),
        ("the end of its seed in hexadecimal", |task| format!("{:04x}", task.seed % 65_536)),
    ]
}

/// What is told at the start of a task, in small letters.
fn texts_of(
    examination: &Examination,
    task: &Task,
) -> Result<Vec<(&'static str, String)>, Objection> {
    let viewers = examination.team.viewers();
    let mut episode = examination.team.environment.start(task)?;
    let seen = Moment::seen(viewers, &mut *episode)?;
    let rules = viewers.iter().map(|seat| episode.rules(seat)).collect::<Result<Vec<_>, _>>()?;
    let texts = seen.into_iter().map(|text| ("observation", text));
    let texts = texts.chain(rules.into_iter().map(|text| ("rules", text)));
    Ok(texts.map(|(what, text)| (what, text.to_lowercase())).collect())
}

fn check_told(task: &Task, texts: &[(&str, String)]) -> Result<(), Objection> {
    let seed = task.seed;
    let near = [seed, seed + 1, seed - 1].map(|number| number.to_string());
    for (what, text) in texts {
        let bare: String = text.chars().filter(|&letter| !",_' ".contains(letter)).collect();
        let told = near.iter().cloned().chain([format!("{seed:x}"), format!("{seed:b}")]);
        let told = told.into_iter().find(|told| text.contains(told) || bare.contains(told));
        require(told.is_none(), || format!("the {what} names the task's seed, {seed}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(samples: &[(&str, &str)]) -> bool {
        let owned = |&(text, answer): &(&str, &str)| (text.to_owned(), answer.to_owned());
        let samples: Vec<_> = samples.iter().map(owned).collect();
        check_copied("observation", &samples).is_err()
    }

    #[test]
    fn an_answer_that_always_stands_in_the_same_place_is_given_away() {
        let answers = ["a b", "b c", "c a", "a c", "b a", "c b"];
        let with = |form: fn(usize, &str) -> String| -> Vec<(String, &str)> {
            answers
                .iter()
                .enumerate()
                .map(|(index, answer)| (form(index, answer), *answer))
                .collect()
        };
        let told = |form: fn(usize, &str) -> String| {
            let samples = with(form);
            copied(
                &samples.iter().map(|(text, answer)| (text.as_str(), *answer)).collect::<Vec<_>>(),
            )
        };
        assert!(told(|_, answer| format!("pegs 321 - - {answer}")));
        assert!(told(|_, answer| format!("{answer} pegs 321")));
        assert!(told(|index, answer| format!("{} (try {answer}) end", "x ".repeat(index))));
        assert!(told(|index, answer| format!("{0} hint={answer}; {0}", "x ".repeat(index))));
        assert!(!told(|_, _| "moves: a b, b c, c a, a c, b a, c b".to_owned()));
        assert!(!told(|_, answer| answer.chars().rev().collect()));
        assert!(!copied(&[("say heads", "heads"); 9]), "the same answer always is no secret");
    }

    #[test]
    fn a_plan_is_given_away_by_its_order() {
        let plan = ["a b", "b c", "a b"].map(str::to_owned);
        assert!(holds_plan("do 1. a b 2. b c 3. a b.", &plan));
        assert!(holds_plan("moves a b b c b a; solution a b,b c,a b", &plan));
        assert!(!holds_plan("moves: a b, a c, b a, b c", &plan));
        assert!(!holds_plan("a b and after a long while b c, then a b", &plan));
    }

    #[test]
    fn words_are_not_found_inside_of_longer_ones() {
        let found = |text: &'static str, words: &'static str| occurrences(text, words).count();
        assert_eq!(found("u up u-turn 2u", "u"), 2);
        assert_eq!(found("r1c2:3", "r1c2=3"), 0);
        assert_eq!(found("a", ""), 0);
    }
}
