//! Settings at their ends: what an environment accepts must work.

use super::Examination;
use super::examination::{patience, shorter};
use super::language::{check_covered, words_of};
use crate::Random;
use crate::environment::Task;
use crate::settings;
use crate::testing::report::{Checked, Objection, Reproducer, Seen, require};
use crate::testing::team::Team;
use crate::testing::walk::Walk;
use crate::types::{Configured, Domain, Fault, Problem, Setting, Split, Value};

/// A range of whole numbers up to this long is tried from end to end.
const SHORT_RANGE: i32 = 8;
/// Combinations drawn by chance that are to work, and draws for them.
const COMBINATIONS: u32 = 4;
const DRAWS: u32 = 16;
/// Pairs of settings that are tried at their ends.
const PAIRS: usize = 40;
/// Values of the others with which a value is tried that was refused.
const SEARCHED: u32 = 200;
/// Steps that are taken under each setting.
const STEPS: usize = 20;

/// Every setting at its ends, the others as they are, and some combinations;
/// what is outside of its domain is refused.
pub fn check(examination: &Examination) -> Checked {
    let declared = &examination.description.settings;
    if declared.is_empty() {
        return Ok("there are no settings".to_owned());
    }
    let (mut tried, mut refused) = (0, Vec::new());
    let ends = declared
        .iter()
        .flat_map(|setting| ends(&setting.domain).into_iter().map(move |value| (setting, value)));
    for (setting, value) in examination.pace.of(ends) {
        refuses_beyond(examination, setting)?;
        let with = settings::with(examination.settings.clone(), &setting.name, value.clone());
        match works(examination, &with)? {
            true => tried += 1,
            false => refused.push((setting, value)),
        }
    }
    let (mut combined, mut unfit) = (0, 0);
    for draw in examination.pace.of(0..DRAWS) {
        if combined == COMBINATIONS {
            break;
        }
        // Other combinations in other scopes.
        let draw = examination.scope.from.wrapping_mul(DRAWS).wrapping_add(draw);
        match works(examination, &combination(declared, draw))? {
            true => combined += 1,
            false => unfit += 1,
        }
    }
    for pair in examination.pace.of(extremes(examination, declared).into_iter()) {
        match works(examination, &pair)? {
            true => combined += 1,
            false => unfit += 1,
        }
    }
    for (setting, value) in &refused {
        is_never_accepted(examination, setting, value)?;
    }
    let refused = refused.len() + unfit;
    Ok(format!(
        "{tried} settings at their ends and {combined} combinations work, {refused} are refused"
    ))
}

/// Two settings at their ends at the same time, for many pairs.
fn extremes(examination: &Examination, declared: &[Setting]) -> Vec<Vec<Configured>> {
    let ends: Vec<(&str, Vec<Value>)> = declared
        .iter()
        .filter(|setting| setting.domain != Domain::Text)
        .map(|setting| {
            let mut ends = ends(&setting.domain);
            ends.dedup();
            let last = ends.pop();
            (setting.name.as_str(), ends.into_iter().take(1).chain(last).collect())
        })
        .collect();
    let mut pairs = Vec::new();
    for (index, (one, ones)) in ends.iter().enumerate() {
        for (other, others) in &ends[index + 1..] {
            for (first, second) in
                ones.iter().flat_map(|first| others.iter().map(move |second| (first, second)))
            {
                let with = settings::with(examination.settings.clone(), one, first.clone());
                pairs.push(settings::with(with, other, second.clone()));
            }
        }
    }
    Random::new(Split::Train, examination.scope.from, "pairs").shuffle(&mut pairs);
    pairs.truncate(PAIRS);
    pairs
}

/// A value that the domain names must be accepted at least with some values of
/// the other settings; a text may be refused.
fn is_never_accepted(
    examination: &Examination,
    setting: &Setting,
    value: &Value,
) -> Result<(), Objection> {
    let is_end = match (&setting.domain, value) {
        (Domain::Integer((low, high)), Value::Integer(value)) => value == low || value == high,
        (Domain::Number((low, high)), Value::Number(value)) => value == low || value == high,
        (domain, _) => *domain != Domain::Text,
    };
    let declared = &examination.description.settings;
    let accepts = |others: Vec<Configured>| {
        let others = settings::with(others, &setting.name, value.clone());
        let texts = declared.iter().filter(|setting| setting.domain == Domain::Text);
        let all =
            texts.fold(others, |all, text| settings::with(all, &text.name, text.default.clone()));
        examination.team.environment.configure(&all).is_ok()
    };
    let all_at = |place: fn(Vec<Value>) -> Option<Value>| -> Vec<Configured> {
        let value = |setting: &Setting| place(ends(&setting.domain));
        let at = |setting: &Setting| {
            let value = value(setting).unwrap_or(setting.default.clone());
            Configured { name: setting.name.clone(), value }
        };
        declared.iter().map(at).collect()
    };
    let extremes = [all_at(|ends| ends.first().cloned()), all_at(|ends| ends.last().cloned())];
    let drawn = (0..SEARCHED).map(|draw| combination(declared, draw));
    require(!is_end || extremes.into_iter().chain(drawn).any(accepts), || {
        let Setting { name, domain, .. } = setting;
        format!("`{name}` may be {domain}, but {value} is refused whatever the others are")
    })
    .seen(|| at(examination, setting, value))
}

/// What lies outside of a setting's domain is refused, even if no host asks.
fn refuses_beyond(examination: &Examination, setting: &Setting) -> Result<(), Objection> {
    for value in beyond(&setting.domain) {
        let with = settings::with(examination.settings.clone(), &setting.name, value.clone());
        let configured = examination.team.environment.configure(&with);
        require(configured.is_err_and(|problem| problem.fault == Fault::Settings), || {
            let Setting { name, domain, .. } = setting;
            format!("`{name}` must be {domain}, but {value} was not refused as a setting")
        })
        .seen(|| at(examination, setting, &value))?;
    }
    Ok(())
}

/// The first task with this value of the setting.
fn at(examination: &Examination, setting: &Setting, value: &Value) -> Reproducer {
    let settings = settings::with(examination.settings.clone(), &setting.name, value.clone());
    Reproducer { settings, ..Reproducer::of(&examination.tasks[0]) }
}

/// Values just outside of a domain.
pub fn beyond(domain: &Domain) -> Vec<Value> {
    match domain {
        Domain::Integer((low, high)) => {
            let outside = [low.checked_sub(1), high.checked_add(1)];
            outside.into_iter().flatten().map(Value::Integer).collect()
        }
        Domain::Number((low, high)) => {
            let outside = [low - 1.0, high + 1.0, f64::NAN];
            outside.into_iter().map(Value::Number).collect()
        }
        Domain::Choice(_) => vec![Value::Text("none of these".to_owned())],
        Domain::Flag | Domain::Text => Vec::new(),
    }
}

/// The values at the ends of a domain; all of them where they are few.
pub fn ends(domain: &Domain) -> Vec<Value> {
    match domain {
        Domain::Integer((low, high)) if high.saturating_sub(*low) < SHORT_RANGE => {
            (*low..=*high).map(Value::Integer).collect()
        }
        Domain::Integer((low, high)) => {
            [*low, low.midpoint(*high), *high].into_iter().map(Value::Integer).collect()
        }
        Domain::Number((low, high)) => {
            [*low, low.midpoint(*high), *high].into_iter().map(Value::Number).collect()
        }
        Domain::Flag => vec![Value::Flag(false), Value::Flag(true)],
        Domain::Choice(words) => words.iter().cloned().map(Value::Text).collect(),
        Domain::Text => vec![Value::Text(String::new())],
    }
}

/// Any values of all settings.
pub fn combination(declared: &[Setting], draw: u32) -> Vec<Configured> {
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
        ..Reproducer::of(&examination.task(Split::Train, examination.scope.from))
    };
    let refused = |problem: &Problem| problem.fault == Fault::Settings;
    let configuration = match environment.configure(settings) {
        Err(problem) if refused(&problem) => return Ok(false),
        other => other.map_err(Objection::from).seen(seen)?,
    };
    configuration.check().map_err(Objection::from).seen(seen)?;
    let words = words_of(&configuration.vocabulary).seen(seen)?;
    // The seats may follow from the settings, too.
    let mut team = Team::of(environment, &examination.description, &configuration).seen(seen)?;
    for split in Split::ALL {
        let (settings, seats) = (settings.to_vec(), team.seats.clone());
        let mut task = Task { settings, seats, ..examination.task(split, examination.scope.from) };
        // A host hands out no records where they are of no use.
        if !configuration.needs_records && !configuration.may_have_records() {
            task.entry = None;
        }
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
        let expert = Walk::of_expert(&team, &task, limit).map_err(|found| shorter(&team, found))?;
        let stroll =
            Walk::take(&team, &task, STEPS, stroll).map_err(|found| shorter(&team, found))?;
        for walk in [&expert, &stroll] {
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
