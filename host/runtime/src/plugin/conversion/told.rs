//! What guests are told: nothing of it has to be checked.

use plugin_sdk::environment::Task;
use plugin_sdk::types::{Action, ActionKind, Configured, Move, Part, Seat, Split, Status, Value};
use plugin_sdk::workflow::{Briefing, Event, View};

use super::super::bindings::exports::troupe::plugin::{environment as env, workflow as flow};
use super::wit;

pub(in crate::plugin) fn configured(settings: &[Configured]) -> Vec<wit::Configured> {
    let value = |value: &Value| match value {
        Value::Integer(value) => wit::Value::Integer(*value),
        Value::Number(value) => wit::Value::Number(*value),
        Value::Flag(value) => wit::Value::Flag(*value),
        Value::Text(value) => wit::Value::Text(value.clone()),
    };
    let configured =
        |one: &Configured| wit::Configured { name: one.name.clone(), value: value(&one.value) };
    settings.iter().map(configured).collect()
}

pub(in crate::plugin) fn to_kinds(kinds: &[ActionKind]) -> Vec<wit::ActionKind> {
    let kind = |kind: &ActionKind| wit::ActionKind {
        name: kind.name.clone(),
        summary: kind.summary.clone(),
    };
    kinds.iter().map(kind).collect()
}

pub(in crate::plugin) fn to_seat(seat: &Seat) -> wit::Seat {
    wit::Seat { role: seat.role.clone(), instance: seat.instance }
}

pub(in crate::plugin) fn to_action(action: &Action) -> wit::Action {
    wit::Action { kind: action.kind.clone(), text: action.text.clone() }
}

pub(in crate::plugin) fn to_task(task: &Task) -> env::Task {
    env::Task {
        split: match task.split {
            Split::Train => wit::Split::Train,
            Split::Validation => wit::Split::Validation,
            Split::Test => wit::Split::Test,
        },
        seed: task.seed,
        settings: configured(&task.settings),
        seats: task.seats.iter().map(to_seat).collect(),
        entry: task.entry.clone(),
    }
}

pub(in crate::plugin) fn to_moves(moves: &[Move]) -> Vec<wit::Move> {
    let one =
        |Move { seat, action }: &Move| wit::Move { seat: to_seat(seat), action: to_action(action) };
    moves.iter().map(one).collect()
}

pub(in crate::plugin) fn to_briefing(briefing: &Briefing) -> flow::Briefing {
    let rules = |(seat, text): &(Option<Seat>, String)| (seat.as_ref().map(to_seat), text.clone());
    flow::Briefing {
        environment: briefing.environment.clone(),
        rules: briefing.rules.iter().map(rules).collect(),
        actions: to_kinds(&briefing.actions),
        settings: configured(&briefing.settings),
        max_turns: briefing.max_turns,
        revealed: briefing.revealed.clone(),
        tools: briefing
            .tools
            .iter()
            .map(|tool| flow::Tool {
                name: tool.name.clone(),
                summary: tool.summary.clone(),
                parameters: tool.parameters.clone(),
            })
            .collect(),
    }
}

fn to_view(view: &View) -> flow::View {
    let part = |part: &Part| match part {
        Part::Text(text) => wit::Part::Text(text.clone()),
        Part::Image(image) => wit::Part::Image(wit::Image {
            media_type: image.media_type.clone(),
            data: image.data.clone(),
            description: image.description.clone(),
        }),
    };
    flow::View {
        seat: view.seat.as_ref().map(to_seat),
        parts: view.parts.iter().map(part).collect(),
    }
}

pub(in crate::plugin) fn to_event(event: &Event) -> flow::Event {
    match event {
        Event::Begun(views) => flow::Event::Begun(views.iter().map(to_view).collect()),
        Event::Replied(reply) => flow::Event::Replied(flow::Reply {
            seat: to_seat(&reply.seat),
            answer: reply.answer,
            thread: reply.thread.clone(),
            text: reply.text.clone(),
            complete: reply.complete,
        }),
        Event::Acted(seen) => flow::Event::Acted(flow::Consequence {
            results: seen
                .results
                .iter()
                .map(|result| flow::ResultOfMove {
                    seat: to_seat(&result.seat),
                    accepted: result.accepted,
                    feedback: result.feedback.clone(),
                })
                .collect(),
            views: seen.views.iter().map(to_view).collect(),
            revealed: seen.revealed.clone(),
            status: match seen.status {
                Status::Ongoing => wit::Status::Ongoing,
                Status::Solved => wit::Status::Solved,
                Status::Failed => wit::Status::Failed,
            },
        }),
        Event::Returned(returned) => flow::Event::Returned(
            returned
                .iter()
                .map(|one| flow::Returned {
                    seat: to_seat(&one.seat),
                    tool: one.tool.clone(),
                    succeeded: one.succeeded,
                    answer: one.answer.clone(),
                })
                .collect(),
        ),
    }
}
