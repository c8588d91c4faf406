//! Settings at their ends: what an environment accepts must work.

use super::language::{check_covered, words_of};
use super::{Examination, patience};
use crate::Random;
use crate::environment::Task;
use crate::settings;
use crate::testing::report::{Checked, Objection, Reproducer, Seen};
use crate::testing::team::Team;
use crate::testing::walk::Walk;
use crate::types::{Configured, Domain, Fault, Problem, Setting, Split, Value};

/// A range of whole numbers up to this long is tried from end to end.
const SHORT_RANGE: i32 = 8;
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
            match works(examination, &settings::with(examination.settings.clone(), name, value))? {
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
        Domain::Integer((low, high)) if high.saturating_sub(*low) < SHORT_RANGE => {
            (*low..=*high).map(Value::Integer).collect()
        }
        Domain::Integer((low, high)) => vec![Value::Integer(*low), Value::Integer(*high)],
        Domain::Number((low, high)) => vec![Value::Number(*low), Value::Number(*high)],
        Domain::Flag => vec![Value::Flag(false), Value::Flag(true)],
        Domain::Choice(words) => words.iter().cloned().map(Value::Text).collect(),
        Domain::Text => vec![Value::Text(String::new())],
    }
}

/// Any values of all settings.
fn combination(declared: &[Setting], draw: u32) -> Vec<Configured> {
    let mut random = Random::new(Split::Train, draw, "settings");
    let mut value = |setting: &Setting| match &setting.domain {
        Domain::Integer((low, high)) => {
            let span = u64::from(high.abs_diff(*low)) + 1;
            let above = random.below(usize::try_from(span).unwrap_or(usize::MAX));
            Value::Integer(low.saturating_add_unsigned(u32::try_from(above).unwrap_or(u32::MAX)))
        }
        Domain::Number((low, high)) => {
            let share = random.below(1001) as f64 / 1000.0;
            Value::Number(low + share * (high - low))
        }
        domain => random.choose(&ends(domain)).cloned().unwrap_or(setting.default.clone()),
    };
    let configured =
        |setting: &Setting| Configured { name: setting.name.clone(), value: value(setting) };
    declared.iter().map(configured).collect()
}

/// Play a little under these settings; whether they were not refused.
fn works(examination: &Examination, settings: &[Configured]) -> Result<bool, Objection> {
    let environment = examination.team.environment;
    let seen = || Reproducer {
        settings: settings.to_vec(),
        ..Reproducer::of(&examination.task(Split::Train, 0))
    };
    let refused = |problem: &Problem| problem.fault == Fault::Settings;
    let configuration = match environment.configure(settings) {
        Err(problem) if refused(&problem) => return Ok(false),
        other => other.map_err(Objection::from).seen(seen)?,
    };
    configuration.check().map_err(Objection::from).seen(seen)?;
    let words = words_of(&configuration.vocabulary).seen(seen)?;
    // Who plays may follow from the settings, too.
    let mut team = Team::of(environment, &examination.description, &configuration).seen(seen)?;
    for split in Split::ALL {
        let (settings, seats) = (settings.to_vec(), team.seats.clone());
        let task = Task { settings, seats, ..examination.task(split, 0) };
        match environment.start(&task) {
            Err(problem) if refused(&problem) => return Ok(false),
            other => other.and_then(|mut episode| episode.rules(&team.seats[0])),
        }
        .map_err(Objection::from)
        .seen(|| Reproducer::of(&task))?;
        team = team.probed(&task)?;
        let limit = STEPS.min(patience(&configuration));
        let mut random = Random::new(split, 0, "corner");
        let stroll = |_: &Walk| examination.phrasebook.deed(&team, true, &mut random);
        let walks =
            [Walk::of_expert(&team, &task, limit)?, Walk::take(&team, &task, STEPS, stroll)?];
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
    let mut steps = walk.steps.iter();
    let sound = steps.try_for_each(|step| step.outcome.check(step.deed.0.len()));
    sound.map_err(Objection::from).seen(|| walk.reproducer())
}
