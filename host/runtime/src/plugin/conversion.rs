//! Between the contract's types and ours. What comes from a guest is checked
//! here, and nowhere else: lengths, finite numbers, names.

use super::bindings::exports::troupe::plugin::{environment as env, interpreter, workflow as flow};
use super::description::{
    ActionKind, EnvironmentDescription, InterpreterDescription, Role, WorkflowDescription,
};
use super::dialogue::{Briefing, Directive, Event, Program, Request};
use super::failure::{Cause, Problem};
use super::setting::{Domain, Setting, Settings, Value};
use super::task::{Outcome, Split, Task};
use crate::trajectory::{Action, Author, Message, Reward, Status};

/// How much of each thing one answer may hold; a text is bounded by
/// `plugins.limits.text_kib`, and these keep many short ones from adding up.
const REWARD_PARTS: usize = 64;
const NAME_BYTES: usize = 64;
const WORDS: usize = 65_536;
const WORD_BYTES: usize = 256;
const REQUESTS: usize = 64;
const MESSAGES: usize = 256;
/// Bytes of an answer that the expert demonstrates: policies are to say such.
const DEMONSTRATION_BYTES: usize = 64 << 10;
/// Texts of `plugins.limits.text_kib` that all messages of a directive may come to.
const TEXTS_PER_DIRECTIVE: usize = 4;

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

    /// What the expert says.
    pub(super) fn demonstration(self, what: &str, text: String) -> Result<String, Cause> {
        at_most(&format!("the bytes of {what}"), text.len(), DEMONSTRATION_BYTES)?;
        self.text(what, text)
    }

    fn texts<const N: usize>(self, texts: [(&str, &String); N]) -> Result<(), Cause> {
        texts.iter().try_for_each(|(what, text)| self.bytes(what, text.as_bytes()))
    }
}

/// The two interfaces describe settings in the same words, but to the
/// generated code they are different types.
macro_rules! convert_settings {
    ($interface:ident, $settings:ident, $configured:ident) => {
        fn $settings(
            settings: Vec<$interface::Setting>,
            limit: TextLimit,
        ) -> Result<Vec<Setting>, Cause> {
            let domain = |domain| match domain {
                $interface::Domain::Integer((low, high)) => Domain::Integer(low, high),
                $interface::Domain::Number((low, high)) => Domain::Number(low, high),
                $interface::Domain::Flag => Domain::Flag,
                $interface::Domain::Choice(words) => Domain::Choice(words),
                $interface::Domain::Text => Domain::Text,
            };
            let value = |value| match value {
                $interface::Value::Integer(value) => Value::Integer(value),
                $interface::Value::Number(value) => Value::Number(value),
                $interface::Value::Flag(value) => Value::Flag(value),
                $interface::Value::Text(value) => Value::Text(value),
            };
            let setting = |setting: $interface::Setting| {
                limit.texts([
                    ("a setting's name", &setting.name),
                    ("a setting's summary", &setting.summary),
                ])?;
                Ok(Setting {
                    name: setting.name,
                    summary: setting.summary,
                    domain: domain(setting.domain),
                    default: value(setting.default),
                })
            };
            settings.into_iter().map(setting).collect()
        }

        pub(super) fn $configured(settings: &Settings) -> Vec<$interface::Configured> {
            let value = |value: &Value| match value {
                Value::Integer(value) => $interface::Value::Integer(*value),
                Value::Number(value) => $interface::Value::Number(*value),
                Value::Flag(value) => $interface::Value::Flag(*value),
                Value::Text(value) => $interface::Value::Text(value.clone()),
            };
            settings
                .iter()
                .map(|(name, given)| $interface::Configured {
                    name: name.to_owned(),
                    value: value(given),
                })
                .collect()
        }
    };
}

convert_settings!(env, environment_settings, environment_configured);
convert_settings!(flow, workflow_settings, workflow_configured);

pub(super) fn environment_description(
    from: env::Description,
    limit: TextLimit,
) -> Result<EnvironmentDescription, Cause> {
    limit.texts([
        ("its name", &from.name),
        ("its version", &from.version),
        ("its summary", &from.summary),
    ])?;
    let action = |kind: env::ActionKind| {
        limit
            .texts([("an action kind", &kind.name), ("an action kind's summary", &kind.summary)])?;
        Ok(ActionKind { name: kind.name, summary: kind.summary })
    };
    Ok(EnvironmentDescription {
        name: from.name,
        version: from.version,
        summary: from.summary,
        settings: environment_settings(from.settings, limit)?,
        actions: from.actions.into_iter().map(action).collect::<Result<_, Cause>>()?,
        workflows: from.workflows,
        max_turns: from.max_turns,
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
    let role = |role: flow::Role| {
        limit.texts([("a role's name", &role.name), ("a role's summary", &role.summary)])?;
        Ok(Role { name: role.name, summary: role.summary })
    };
    Ok(WorkflowDescription {
        name: from.name,
        version: from.version,
        summary: from.summary,
        settings: workflow_settings(from.settings, limit)?,
        roles: from.roles.into_iter().map(role).collect::<Result<_, Cause>>()?,
        actions: from.actions,
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

pub(super) fn words(words: Vec<String>) -> Result<Vec<String>, Cause> {
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

pub(super) fn task(task: &Task) -> env::Task {
    env::Task {
        split: match task.split {
            Split::Train => env::Split::Train,
            Split::Validation => env::Split::Validation,
            Split::Test => env::Split::Test,
        },
        seed: task.seed,
        settings: environment_configured(&task.settings),
        entry: task.entry.clone(),
    }
}

pub(super) fn action(action: &Action) -> env::Action {
    env::Action { kind: action.kind.clone(), text: action.text.clone() }
}

/// Rewards beyond this are faults, and would drown all others when averaged.
const MAX_REWARD: f64 = 1e12;

fn worth(what: &str, value: f64) -> Result<f64, Cause> {
    if value.abs() <= MAX_REWARD {
        return Ok(value);
    }
    Err(Cause::invalid(format!("{what} is {value}, not a number from -1e12 to 1e12")))
}

pub(super) fn outcome(from: env::Outcome, limit: TextLimit) -> Result<Outcome, Cause> {
    let mut reward = Reward {
        team: worth("the team reward", from.team)?,
        local: worth("the local reward", from.local)?,
        ..Reward::default()
    };
    at_most("the parts of its reward", from.parts.len(), REWARD_PARTS)?;
    for part in from.parts {
        at_most("the bytes of a reward part's name", part.name.len(), NAME_BYTES)?;
        let value = worth(&format!("the reward part `{}`", brief(&part.name)), part.value)?;
        *reward.parts.entry(part.name).or_default() += value;
    }
    Ok(Outcome {
        feedback: limit.text("its feedback", from.feedback)?,
        accepted: from.accepted,
        reward,
        status: match from.status {
            env::Status::Ongoing => Status::Ongoing,
            env::Status::Solved => Status::Solved,
            env::Status::Failed => Status::Failed,
        },
    })
}

pub(super) fn environment_problem(from: env::Problem, limit: TextLimit) -> Cause {
    let (make, text): (fn(String) -> Problem, String) = match from {
        env::Problem::InvalidSettings(text) => (Problem::InvalidSettings, text),
        env::Problem::InvalidTask(text) => (Problem::InvalidTask, text),
        env::Problem::InvalidState(text) => (Problem::InvalidState, text),
        env::Problem::Finished => return Problem::Finished.into(),
        env::Problem::Internal(text) => (Problem::Internal, text),
    };
    problem(make, text, limit)
}

pub(super) fn workflow_problem(from: flow::Problem, limit: TextLimit) -> Cause {
    let (make, text): (fn(String) -> Problem, String) = match from {
        flow::Problem::InvalidSettings(text) => (Problem::InvalidSettings, text),
        flow::Problem::InvalidState(text) => (Problem::InvalidState, text),
        flow::Problem::UnexpectedEvent(text) => (Problem::UnexpectedEvent, text),
        flow::Problem::Internal(text) => (Problem::Internal, text),
    };
    problem(make, text, limit)
}

/// Bytes kept of a problem's text: it is for people to read.
const PROBLEM_BYTES: usize = 4096;

fn problem(make: fn(String) -> Problem, text: String, limit: TextLimit) -> Cause {
    match limit.text("its problem", text) {
        Err(too_long) => too_long,
        Ok(text) => {
            // One line: it must not look like several messages of ours.
            let text = text[..text.floor_char_boundary(PROBLEM_BYTES)].replace(['\n', '\r'], " ");
            make(text).into()
        }
    }
}

pub(super) fn briefing(briefing: &Briefing) -> flow::Briefing {
    flow::Briefing {
        environment: briefing.environment.clone(),
        rules: briefing.rules.clone(),
        actions: briefing.actions.clone(),
        settings: workflow_configured(&briefing.settings),
        max_turns: briefing.max_turns,
    }
}

pub(super) fn event(event: &Event) -> flow::Event {
    match event.clone() {
        Event::Begun(observation) => flow::Event::Begun(observation),
        Event::Replied { role, text, complete } => {
            flow::Event::Replied(flow::Reply { role, text, complete })
        }
        Event::Acted { role, accepted, feedback, observation, status } => {
            let status = match status {
                Status::Ongoing => flow::Status::Ongoing,
                Status::Solved => flow::Status::Solved,
                Status::Failed => flow::Status::Failed,
            };
            flow::Event::Acted(flow::Effect { role, accepted, feedback, observation, status })
        }
        Event::Ran { role, succeeded, stdout, stderr } => {
            flow::Event::Ran(flow::Execution { role, succeeded, stdout, stderr })
        }
    }
}

/// A directive that names only roles of the workflow and asks something of somebody.
pub(super) fn directive(
    from: flow::Directive,
    roles: &[Role],
    limit: TextLimit,
) -> Result<Directive, Cause> {
    Ok(match from {
        flow::Directive::Ask(requests) if requests.is_empty() => {
            return Err(Cause::invalid("it asks nobody"));
        }
        flow::Directive::Ask(requests) => Directive::Ask(ask(requests, roles, limit)?),
        flow::Directive::Act(flow::Move { role, kind, text }) => {
            check_role(&role, roles)?;
            limit.texts([("an action's kind", &kind), ("an action", &text)])?;
            Directive::Act(Action { role, kind, text })
        }
        flow::Directive::Run(flow::Program { role, language, source, stdin }) => {
            check_role(&role, roles)?;
            limit.texts([
                ("a language", &language),
                ("a program", &source),
                ("an input", &stdin),
            ])?;
            Directive::Run(Program { role, language, source, stdin })
        }
        flow::Directive::Wait => Directive::Wait,
        flow::Directive::Finish => Directive::Finish,
    })
}

fn ask(from: Vec<flow::Request>, roles: &[Role], limit: TextLimit) -> Result<Vec<Request>, Cause> {
    at_most("its requests", from.len(), REQUESTS)?;
    let messages = || from.iter().flat_map(|request| &request.messages);
    let longest = from.iter().map(|request| request.messages.len()).max().unwrap_or(0);
    at_most("the messages of a request", longest, MESSAGES)?;
    let bytes = messages().map(|message| message.text.len()).sum();
    let most = TEXTS_PER_DIRECTIVE * limit.text_kib.saturating_mul(1 << 10);
    at_most("the bytes of its messages", bytes, most)?;
    from.into_iter().map(|from| request(from, roles, limit)).collect()
}

fn request(from: flow::Request, roles: &[Role], limit: TextLimit) -> Result<Request, Cause> {
    check_role(&from.role, roles)?;
    if from.messages.is_empty() {
        return Err(Cause::invalid(format!("it asks `{}` without a message", from.role)));
    }
    let message = |message: flow::Message| {
        let author = match message.author {
            flow::Author::System => Author::System,
            flow::Author::User => Author::User,
            flow::Author::Assistant => Author::Assistant,
        };
        Ok(Message { author, text: limit.text("a message", message.text)? })
    };
    let messages = from.messages.into_iter().map(message).collect::<Result<_, Cause>>()?;
    Ok(Request { role: from.role, messages })
}

fn check_role(role: &str, roles: &[Role]) -> Result<(), Cause> {
    if roles.iter().any(|known| known.name == role) {
        return Ok(());
    }
    Err(Cause::invalid(format!("it names a role `{}` that it does not describe", brief(role))))
}

/// As much of a guest's text as an error message should carry.
fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(64)]
}
