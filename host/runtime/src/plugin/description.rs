//! What a plugin says it is, checked once when it is loaded.

use std::collections::BTreeSet;

use plugin_sdk::types::{Domain, Setting, Value};

pub use plugin_sdk::environment::{
    Configuration as EnvironmentConfiguration, Description as EnvironmentDescription,
};
pub use plugin_sdk::interpreter::Description as InterpreterDescription;
pub use plugin_sdk::workflow::{
    Configuration as WorkflowConfiguration, Description as WorkflowDescription,
};

/// Turns per role an environment may ask for.
const MAX_TURNS: u32 = 10_000;
/// Bytes a name may have.
const NAME_BYTES: usize = 64;
/// Characters of what is said about a plugin, a role or a setting, and of what
/// is said about an action, which policies are told.
const SUMMARY_CHARACTERS: usize = 200;
const FORMAT_CHARACTERS: usize = 2000;
/// Settings, kinds of action, choices of a setting or recommended workflows.
const ENTRIES: usize = 256;
const ROLES: usize = 64;
/// Seats of a role.
const SEATS: u32 = 64;

/// What is wrong with an environment's description, if something is.
pub(super) fn check_environment(description: &EnvironmentDescription) -> Result<(), String> {
    let EnvironmentDescription { name, version, summary, settings, actions, workflows, .. } =
        description;
    check_heading(name, version, summary)?;
    check_settings(settings)?;
    check_count("kinds of action", actions.len(), ENTRIES)?;
    check_names("action kind", actions.iter().map(|kind| &kind.name))?;
    for kind in actions {
        let what = format!("what is said about the action `{}`", kind.name);
        check_length(&what, &kind.summary, FORMAT_CHARACTERS)?;
    }
    check_count("recommended workflows", workflows.len(), ENTRIES)?;
    for workflow in workflows {
        check_name("the recommended workflow", workflow, '-')?;
    }
    if actions.is_empty() { Err("it describes no kind of action".to_owned()) } else { Ok(()) }
}

/// What is wrong with what follows from an environment's settings.
pub(super) fn check_environment_configuration(
    configuration: &EnvironmentConfiguration,
) -> Result<(), String> {
    let turns = configuration.max_turns;
    if (1..=MAX_TURNS).contains(&turns) {
        return Ok(());
    }
    Err(format!("max-turns is {turns}, not 1 to {MAX_TURNS}"))
}

/// What is wrong with a workflow's description, if something is.
pub(super) fn check_workflow(description: &WorkflowDescription) -> Result<(), String> {
    let WorkflowDescription { name, version, summary, settings, actions, .. } = description;
    check_heading(name, version, summary)?;
    check_settings(settings)?;
    check_count("kinds of action", actions.len(), ENTRIES)?;
    check_names("action kind", actions.iter())
}

/// What is wrong with what follows from a workflow's settings.
pub(super) fn check_workflow_configuration(
    configuration: &WorkflowConfiguration,
) -> Result<(), String> {
    let roles = &configuration.roles;
    check_count("roles", roles.len(), ROLES)?;
    check_names("role", roles.iter().map(|role| &role.name))?;
    for role in roles {
        check_summary("what is said about a role", &role.summary)?;
        if !(1..=SEATS).contains(&role.seats) {
            return Err(format!(
                "the role `{}` has {} seats, not 1 to {SEATS}",
                role.name, role.seats
            ));
        }
    }
    if roles.is_empty() { Err("it has no role".to_owned()) } else { Ok(()) }
}

/// What is wrong with an interpreter's description, if something is.
pub(super) fn check_interpreter(description: &InterpreterDescription) -> Result<(), String> {
    let InterpreterDescription { language, version, summary } = description;
    check_name("the language", language, '-')?;
    check_summary("the version", version)?;
    check_summary("the summary", summary)?;
    if version.trim().is_empty() { Err("the version is empty".to_owned()) } else { Ok(()) }
}

fn check_heading(name: &str, version: &str, summary: &str) -> Result<(), String> {
    check_name("the name", name, '-')?;
    check_version(version)?;
    check_summary("the summary", summary)
}

fn check_name(what: &str, name: &str, joint: char) -> Result<(), String> {
    if name.len() > NAME_BYTES {
        return Err(format!("{what} is longer than {NAME_BYTES} bytes"));
    }
    let word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split(joint).all(word) {
        return Ok(());
    }
    let case = if joint == '-' { "kebab-case" } else { "snake_case" };
    Err(format!("{what} {name:?} is not in {case}"))
}

fn check_names<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        check_name(&format!("the {what}"), name, '-')?;
        if !seen.insert(name) {
            return Err(format!("the {what} `{name}` is described twice"));
        }
    }
    Ok(())
}

fn check_version(version: &str) -> Result<(), String> {
    if version.len() > NAME_BYTES {
        return Err(format!("the version is longer than {NAME_BYTES} bytes"));
    }
    let fits = version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    if fits { Ok(()) } else { Err(format!("the version {version:?} is not one like 1.2.0")) }
}

fn check_count(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count <= most { Ok(()) } else { Err(format!("it has {count} {what}; {most} is the most")) }
}

fn check_summary(what: &str, text: &str) -> Result<(), String> {
    check_length(what, text, SUMMARY_CHARACTERS)
}

fn check_length(what: &str, text: &str, most: usize) -> Result<(), String> {
    let length = text.chars().count();
    if length <= most {
        return Ok(());
    }
    Err(format!("{what} has {length} characters; {most} is the most"))
}

fn check_settings(settings: &[Setting]) -> Result<(), String> {
    check_count("settings", settings.len(), ENTRIES)?;
    let mut seen = BTreeSet::new();
    for setting in settings {
        let name = &setting.name;
        check_name("the setting", name, '_')?;
        check_summary(&format!("what is said about the setting `{name}`"), &setting.summary)?;
        if !seen.insert(name) {
            return Err(format!("the setting `{name}` is described twice"));
        }
        check_domain(setting).map_err(|reason| format!("the setting `{name}` {reason}"))?;
    }
    Ok(())
}

fn check_domain(setting: &Setting) -> Result<(), String> {
    let Setting { domain, default, .. } = setting;
    if let Value::Text(text) = default {
        check_length("has a default that", text, FORMAT_CHARACTERS)?;
    }
    if let Domain::Choice(words) = domain {
        check_count("choices", words.len(), ENTRIES)?;
        words.iter().try_for_each(|word| check_summary("has a choice that", word))?;
    }
    let sound = match domain {
        Domain::Integer((low, high)) => low <= high,
        Domain::Number((low, high)) => low.is_finite() && high.is_finite() && low <= high,
        Domain::Choice(words) => !words.is_empty(),
        Domain::Flag | Domain::Text => true,
    };
    if !sound {
        return Err("accepts no value".to_owned());
    }
    let finite = !matches!(default, Value::Number(value) if !value.is_finite());
    if finite && domain.contains(default) {
        return Ok(());
    }
    Err(format!("has the default {default}, but must be {domain}"))
}

#[cfg(test)]
mod tests {
    use plugin_sdk::types::{ActionKind, Needs};
    use plugin_sdk::workflow::Role;

    use super::*;

    fn environment() -> EnvironmentDescription {
        EnvironmentDescription {
            name: "plan-path".into(),
            version: "1.2.0".into(),
            summary: String::new(),
            settings: vec![Setting {
                name: "grid_size".into(),
                summary: String::new(),
                domain: Domain::Integer((2, 9)),
                default: Value::Integer(4),
            }],
            actions: vec![ActionKind { name: "moves".into(), summary: String::new() }],
            workflows: vec!["solo".into()],
            needs: Needs::NOTHING,
            extras: Vec::new(),
        }
    }

    fn fault(change: impl FnOnce(&mut EnvironmentDescription)) -> String {
        let mut description = environment();
        change(&mut description);
        check_environment(&description).unwrap_err()
    }

    #[test]
    fn a_description_is_short() {
        assert_eq!(
            fault(|d| d.summary = "ä".repeat(201)),
            "the summary has 201 characters; 200 is the most"
        );
        assert_eq!(
            fault(|d| d.settings[0].summary = "x".repeat(1 << 20)),
            "what is said about the setting `grid_size` has 1048576 characters; 200 is the most"
        );
        let setting = |index: usize| Setting {
            name: format!("s{index}"),
            summary: String::new(),
            domain: Domain::Flag,
            default: Value::Flag(true),
        };
        assert_eq!(
            fault(|d| d.settings = (0..100_000).map(setting).collect()),
            "it has 100000 settings; 256 is the most"
        );
        let action = |index| ActionKind { name: format!("a{index}"), summary: String::new() };
        assert_eq!(
            fault(|d| d.actions = (0..257).map(action).collect()),
            "it has 257 kinds of action; 256 is the most"
        );
        let role = |index| Role { name: format!("r{index}"), summary: String::new(), seats: 1 };
        let roles = |count: usize| WorkflowConfiguration {
            roles: (0..count).map(role).collect(),
            ..WorkflowConfiguration::default()
        };
        let fault = |configuration| check_workflow_configuration(&configuration).unwrap_err();
        assert_eq!(fault(roles(65)), "it has 65 roles; 64 is the most");
        assert_eq!(fault(roles(0)), "it has no role");
        let crowd = WorkflowConfiguration::default().seats("crowd", "", 65);
        assert_eq!(fault(crowd), "the role `crowd` has 65 seats, not 1 to 64");
    }

    #[test]
    fn a_description_is_refused_for_what_is_wrong_with_it() {
        check_environment(&environment()).unwrap();
        assert_eq!(
            fault(|d| d.name = "Plan Path".into()),
            "the name \"Plan Path\" is not in kebab-case"
        );
        assert_eq!(
            fault(|d| d.version = "new".into()),
            "the version \"new\" is not one like 1.2.0"
        );
        let endless = EnvironmentConfiguration::default().max_turns(0);
        assert_eq!(
            check_environment_configuration(&endless).unwrap_err(),
            "max-turns is 0, not 1 to 10000"
        );
        assert_eq!(fault(|d| d.actions.clear()), "it describes no kind of action");
        assert_eq!(
            fault(|d| d.actions.push(d.actions[0].clone())),
            "the action kind `moves` is described twice"
        );
        assert_eq!(
            fault(|d| d.settings[0].default = Value::Integer(1)),
            "the setting `grid_size` has the default 1, but must be a whole number from 2 to 9"
        );
        assert_eq!(
            fault(|d| d.settings[0].domain = Domain::Integer((3, 2))),
            "the setting `grid_size` accepts no value"
        );
        assert_eq!(
            fault(|d| d.settings[0].name = "gridSize".into()),
            "the setting \"gridSize\" is not in snake_case"
        );
    }
}
