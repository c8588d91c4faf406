//! What a plugin says it is, checked once when it is loaded.

use std::collections::BTreeSet;

use super::setting::{Domain, Setting, Value};

/// A form of action an environment understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionKind {
    /// The word an action carries, such as `moves`.
    pub name: String,
    /// What the text of such an action must look like.
    pub summary: String,
}

/// What an environment is.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentDescription {
    /// Its name, in kebab-case.
    pub name: String,
    /// The author's version of it.
    pub version: String,
    /// One sentence for a list of plugins.
    pub summary: String,
    /// The settings it accepts.
    pub settings: Vec<Setting>,
    /// The actions it understands; at least one.
    pub actions: Vec<ActionKind>,
    /// Workflows that suit it, best first.
    pub workflows: Vec<String>,
    /// How many turns per role an episode needs at most, in the author's view.
    pub max_turns: u32,
}

/// A seat in a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name, such as `planner`.
    pub name: String,
    /// What it is for, in one sentence.
    pub summary: String,
}

/// What a workflow is.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowDescription {
    /// Its name, in kebab-case.
    pub name: String,
    /// The author's version of it.
    pub version: String,
    /// One sentence for a list of plugins.
    pub summary: String,
    /// The settings it accepts.
    pub settings: Vec<Setting>,
    /// The seats it has; at least one.
    pub roles: Vec<Role>,
    /// The kinds of action it sends; empty when it takes what the environment
    /// offers first.
    pub actions: Vec<String>,
}

/// What an interpreter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpreterDescription {
    /// The language, such as `python`.
    pub language: String,
    /// The interpreter and its version, such as `CPython 3.14.0`.
    pub version: String,
    /// One sentence for a list of plugins.
    pub summary: String,
}

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

impl EnvironmentDescription {
    pub(super) fn check(&self) -> Result<(), String> {
        check_name("the name", &self.name, '-')?;
        check_version(&self.version)?;
        check_summary("the summary", &self.summary)?;
        check_settings(&self.settings)?;
        check_count("kinds of action", self.actions.len(), ENTRIES)?;
        check_names("action kind", self.actions.iter().map(|kind| &kind.name))?;
        for kind in &self.actions {
            let what = format!("what is said about the action `{}`", kind.name);
            check_length(&what, &kind.summary, FORMAT_CHARACTERS)?;
        }
        check_count("recommended workflows", self.workflows.len(), ENTRIES)?;
        for workflow in &self.workflows {
            check_name("the recommended workflow", workflow, '-')?;
        }
        if self.actions.is_empty() {
            return Err("it describes no kind of action".to_owned());
        }
        if !(1..=MAX_TURNS).contains(&self.max_turns) {
            return Err(format!("max-turns is {}, not 1 to {MAX_TURNS}", self.max_turns));
        }
        Ok(())
    }
}

impl WorkflowDescription {
    pub(super) fn check(&self) -> Result<(), String> {
        check_name("the name", &self.name, '-')?;
        check_version(&self.version)?;
        check_summary("the summary", &self.summary)?;
        check_settings(&self.settings)?;
        check_count("roles", self.roles.len(), ROLES)?;
        check_count("kinds of action", self.actions.len(), ENTRIES)?;
        for role in &self.roles {
            check_summary("what is said about a role", &role.summary)?;
        }
        check_names("role", self.roles.iter().map(|role| &role.name))?;
        check_names("action kind", self.actions.iter())?;
        if self.roles.is_empty() { Err("it describes no role".to_owned()) } else { Ok(()) }
    }
}

impl InterpreterDescription {
    pub(super) fn check(&self) -> Result<(), String> {
        check_name("the language", &self.language, '-')?;
        check_summary("the version", &self.version)?;
        check_summary("the summary", &self.summary)?;
        if self.version.trim().is_empty() { Err("the version is empty".to_owned()) } else { Ok(()) }
    }
}

/// Lowercase words of ASCII letters and digits, joined by `joint`, with a
/// letter in front.
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
        Domain::Integer(low, high) => low <= high,
        Domain::Number(low, high) => low.is_finite() && high.is_finite() && low <= high,
        Domain::Choice(words) => !words.is_empty(),
        Domain::Flag | Domain::Text => true,
    };
    if !sound {
        return Err("accepts no value".to_owned());
    }
    let finite = !matches!(default, Value::Number(value) if !value.is_finite());
    if finite && domain.accepts(default) {
        return Ok(());
    }
    Err(format!("has the default {default}, but must be {domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> EnvironmentDescription {
        EnvironmentDescription {
            name: "plan-path".into(),
            version: "1.2.0".into(),
            summary: String::new(),
            settings: vec![Setting {
                name: "grid_size".into(),
                summary: String::new(),
                domain: Domain::Integer(2, 9),
                default: Value::Integer(4),
            }],
            actions: vec![ActionKind { name: "moves".into(), summary: String::new() }],
            workflows: vec!["solo".into()],
            max_turns: 3,
        }
    }

    fn fault(change: impl FnOnce(&mut EnvironmentDescription)) -> String {
        let mut description = environment();
        change(&mut description);
        description.check().unwrap_err()
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
        let role = |index| Role { name: format!("r{index}"), summary: String::new() };
        let workflow = WorkflowDescription {
            name: "crowd".into(),
            version: "1.0".into(),
            summary: String::new(),
            settings: Vec::new(),
            roles: (0..65).map(role).collect(),
            actions: Vec::new(),
        };
        assert_eq!(workflow.check().unwrap_err(), "it has 65 roles; 64 is the most");
    }

    #[test]
    fn a_description_is_refused_for_what_is_wrong_with_it() {
        environment().check().unwrap();
        assert_eq!(
            fault(|d| d.name = "Plan Path".into()),
            "the name \"Plan Path\" is not in kebab-case"
        );
        assert_eq!(
            fault(|d| d.version = "new".into()),
            "the version \"new\" is not one like 1.2.0"
        );
        assert_eq!(fault(|d| d.max_turns = 0), "max-turns is 0, not 1 to 10000");
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
            fault(|d| d.settings[0].domain = Domain::Integer(3, 2)),
            "the setting `grid_size` accepts no value"
        );
        assert_eq!(
            fault(|d| d.settings[0].name = "gridSize".into()),
            "the setting \"gridSize\" is not in snake_case"
        );
    }
}
