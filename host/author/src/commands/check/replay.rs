//! One episode again, as a finding names it: what is seen and what it pays.

use plugin_sdk::testing::{EnvironmentUnderTest, Reproducer, Scope, Verdict};
use plugin_sdk::types::{Configured, Move, Seat, Status, text_of};
use serde_json::Value as Json;

use super::environment::ComponentEnvironment;
use troupe_core::config::ConfigError;
use troupe_core::error::ExitCode;
use troupe_guests::plugin::{EnvironmentPlugin, Problem, Split, Task, Value};
use troupe_terminal as terminal;

/// Plays it, and says what the check that found something says of it now.
pub(super) fn run(
    plugin: &EnvironmentPlugin,
    scope: &Scope,
    text: &str,
) -> anyhow::Result<ExitCode> {
    let (check, seen) = read(text).ok_or_else(|| ConfigError::Invalid {
        key: "--replay".to_owned(),
        reason: "is not what a finding of `--json` calls its reproducer".to_owned(),
    })?;
    let environment = ComponentEnvironment::new(plugin);
    if let Err(problem) = show(&environment, &seen) {
        terminal::line(&format!("stopped: {}", problem.message));
    }
    let found = scope.replay(&environment, &check, &seen).map_err(|problem| {
        ConfigError::Invalid { key: "--replay".to_owned(), reason: problem.message }
    })?;
    terminal::line(&format!("\n{found}"));
    Ok(if found.verdict == Verdict::Failed { ExitCode::Check } else { ExitCode::Success })
}

/// Prints the episode, act by act.
fn show(environment: &ComponentEnvironment<'_>, seen: &Reproducer) -> Result<(), Problem> {
    let Reproducer { split, seed, settings, entry, acts, .. } = seen.clone();
    terminal::line(&format!("{} task {seed}", split.name()));
    let seats = seats(environment.configure(&settings)?.expected_seats(), &acts);
    let task = Task { split, seed, settings, seats: seats.clone(), entry };
    let mut episode = environment.start(&task)?;
    terminal::line(&text_of(&episode.observe(&seats[0])?));
    for (step, moves) in acts.iter().enumerate() {
        for Move { seat, action } in moves {
            terminal::line(&format!("\n{}. {seat} {} {:?}", step + 1, action.kind, action.text));
        }
        let outcome = episode.act(moves)?;
        for effect in &outcome.effects {
            let word = if effect.accepted { "accepted" } else { "refused" };
            terminal::line(&format!("{word} {}", effect.feedback));
        }
        for award in &outcome.awards {
            terminal::line(&format!("{:+.4} {}", award.value, award.name));
        }
        if outcome.status != Status::Ongoing {
            terminal::line(&format!("{:?}", outcome.status));
        }
        terminal::line(&text_of(&episode.observe(&moves[0].seat)?));
    }
    Ok(())
}

/// Who plays: those that the environment names, else those who do something, or anybody.
fn seats(named: Vec<Seat>, acts: &[Vec<Move>]) -> Vec<Seat> {
    let mut seats = named;
    if seats.is_empty() {
        for Move { seat, .. } in acts.iter().flatten() {
            if !seats.contains(seat) {
                seats.push(seat.clone());
            }
        }
    }
    if seats.is_empty() {
        seats.push(Seat::new("player"));
    }
    seats
}

/// The check and the episode that a finding names.
fn read(text: &str) -> Option<(String, Reproducer)> {
    let json: Json = serde_json::from_str(text).ok()?;
    let check = json["check"].as_str()?.to_owned();
    let split =
        Split::ALL.into_iter().find(|split| Some(split.name()) == json["split"].as_str())?;
    let number = |key: &str| u32::try_from(json[key].as_u64()?).ok();
    let seed = number("seed")?;
    // Earlier reports do not say among which tasks it was.
    let from = if json["from"].is_null() { seed } else { number("from")? };
    let setting = |(name, value): (&String, &Json)| {
        let value = match value {
            Json::Bool(value) => Value::Flag(*value),
            Json::String(text) => Value::Text(text.clone()),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Value::Integer(i32::try_from(whole).ok()?),
                None => Value::Number(number.as_f64()?),
            },
            Json::Null | Json::Array(_) | Json::Object(_) => return None,
        };
        Some(Configured { name: name.clone(), value })
    };
    let settings = json["settings"].as_object()?.iter().map(setting).collect::<Option<_>>()?;
    let entry = json["entry"].as_str().map(str::to_owned);
    let mut acts: Vec<Vec<Move>> = Vec::new();
    for action in json["actions"].as_array()? {
        let act = usize::try_from(action["act"].as_u64()?).ok()?;
        let instance = u32::try_from(action["instance"].as_u64()?).ok()?;
        let seat = Seat::numbered(action["role"].as_str()?, instance);
        let one = Move::new(seat, action["kind"].as_str()?, action["text"].as_str()?);
        // Acts come in their order, the moves of one together.
        match act.checked_sub(acts.len()) {
            Some(0) => acts.push(vec![one]),
            None if act + 1 == acts.len() => acts.last_mut()?.push(one),
            _ => return None,
        }
    }
    Some((check, Reproducer { split, seed, from, settings, entry, acts }))
}

#[cfg(test)]
mod tests {
    use super::super::findings::reproducer;
    use super::*;

    #[test]
    fn what_a_finding_names_is_read_as_it_was_written() {
        let setting = |name: &str, value: Value| Configured { name: name.to_owned(), value };
        let seen = Reproducer {
            split: Split::Validation,
            seed: 85,
            from: 80,
            settings: vec![
                setting("size", Value::Integer(9)),
                setting("slip", Value::Number(0.5)),
                setting("pair", Value::Flag(true)),
                setting("view", Value::Text("map".to_owned())),
            ],
            entry: Some("{\"level\": \"# #\"}".to_owned()),
            acts: vec![
                vec![Move::new("first", "say", "1"), Move::new("second", "say", "2")],
                vec![Move::new(Seat::numbered("first", 1), "say", "it's")],
            ],
        };
        let text = reproducer("loops", &seen).to_string();
        assert_eq!(read(&text), Some(("loops".to_owned(), seen)));
    }

    #[test]
    fn those_play_whom_the_environment_names_or_who_does_something_or_anybody() {
        let act = |role: &str| vec![Move::new(role, "say", "1")];
        let names = |seats: Vec<Seat>| seats.into_iter().map(|seat| seat.role).collect::<Vec<_>>();
        let acts = [act("second"), act("first"), act("second")];
        let named = ["first", "second"].map(Seat::new).to_vec();
        assert_eq!(names(seats(named, &acts[..1])), ["first", "second"]);
        assert_eq!(names(seats(Vec::new(), &acts)), ["second", "first"]);
        assert_eq!(names(seats(Vec::new(), &[])), ["player"]);
    }
}
