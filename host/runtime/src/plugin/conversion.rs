//! Between the generated types of the contract and the SDK's, which are the
//! same words. What comes from a guest is checked here, and nowhere else:
//! lengths, counts, finite numbers, seats.

use plugin_sdk::environment::{Award, Effect, Outcome, Recipient, Task};
use plugin_sdk::types::{
    Action, ActionKind, Configured, Domain, Fault, Image, Move, Needs, Part, Seat, Setting, Split,
    Status, Value,
};
use plugin_sdk::workflow::{
    Author, Briefing, Call, Credit, Directive, Event, Message, Request, Role, Step, View,
};

use super::bindings::exports::troupe::plugin::{environment as env, interpreter, workflow as flow};
use super::bindings::troupe::plugin::types as wit;
use super::description::{
    EnvironmentConfiguration, EnvironmentDescription, InterpreterDescription,
    WorkflowConfiguration, WorkflowDescription,
};
use super::failure::Cause;

/// How much of each thing one answer may hold; a text is bounded by
/// `plugins.limits.text_kib`, and these keep many short ones from adding up.
const AWARDS: usize = 64;
const NAME_BYTES: usize = 64;
const WORDS: usize = 65_536;
const WORD_BYTES: usize = 256;
const REQUESTS: usize = 64;
const MESSAGES: usize = 256;
const CREDITS: usize = 256;
const CALLS: usize = 64;
const MOVES: usize = 64;
const PARTS: usize = 64;
/// Bytes of an answer that the expert demonstrates: policies are to say such.
const DEMONSTRATION_BYTES: usize = 64 << 10;
/// Texts of `plugins.limits.text_kib` that all messages of a directive may come to.
const TEXTS_PER_DIRECTIVE: usize = 4;
/// Rewards beyond this are faults, and would drown all others when averaged.
const MAX_REWARD: f64 = 1e12;
/// Bytes kept of a problem's text: it is for people to read.
const PROBLEM_BYTES: usize = 4096;

/// Refuses more than `most` of something.
pub(super) fn at_most(what: &str, count: usize, most: usize) -> Result<(), Cause> {
    if count <= most {
        return Ok(());
    }
    Err(Cause::invalid(format!("{what} come to {count}; {most} is the most")))
}

/// Checks what a guest returns against the limit on one text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLimit {
    pub(super) text_kib: usize,
}

impl TextLimit {
    pub(super) fn bytes(self, what: &str, bytes: &[u8]) -> Result<(), Cause> {
        if bytes.len() <= self.text_kib.saturating_mul(1 << 10) {
            return Ok(());
        }
        Err(Cause::TextTooLong { what: what.to_owned(), text_kib: self.text_kib })
    }

    pub(super) fn text(self, what: &str, text: String) -> Result<String, Cause> {
        self.bytes(what, text.as_bytes())?;
        Ok(text)
    }

    /// A state as the guest saved it, if it did.
    pub(super) fn saved(
        self,
        answer: Result<Option<Vec<u8>>, wit::Problem>,
    ) -> Result<Option<std::sync::Arc<[u8]>>, Cause> {
        let Some(bytes) = answer.map_err(|from| problem(from, self))? else { return Ok(None) };
        self.bytes("its saved state", &bytes)?;
        Ok(Some(bytes.into()))
    }

    /// What the expert says.
    pub(super) fn demonstration(self, what: &str, text: String) -> Result<String, Cause> {
        at_most(&format!("the bytes of {what}"), text.len(), DEMONSTRATION_BYTES)?;
        self.text(what, text)
    }

    /// What somebody is told: texts and pictures.
    pub(super) fn parts(self, what: &str, parts: Vec<wit::Part>) -> Result<Vec<Part>, Cause> {
        at_most(&format!("the parts of {what}"), parts.len(), PARTS)?;
        let bytes = parts.iter().map(|part| match part {
            wit::Part::Text(text) => text.len(),
            wit::Part::Image(image) => image.data.len() + image.description.len(),
        });
        let most = self.text_kib.saturating_mul(1 << 10);
        if bytes.sum::<usize>() > most {
            return Err(Cause::TextTooLong { what: what.to_owned(), text_kib: self.text_kib });
        }
        Ok(parts.into_iter().map(part).collect())
    }

    fn texts<const N: usize>(self, texts: [(&str, &String); N]) -> Result<(), Cause> {
        texts.iter().try_for_each(|(what, text)| self.bytes(what, text.as_bytes()))
    }
}

fn part(from: wit::Part) -> Part {
    match from {
        wit::Part::Text(text) => Part::Text(text),
        wit::Part::Image(wit::Image { media_type, data, description }) => {
            Part::Image(Image { media_type, data, description })
        }
    }
}

fn settings(from: Vec<wit::Setting>, limit: TextLimit) -> Result<Vec<Setting>, Cause> {
    let value = |value| match value {
        wit::Value::Integer(value) => Value::Integer(value),
        wit::Value::Number(value) => Value::Number(value),
        wit::Value::Flag(value) => Value::Flag(value),
        wit::Value::Text(value) => Value::Text(value),
    };
    let domain = |domain| match domain {
        wit::Domain::Integer(range) => Domain::Integer(range),
        wit::Domain::Number(range) => Domain::Number(range),
        wit::Domain::Flag => Domain::Flag,
        wit::Domain::Choice(words) => Domain::Choice(words),
        wit::Domain::Text => Domain::Text,
    };
    let setting = |wit::Setting { name, summary, domain: accepts, default }| {
        limit.texts([("a setting's name", &name), ("a setting's summary", &summary)])?;
        Ok(Setting { name, summary, domain: domain(accepts), default: value(default) })
    };
    from.into_iter().map(setting).collect()
}

fn action_kinds(from: Vec<wit::ActionKind>, limit: TextLimit) -> Result<Vec<ActionKind>, Cause> {
    let kind = |wit::ActionKind { name, summary }| {
        limit.texts([("an action kind", &name), ("an action kind's summary", &summary)])?;
        Ok(ActionKind { name, summary })
    };
    from.into_iter().map(kind).collect()
}

fn needs(from: wit::Needs) -> Needs {
    Needs { memory_mib: from.memory_mib, fuel: from.fuel }
}

pub(super) fn environment_description(
    from: env::Description,
    limit: TextLimit,
) -> Result<EnvironmentDescription, Cause> {
    limit.texts([
        ("its name", &from.name),
        ("its version", &from.version),
        ("its summary", &from.summary),
    ])?;
    Ok(EnvironmentDescription {
        name: from.name,
        version: from.version,
        summary: from.summary,
        settings: settings(from.settings, limit)?,
        actions: action_kinds(from.actions, limit)?,
        workflows: from.workflows,
        needs: needs(from.needs),
        // What this host knows, it has read; the rest is for later ones.
        extras: Vec::new(),
    })
}

pub(super) fn environment_configuration(
    answer: Result<env::Configuration, wit::Problem>,
    limit: TextLimit,
) -> Result<EnvironmentConfiguration, Cause> {
    let from = answer.map_err(|from| problem(from, limit))?;
    Ok(EnvironmentConfiguration {
        vocabulary: words(from.vocabulary)?,
        max_turns: from.max_turns,
        is_private: from.is_private,
        needs_records: from.needs_records,
        extras: Vec::new(),
    })
}

pub(super) fn workflow_description(
    from: flow::Description,
    limit: TextLimit,
) -> Result<WorkflowDescription, Cause> {
    limit.texts([
        ("its name", &from.name),
        ("its version", &from.version),
        ("its summary", &from.summary),
    ])?;
    Ok(WorkflowDescription {
        name: from.name,
        version: from.version,
        summary: from.summary,
        settings: settings(from.settings, limit)?,
        actions: from.actions,
        needs: needs(from.needs),
        extras: Vec::new(),
    })
}

pub(super) fn workflow_configuration(
    answer: Result<flow::Configuration, wit::Problem>,
    limit: TextLimit,
) -> Result<WorkflowConfiguration, Cause> {
    let from = answer.map_err(|from| problem(from, limit))?;
    let role = |flow::Role { name, summary, seats }| {
        limit.texts([("a role's name", &name), ("a role's summary", &summary)])?;
        Ok(Role { name, summary, seats })
    };
    Ok(WorkflowConfiguration {
        roles: from.roles.into_iter().map(role).collect::<Result<_, Cause>>()?,
        vocabulary: words(from.vocabulary)?,
        extras: Vec::new(),
    })
}

pub(super) fn interpreter_description(
    from: interpreter::Description,
    limit: TextLimit,
) -> Result<InterpreterDescription, Cause> {
    let interpreter::Description { language, version, summary } = from;
    limit.texts([
        ("its language", &language),
        ("its version", &version),
        ("its summary", &summary),
    ])?;
    Ok(InterpreterDescription { language, version, summary })
}

fn words(words: Vec<String>) -> Result<Vec<String>, Cause> {
    at_most("the words of its vocabulary", words.len(), WORDS)?;
    for word in &words {
        at_most("the bytes of a word of its vocabulary", word.len(), WORD_BYTES)?;
        if word.is_empty() || word.contains(char::is_whitespace) {
            let word = brief(word);
            return Err(Cause::invalid(format!("{word:?} in its vocabulary is not one word")));
        }
    }
    Ok(words)
}

/// What a guest says is wrong.
pub(super) fn problem(from: wit::Problem, limit: TextLimit) -> Cause {
    let fault = match from.fault {
        wit::Fault::Settings => Fault::Settings,
        wit::Fault::Task => Fault::Task,
        wit::Fault::State => Fault::State,
        wit::Fault::Order => Fault::Order,
        wit::Fault::Internal => Fault::Internal,
    };
    match limit.text("its problem", from.message) {
        Err(too_long) => too_long,
        Ok(text) => {
            // One line: it must not look like several messages of ours.
            let text = text[..text.floor_char_boundary(PROBLEM_BYTES)].replace(['\n', '\r'], " ");
            Cause::Problem { fault, message: text }
        }
    }
}

pub(super) fn configured(settings: &[Configured]) -> Vec<wit::Configured> {
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

pub(super) fn to_kinds(kinds: &[ActionKind]) -> Vec<wit::ActionKind> {
    let kind = |kind: &ActionKind| wit::ActionKind {
        name: kind.name.clone(),
        summary: kind.summary.clone(),
    };
    kinds.iter().map(kind).collect()
}

pub(super) fn to_seat(seat: &Seat) -> wit::Seat {
    wit::Seat { role: seat.role.clone(), instance: seat.instance }
}

pub(super) fn to_action(action: &Action) -> wit::Action {
    wit::Action { kind: action.kind.clone(), text: action.text.clone() }
}

pub(super) fn to_task(task: &Task) -> env::Task {
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

pub(super) fn to_moves(moves: &[Move]) -> Vec<wit::Move> {
    let one =
        |Move { seat, action }: &Move| wit::Move { seat: to_seat(seat), action: to_action(action) };
    moves.iter().map(one).collect()
}

fn worth(what: &str, value: f64) -> Result<f64, Cause> {
    if value.abs() <= MAX_REWARD {
        return Ok(value);
    }
    Err(Cause::invalid(format!("{what} is {value}, not a number from -1e12 to 1e12")))
}

/// What so many moves led to.
pub(super) fn outcome(
    from: env::Outcome,
    moves: usize,
    limit: TextLimit,
) -> Result<Outcome, Cause> {
    if from.effects.len() != moves {
        let effects = from.effects.len();
        return Err(Cause::invalid(format!("{moves} moves had {effects} effects")));
    }
    at_most("the awards of an outcome", from.awards.len(), AWARDS)?;
    let effect = |env::Effect { accepted, feedback }| {
        Ok(Effect { accepted, feedback: limit.text("its feedback", feedback)? })
    };
    let award = |from| award(from, moves);
    Ok(Outcome {
        effects: from.effects.into_iter().map(effect).collect::<Result<_, Cause>>()?,
        awards: from.awards.into_iter().map(award).collect::<Result<_, Cause>>()?,
        status: match from.status {
            wit::Status::Ongoing => Status::Ongoing,
            wit::Status::Solved => Status::Solved,
            wit::Status::Failed => Status::Failed,
        },
    })
}

fn award(env::Award { to, name, value }: env::Award, moves: usize) -> Result<Award, Cause> {
    at_most("the bytes of an award's name", name.len(), NAME_BYTES)?;
    let value = worth(&format!("the award `{}`", brief(&name)), value)?;
    let to = match to {
        env::Recipient::Team => Recipient::Team,
        env::Recipient::Mover(index) if (index as usize) < moves => Recipient::Mover(index),
        env::Recipient::Mover(index) => {
            return Err(Cause::invalid(format!(
                "an award is for move {index}, but there were {moves}"
            )));
        }
        env::Recipient::Seat(from) => {
            at_most("the bytes of a role", from.role.len(), NAME_BYTES)?;
            Recipient::Seat(Seat { role: from.role, instance: from.instance })
        }
    };
    Ok(Award { to, name, value })
}

/// The expert's action.
pub(super) fn expert(
    answer: Result<Option<wit::Action>, wit::Problem>,
    limit: TextLimit,
) -> Result<Option<Action>, Cause> {
    let Some(action) = answer.map_err(|from| problem(from, limit))? else { return Ok(None) };
    Ok(Some(Action {
        kind: limit.demonstration("the expert's action", action.kind)?,
        text: limit.demonstration("the expert's action", action.text)?,
    }))
}

pub(super) fn to_briefing(briefing: &Briefing) -> flow::Briefing {
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

pub(super) fn to_event(event: &Event) -> flow::Event {
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

/// What a step is checked against.
#[derive(Clone, Copy)]
pub(super) struct Casting<'a> {
    pub(super) roles: &'a [Role],
    pub(super) limit: TextLimit,
}

impl Casting<'_> {
    /// A step that names only seats of the workflow and asks something of somebody.
    pub(super) fn step(self, answer: Result<flow::Step, wit::Problem>) -> Result<Step, Cause> {
        let from = answer.map_err(|from| problem(from, self.limit))?;
        at_most("the credits of a step", from.credits.len(), CREDITS)?;
        let credit = |flow::Credit { answer, name, value, is_last }| {
            at_most("the bytes of a credit's name", name.len(), NAME_BYTES)?;
            let value = worth(&format!("the credit `{}`", brief(&name)), value)?;
            Ok(Credit { answer, name, value, is_last })
        };
        Ok(Step {
            credits: from.credits.into_iter().map(credit).collect::<Result<_, Cause>>()?,
            directive: self.directive(from.directive)?,
        })
    }

    fn directive(self, from: flow::Directive) -> Result<Directive, Cause> {
        Ok(match from {
            flow::Directive::Ask(requests) => Directive::Ask(self.ask(requests)?),
            flow::Directive::Act(moves) => {
                some("acts", moves.len(), "moves", MOVES)?;
                let one = |one| self.one_move(one);
                Directive::Act(moves.into_iter().map(one).collect::<Result<_, Cause>>()?)
            }
            flow::Directive::Call(calls) => {
                some("calls", calls.len(), "calls", CALLS)?;
                let call = |call| self.call(call);
                Directive::Call(calls.into_iter().map(call).collect::<Result<_, Cause>>()?)
            }
            flow::Directive::Wait => Directive::Wait,
            flow::Directive::Finish => Directive::Finish,
        })
    }

    fn one_move(self, wit::Move { seat, action }: wit::Move) -> Result<Move, Cause> {
        let wit::Action { kind, text } = action;
        self.limit.texts([("an action's kind", &kind), ("an action", &text)])?;
        Ok(Move { seat: self.seat(seat)?, action: Action { kind, text } })
    }

    fn call(self, flow::Call { seat, tool, arguments }: flow::Call) -> Result<Call, Cause> {
        self.limit.texts([("a tool's name", &tool), ("a tool's arguments", &arguments)])?;
        Ok(Call { seat: self.seat(seat)?, tool, arguments })
    }

    fn ask(self, from: Vec<flow::Request>) -> Result<Vec<Request>, Cause> {
        some("asks", from.len(), "requests", REQUESTS)?;
        let messages = || from.iter().flat_map(|request| &request.messages);
        let longest = from.iter().map(|request| request.messages.len()).max().unwrap_or(0);
        at_most("the messages of a request", longest, MESSAGES)?;
        let bytes = messages().flat_map(|message| &message.parts).map(|part| match part {
            wit::Part::Text(text) => text.len(),
            wit::Part::Image(image) => image.data.len() + image.description.len(),
        });
        let most = TEXTS_PER_DIRECTIVE * self.limit.text_kib.saturating_mul(1 << 10);
        at_most("the bytes of its messages", bytes.sum(), most)?;
        from.into_iter().map(|from| self.request(from)).collect()
    }

    fn request(self, from: flow::Request) -> Result<Request, Cause> {
        let seat = self.seat(from.seat)?;
        if from.messages.is_empty() {
            return Err(Cause::invalid(format!("it asks `{seat}` without a message")));
        }
        at_most("the tools of a request", from.tools.len(), CALLS)?;
        at_most("the bytes of a thread's name", from.thread.len(), NAME_BYTES)?;
        let situation = from.situation.as_deref().map_or(0, str::len);
        at_most("the bytes of a situation", situation, WORD_BYTES)?;
        let message = |message: flow::Message| {
            let author = match message.author {
                flow::Author::System => Author::System,
                flow::Author::User => Author::User,
                flow::Author::Assistant => Author::Assistant,
                flow::Author::Tool => Author::Tool,
            };
            Ok(Message { author, parts: self.limit.parts("a message", message.parts)? })
        };
        Ok(Request {
            seat,
            messages: from.messages.into_iter().map(message).collect::<Result<_, Cause>>()?,
            tools: from.tools,
            thread: from.thread,
            caller: from.caller,
            is_open: from.is_open,
            situation: from.situation,
        })
    }

    fn seat(self, from: wit::Seat) -> Result<Seat, Cause> {
        let wit::Seat { role, instance } = from;
        match self.roles.iter().find(|known| known.name == role) {
            Some(known) if instance < known.seats => Ok(Seat { role, instance }),
            Some(known) => Err(Cause::invalid(format!(
                "it names seat {instance} of `{role}`, which has {}",
                known.seats
            ))),
            None => Err(Cause::invalid(format!(
                "it names a role `{}` that it does not have",
                brief(&role)
            ))),
        }
    }
}

/// Refuses none, and more than `most`.
fn some(does: &str, count: usize, what: &str, most: usize) -> Result<(), Cause> {
    if count == 0 {
        return Err(Cause::invalid(format!("it {does} without {what}")));
    }
    at_most(&format!("its {what}"), count, most)
}

/// As much of a guest's text as an error message should carry.
fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(64)]
}
