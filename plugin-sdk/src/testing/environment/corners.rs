//! Settings at their ends: what an environment accepts must work.

use super::language::{check_covered, words_of};
use super::{Examination, patience};
use crate::Random;
use crate::environment::{Problem, Split};
use crate::settings::{Domain, Setting, Settings, Value};
use crate::testing::report::{Checked, Objection, Reproducer, Seen, require};
use crate::testing::walk::Walk;

/// A range of whole numbers up to this long is tried from end to end.
const SHORT_RANGE: i64 = 8;
/// Combinations drawn by chance that are to work, and draws for them.
const COMBINATIONS: u32 = 2;
const DRAWS: u32 = 12;
/// Steps that are taken under each setting.
const STEPS: usize = 20;

/// Every setting at its ends, the others as they are, and two combinations.
pub fn check(examination: &Examination) -> Checked {
    let declared = &examination.description.settings;
    let mut tried = 0;
    let mut refused = 0;
    for Setting { name, domain, .. } in declared {
        for value in ends(domain) {
            match works(examination, &examination.settings.clone().with(name, value))? {
                true => tried += 1,
                false => refused += 1,
            }
        }
    }
    let mut combined = 0;
    for draw in 0..DRAWS {
        if combined == COMBINATIONS || declared.is_empty() {
            break;
        }
        match works(examination, &combination(declared, draw))? {
            true => combined += 1,
            false => refused += 1,
        }
    }
    Ok(match declared.is_empty() {
        true => "there are no settings".to_owned(),
        false => format!(
            "{tried} settings at their ends and {combined} combinations work, {refused} are refused"
        ),
    })
}

/// The values at the ends of a domain; all of them where they are few.
fn ends(domain: &Domain) -> Vec<Value> {
    match domain {
        Domain::Integer(low, high) if high.saturating_sub(*low) < SHORT_RANGE => {
            (*low..=*high).map(Value::Integer).collect()
        }
        Domain::Integer(low, high) => vec![Value::Integer(*low), Value::Integer(*high)],
        Domain::Number(low, high) => vec![Value::Number(*low), Value::Number(*high)],
        Domain::Flag => vec![Value::Flag(false), Value::Flag(true)],
        Domain::Choice(words) => words.iter().cloned().map(Value::Text).collect(),
        Domain::Text => vec![Value::Text(String::new())],
    }
}

/// Any values of all settings.
fn combination(declared: &[Setting], draw: u32) -> Settings {
    let mut random = Random::new(Split::Train, draw, "settings");
    let mut value = |setting: &Setting| match &setting.domain {
        Domain::Integer(low, high) => {
            let span = high.abs_diff(*low).saturating_add(1);
            let above = random.below(usize::try_from(span).unwrap_or(usize::MAX));
            Value::Integer(low.saturating_add_unsigned(above as u64))
        }
        Domain::Number(low, high) => {
            let share = random.below(1001) as f64 / 1000.0;
            Value::Number(low + share * (high - low))
        }
        domain => random.choose(&ends(domain)).cloned().unwrap_or(setting.default.clone()),
    };
    declared.iter().map(|setting| (setting.name.clone(), value(setting))).collect()
}

/// Play a little under these settings; whether they were not refused.
fn works(examination: &Examination, settings: &Settings) -> Result<bool, Objection> {
    let environment = examination.environment;
    let task = |split| {
        let task = examination.task(split, 0);
        crate::environment::Task { settings: settings.clone(), ..task }
    };
    let seen = || Reproducer::of(&task(Split::Train));
    let refused = |problem: &Problem| matches!(problem, Problem::InvalidSettings(_));
    let vocabulary = match environment.vocabulary(settings) {
        Err(problem) if refused(&problem) => return Ok(false),
        other => other.map_err(Objection::from).seen(seen)?,
    };
    let words = words_of(&vocabulary).seen(seen)?;
    for split in Split::ALL {
        let task = task(split);
        match environment.start(&task) {
            Err(problem) if refused(&problem) => return Ok(false),
            other => other.and_then(|mut episode| episode.rules()),
        }
        .map_err(Objection::from)
        .seen(|| Reproducer::of(&task))?;
        let limit = STEPS.min(patience(&examination.description));
        let mut random = Random::new(split, 0, "corner");
        let stroll = |_: &Walk| examination.phrasebook.deed(true, &mut random);
        let walks = [
            Walk::of_expert(environment, &task, limit)?,
            Walk::take(environment, &task, STEPS, stroll)?,
        ];
        for walk in &walks {
            check_walk(&words, walk)?;
        }
    }
    Ok(true)
}

fn check_walk(words: &std::collections::HashSet<&str>, walk: &Walk) -> Result<(), Objection> {
    if !words.is_empty() {
        check_covered(words, walk)?;
    }
    let finite = |step: &super::super::walk::Step| {
        step.outcome.team.is_finite() && step.outcome.local.is_finite()
    };
    require(walk.steps.iter().all(finite), || "a reward is not a finite number".to_owned())
        .seen(|| walk.reproducer())
}
