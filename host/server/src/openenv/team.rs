//! A team that plays an environment, as a client sees it who answers for the roles:
//! one after the other, those who are asked together, too.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::action::Action;
use super::earnings::Earnings;
use super::game::{Position, Refused, place_of};
use super::turn::StepResult;
use troupe_core::trajectory::{Author, Event, Message, Reward};
use troupe_guests::plugin::{PluginFailure, Seat, Split};
use troupe_guests::scenario::{self, Answer, Due, Next, Scenario, Transition};

/// What an answer may have.
pub(super) const FIELDS: &[&str] = &["text", "role", "complete", "metadata"];

/// An episode in which answers are awaited.
#[derive(Clone)]
pub(super) struct TeamPosition {
    pub(super) position: scenario::Position,
    /// Those given so far, with whether they ended by themselves.
    answers: Vec<Option<(String, bool)>>,
    /// The seat that gave each answer, or is asked for it, by the answer's number.
    speakers: BTreeMap<u32, Seat>,
}

/// Begins a task.
pub(super) fn begin(
    scenario: &Scenario,
    split: Split,
    seed: u32,
) -> Result<StepResult, PluginFailure> {
    let transition = scenario.begin(split, seed)?;
    Ok(turn_of(scenario, transition, None))
}

/// Takes an answer; once all are there that were asked for together, they are played.
pub(super) fn step(
    scenario: &Scenario,
    from: &TeamPosition,
    action: Action,
) -> Result<StepResult, Refused> {
    let due = &from.position.due;
    let waiting: Vec<usize> = (0..due.len()).filter(|&n| from.answers[n].is_none()).collect();
    let seats: Vec<Seat> = waiting.iter().map(|&n| due[n].request.seat.clone()).collect();
    let place = action.role.as_deref().map_or(Ok(0), |role| place_of(&seats, role))?;
    let mut position = from.clone();
    position.answers[waiting[place]] = Some((action.text, action.complete));
    if waiting.len() > 1 {
        let observation = asked(scenario, &position);
        let next = Ok(Position::Team(Box::new(position)));
        return Ok(StepResult { observation, earnings: None, metadata: Map::new(), next });
    }
    let answers: Vec<Answer> = position
        .answers
        .iter()
        .flatten()
        .map(|(text, complete)| Answer { text, complete: *complete, forced: false })
        .collect();
    let transition = scenario.answer(&position.position, &answers)?;
    Ok(turn_of(scenario, transition, Some(from)))
}

fn turn_of(scenario: &Scenario, transition: Transition, from: Option<&TeamPosition>) -> StepResult {
    let earnings = from.map(|from| earned(scenario, &transition, from));
    let metadata = reported(&transition);
    match transition.next {
        Next::Ended(ending) => StepResult {
            observation: ended(&transition.events),
            earnings,
            metadata,
            next: Err(ending),
        },
        Next::Asked(position) => {
            let answers = vec![None; position.due.len()];
            let asked_now = position.due.iter().map(|due| (due.number, due.request.seat.clone()));
            let mut speakers = from.map(|from| from.speakers.clone()).unwrap_or_default();
            speakers.extend(asked_now);
            let position = TeamPosition { position, answers, speakers };
            let observation = asked(scenario, &position);
            StepResult {
                observation,
                earnings,
                metadata,
                next: Ok(Position::Team(Box::new(position))),
            }
        }
    }
}

/// Whose turn it is, and what that role is told.
fn asked(scenario: &Scenario, from: &TeamPosition) -> Map<String, Value> {
    let due = &from.position.due;
    let waiting: Vec<&Due> = due
        .iter()
        .zip(&from.answers)
        .filter(|(_, given)| given.is_none())
        .map(|(due, _)| due)
        .collect();
    let Some(first) = waiting.first() else { return Map::new() };
    let seats = scenario.seats();
    let number = |due: &&Due| seats.iter().position(|seat| *seat == due.request.seat);
    let told = first.messages.iter().rev().find(|message| message.author == Author::User);
    let fields = [
        ("text", json!(told.map_or("", |message| &message.text))),
        ("role", json!(first.request.seat.to_string())),
        ("messages", first.messages.iter().map(as_chat).collect()),
        ("turn", json!(first.turn)),
        ("current_player_id", json!(number(first))),
        ("legal_players", waiting.iter().map(|due| json!(number(due))).collect()),
    ];
    let mut observation: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if !first.tools.is_empty() {
        observation.insert("tools".to_owned(), json!(first.tools[..]));
    }
    if !first.request.thread.is_empty() {
        observation.insert("thread".to_owned(), json!(first.request.thread));
    }
    observation
}

fn as_chat(message: &Message) -> Value {
    json!({ "role": message.author.name(), "content": message.text })
}

/// What the last moves led to; no role is asked any more.
fn ended(events: &[Event]) -> Map<String, Value> {
    let said = events.iter().filter_map(|event| match event {
        Event::Acted { feedback, .. } if !feedback.is_empty() => Some(feedback.as_str()),
        _ => None,
    });
    let text = said.collect::<Vec<_>>().join("\n");
    Map::from_iter([("text".to_owned(), json!(text)), ("role".to_owned(), Value::Null)])
}

/// What answers were worth, and what the workflow now says of earlier ones. A seat
/// that answered twice has its own share once.
fn earned(scenario: &Scenario, transition: &Transition, from: &TeamPosition) -> Earnings {
    let mut earnings = Earnings::none(&scenario.seats());
    earnings.add_team(&transition.team);
    let answered: Vec<&Seat> = from.position.due.iter().map(|due| &due.request.seat).collect();
    for (n, (seat, reward)) in answered.iter().zip(&transition.rewards).enumerate() {
        if !answered[..n].contains(seat) {
            earnings.add_local(seat, &without_team(reward, &transition.team));
        }
    }
    for (seat, reward) in &transition.others {
        earnings.add_local(seat, reward);
    }
    for credit in &transition.credits {
        let mut reward = Reward::default();
        reward.credit(&credit.name, credit.value);
        if let Some(seat) = from.speakers.get(&credit.answer) {
            earnings.add_local(seat, &reward);
        }
    }
    earnings
}

/// A seat's own share of a reward that has the team's in it.
fn without_team(reward: &Reward, team: &Reward) -> Reward {
    let mut own = reward.clone();
    own.add(&team.scaled(-1.0));
    own.parts.retain(|_, value| *value != 0.0);
    own
}

/// What was done and what was said of earlier answers.
fn reported(transition: &Transition) -> Map<String, Value> {
    let actions: Vec<Value> = transition.events.iter().filter_map(as_action).collect();
    let credits: Vec<Value> = transition
        .credits
        .iter()
        .map(
            |credit| json!({ "answer": credit.answer, "name": credit.name, "value": credit.value }),
        )
        .collect();
    let mut metadata = Map::new();
    if !actions.is_empty() {
        metadata.insert("actions".to_owned(), json!(actions));
    }
    if !credits.is_empty() {
        metadata.insert("credits".to_owned(), json!(credits));
    }
    if !transition.accepted.is_empty() {
        let accepted = transition.accepted.iter().all(|accepted| *accepted);
        metadata.insert("accepted".to_owned(), json!(accepted));
    }
    metadata
}

fn as_action(event: &Event) -> Option<Value> {
    let Event::Acted { action, accepted, feedback, .. } = event else { return None };
    let seat = Seat::numbered(&action.role, action.instance);
    Some(json!({
        "role": seat.to_string(),
        "kind": action.kind,
        "text": action.text,
        "accepted": accepted,
        "feedback": feedback,
    }))
}
