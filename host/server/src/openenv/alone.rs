//! An environment by itself, as a client sees it.

use serde_json::{Map, Value, json};

use super::action::Action;
use super::earnings::Earnings;
use super::game::{Position, Refused, place_of};
use super::invalid::Invalid;
use super::turn::StepResult;
use troupe_guests::plugin::{self, Outcome, PluginFailure, Seat, Split, seat_reward, team_reward};
use troupe_guests::scenario::{Alone, AloneState, AloneStep};

/// What an action may have.
pub(super) const FIELDS: &[&str] = &["text", "kind", "role", "metadata"];

/// Begins a task.
pub(super) fn begin(alone: &Alone, split: Split, seed: u32) -> Result<StepResult, PluginFailure> {
    let (rules, step) = alone.begin(split, seed)?;
    let mut observation = observed(alone, &step, 0);
    observation.insert("rules".to_owned(), json!(rules[0]));
    if is_told_apart(alone) {
        observation.insert("rules_of".to_owned(), by_seat(&alone.seats(), &rules));
    }
    let next = step.next.map(Position::Alone);
    Ok(StepResult { observation, earnings: None, metadata: Map::new(), next })
}

/// Carries out an action.
pub(super) fn step(
    alone: &Alone,
    from: &AloneState,
    action: Action,
) -> Result<StepResult, Refused> {
    let seats = alone.seats();
    let place = action.role.as_deref().map_or(Ok(0), |role| place_of(&seats, role))?;
    let kind = kind_of(alone, action.kind)?;
    let done = plugin::Action { kind: kind.clone(), text: action.text };
    let step = alone.act(from, place, done)?;
    let mut observation = observed(alone, &step, place);
    let mut metadata = Map::new();
    let earnings = step.outcome.as_ref().map(|outcome| {
        let effect = outcome.effects.first();
        let feedback = effect.map_or("", |effect| &effect.feedback);
        observation.insert("feedback".to_owned(), json!(feedback));
        metadata.insert("accepted".to_owned(), json!(effect.is_some_and(|it| it.accepted)));
        metadata.insert("kind".to_owned(), json!(kind));
        earned(&seats, place, outcome)
    });
    Ok(StepResult { observation, earnings, metadata, next: step.next.map(Position::Alone) })
}

fn kind_of(alone: &Alone, kind: Option<String>) -> Result<String, Invalid> {
    let kinds = &alone.environment.description().actions;
    let names = || kinds.iter().map(|kind| kind.name.as_str());
    match kind {
        None => Ok(names().next().unwrap_or_default().to_owned()),
        Some(kind) if names().any(|name| name == kind) => Ok(kind),
        Some(kind) => {
            let known: Vec<&str> = names().collect();
            let message = format!("there is no action `{kind}`; there is {}", known.join(", "));
            Err(Invalid::value("kind", message))
        }
    }
}

/// What the seat at this place sees; where seats are told different things, all of it.
fn observed(alone: &Alone, step: &AloneStep, place: usize) -> Map<String, Value> {
    let seats = alone.seats();
    let mut observation = Map::new();
    observation.insert("text".to_owned(), json!(step.views[place]));
    if seats.len() > 1 {
        observation.insert("role".to_owned(), json!(seats[place].to_string()));
    }
    if is_told_apart(alone) {
        observation.insert("text_of".to_owned(), by_seat(&seats, &step.views));
    }
    observation
}

fn is_told_apart(alone: &Alone) -> bool {
    alone.configuration.is_private && alone.seats().len() > 1
}

fn by_seat(seats: &[Seat], texts: &[String]) -> Value {
    let of_seat = |(seat, text): (&Seat, &String)| (seat.to_string(), json!(text));
    Value::Object(seats.iter().zip(texts).map(of_seat).collect())
}

/// What the move of the seat at this place was worth, to everybody and to each.
fn earned(seats: &[Seat], mover: usize, outcome: &Outcome) -> Earnings {
    let mut earnings = Earnings::none(seats);
    earnings.add_team(&team_reward(outcome));
    for (place, seat) in seats.iter().enumerate() {
        let moves: &[usize] = if place == mover { &[0] } else { &[] };
        earnings.add_local(seat, &seat_reward(outcome, seat, moves));
    }
    earnings
}
