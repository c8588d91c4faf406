//! What plugins say of themselves, and what they say follows from settings.

use plugin_sdk::environment::SEATS;
use plugin_sdk::types::{ActionKind, Domain, Extra, Needs, Setting, Value};
use plugin_sdk::workflow::Role;

use super::super::bindings::exports::troupe::plugin::{
    environment as env, interpreter, workflow as flow,
};
use super::super::description::{
    EnvironmentConfiguration, EnvironmentDescription, InterpreterDescription,
    WorkflowConfiguration, WorkflowDescription, check_environment_configuration,
    check_workflow_configuration,
};
use super::super::failure::Cause;
use super::{TextLimit, at_most, brief, problem, wit};

const WORDS: usize = 65_536;
const WORD_BYTES: usize = 256;
const EXTRA_BYTES: usize = 4096;

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

fn heading(limit: TextLimit, [name, version, summary]: [&String; 3]) -> Result<(), Cause> {
    limit.texts([("its name", name), ("its version", version), ("its summary", summary)])
}

fn needs(from: wit::Needs) -> Needs {
    Needs { memory_mib: from.memory_mib, fuel: from.fuel }
}

pub(in crate::plugin) fn environment_description(
    from: env::Description,
    limit: TextLimit,
) -> Result<EnvironmentDescription, Cause> {
    heading(limit, [&from.name, &from.version, &from.summary])?;
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

pub(in crate::plugin) fn environment_configuration(
    answer: Result<env::Configuration, wit::Problem>,
    limit: TextLimit,
) -> Result<EnvironmentConfiguration, Cause> {
    let from = answer.map_err(|from| problem(from, limit))?;
    let configuration = EnvironmentConfiguration {
        vocabulary: words(from.vocabulary)?,
        max_turns: from.max_turns,
        is_private: from.is_private,
        needs_records: from.needs_records,
        extras: known(from.extras)?,
    };
    check_environment_configuration(&configuration).map_err(Cause::invalid)?;
    Ok(configuration)
}

pub(in crate::plugin) fn workflow_description(
    from: flow::Description,
    limit: TextLimit,
) -> Result<WorkflowDescription, Cause> {
    heading(limit, [&from.name, &from.version, &from.summary])?;
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

pub(in crate::plugin) fn workflow_configuration(
    answer: Result<flow::Configuration, wit::Problem>,
    limit: TextLimit,
) -> Result<WorkflowConfiguration, Cause> {
    let from = answer.map_err(|from| problem(from, limit))?;
    let role = |flow::Role { name, summary, seats }| {
        limit.texts([("a role's name", &name), ("a role's summary", &summary)])?;
        Ok(Role { name, summary, seats })
    };
    let configuration = WorkflowConfiguration {
        roles: from.roles.into_iter().map(role).collect::<Result<_, Cause>>()?,
        vocabulary: words(from.vocabulary)?,
        extras: Vec::new(),
    };
    check_workflow_configuration(&configuration).map_err(Cause::invalid)?;
    Ok(configuration)
}

pub(in crate::plugin) fn interpreter_description(
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

/// What this host knows; the rest is for later ones.
fn known(extras: Vec<wit::Extra>) -> Result<Vec<Extra>, Cause> {
    let known = extras.into_iter().filter(|extra| extra.key == SEATS);
    let bounded = |wit::Extra { key, value }| {
        at_most("the bytes of its extra `seats`", value.len(), EXTRA_BYTES)?;
        Ok(Extra { key, value })
    };
    known.take(1).map(bounded).collect()
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
