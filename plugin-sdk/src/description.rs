//! What a plugin says it is, and what it says follows from settings: short, and
//! in the contract's forms. A host refuses what is not.

use std::collections::BTreeSet;

use crate::require;
use crate::types::{Domain, Extra, Setting, Value};
use crate::{environment, interpreter, workflow};

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
const WORDS: usize = 65_536;
const WORD_BYTES: usize = 256;
/// Bytes of all that a later contract adds.
const EXTRAS_BYTES: usize = 64 << 10;
/// Seats of a role.
const SEATS: u32 = 64;

impl environment::Description {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        check_heading(&self.name, &self.version, &self.summary)?;
        check_settings(&self.settings)?;
        check_extras(&self.extras)?;
        check_count("kinds of action", self.actions.len(), ENTRIES)?;
        check_names("action kind", self.actions.iter().map(|kind| &kind.name))?;
        for kind in &self.actions {
            let what = format!("what is said about the action `{}`", kind.name);
            check_length(&what, &kind.summary, FORMAT_CHARACTERS)?;
        }
        check_count("recommended workflows", self.workflows.len(), ENTRIES)?;
        let mut workflows = self.workflows.iter();
        workflows.try_for_each(|name| check_name("the recommended workflow", name, '-'))?;
        require(!self.actions.is_empty(), || "it describes no kind of action".to_owned())
    }
}

impl environment::Configuration {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        check_words(&self.vocabulary)?;
        check_extras(&self.extras)?;
        let turns = self.max_turns;
        require((1..=MAX_TURNS).contains(&turns), || {
            format!("max-turns is {turns}, not 1 to {MAX_TURNS}")
        })
    }
}

impl workflow::Description {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        check_heading(&self.name, &self.version, &self.summary)?;
        check_settings(&self.settings)?;
        check_extras(&self.extras)?;
        check_count("kinds of action", self.actions.len(), ENTRIES)?;
        check_names("action kind", self.actions.iter())
    }
}

impl workflow::Configuration {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        check_words(&self.vocabulary)?;
        check_extras(&self.extras)?;
        check_count("roles", self.roles.len(), ROLES)?;
        check_names("role", self.roles.iter().map(|role| &role.name))?;
        for workflow::Role { name, summary, seats } in &self.roles {
            check_summary("what is said about a role", summary)?;
            require((1..=SEATS).contains(seats), || {
                format!("the role `{name}` has {seats} seats, not 1 to {SEATS}")
            })?;
        }
        require(!self.roles.is_empty(), || "it has no role".to_owned())
    }
}

impl interpreter::Description {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        check_name("the language", &self.language, '-')?;
        check_summary("the version", &self.version)?;
        check_summary("the summary", &self.summary)?;
        require(!self.version.trim().is_empty(), || "the version is empty".to_owned())
    }
}

/// A vocabulary has one token per word.
fn check_words(words: &[String]) -> Result<(), String> {
    check_count("words in its vocabulary", words.len(), WORDS)?;
    let longest = words.iter().map(String::len).max().unwrap_or(0);
    check_count("bytes in a word of its vocabulary", longest, WORD_BYTES)?;
    let is_word = |word: &String| !word.is_empty() && !word.contains(char::is_whitespace);
    match words.iter().find(|word| !is_word(word)) {
        Some(word) => Err(format!("{word:?} in its vocabulary is not one word")),
        None => Ok(()),
    }
}

fn check_extras(extras: &[Extra]) -> Result<(), String> {
    check_count("extras", extras.len(), ENTRIES)?;
    let bytes = extras.iter().map(|extra| extra.key.len() + extra.value.len()).sum();
    check_count("bytes in its extras", bytes, EXTRAS_BYTES)
}

fn check_heading(name: &str, version: &str, summary: &str) -> Result<(), String> {
    check_name("the name", name, '-')?;
    check_version(version)?;
    check_summary("the summary", summary)
}

fn check_name(what: &str, name: &str, joint: char) -> Result<(), String> {
    require(name.len() <= NAME_BYTES, || format!("{what} is longer than {NAME_BYTES} bytes"))?;
    let word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split(joint).all(word);
    let case = if joint == '-' { "kebab-case" } else { "snake_case" };
    require(fits, || format!("{what} {name:?} is not in {case}"))
}

fn check_names<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        check_name(&format!("the {what}"), name, '-')?;
        require(seen.insert(name), || format!("the {what} `{name}` is described twice"))?;
    }
    Ok(())
}

fn check_version(version: &str) -> Result<(), String> {
    require(version.len() <= NAME_BYTES, || {
        format!("the version is longer than {NAME_BYTES} bytes")
    })?;
    let fits = version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    require(fits, || format!("the version {version:?} is not one like 1.2.0"))
}

fn check_count(what: &str, count: usize, most: usize) -> Result<(), String> {
    require(count <= most, || format!("it has {count} {what}; {most} is the most"))
}

fn check_summary(what: &str, text: &str) -> Result<(), String> {
    check_length(what, text, SUMMARY_CHARACTERS)
}

fn check_length(what: &str, text: &str, most: usize) -> Result<(), String> {
    let length = text.chars().count();
    require(length <= most, || format!("{what} has {length} characters; {most} is the most"))
}

fn check_settings(settings: &[Setting]) -> Result<(), String> {
    check_count("settings", settings.len(), ENTRIES)?;
    let mut seen = BTreeSet::new();
    for setting in settings {
        let name = &setting.name;
        check_name("the setting", name, '_')?;
        check_summary(&format!("what is said about the setting `{name}`"), &setting.summary)?;
        require(seen.insert(name), || format!("the setting `{name}` is described twice"))?;
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
    require(sound, || "accepts no value".to_owned())?;
    let finite = !matches!(default, Value::Number(value) if !value.is_finite());
    require(finite && domain.contains(default), || {
        format!("has the default {default}, but must be {domain}")
    })
}

#[cfg(test)]
mod tests {
    use crate::types::{ActionKind, Needs};
    use crate::workflow::Role;

    use super::*;

    fn environment() -> environment::Description {
        environment::Description {
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

    fn fault(change: impl FnOnce(&mut environment::Description)) -> String {
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
        let role = |index| Role { name: format!("r{index}"), summary: String::new(), seats: 1 };
        let roles = |count: usize| workflow::Configuration {
            roles: (0..count).map(role).collect(),
            ..workflow::Configuration::default()
        };
        let fault = |configuration: workflow::Configuration| configuration.check().unwrap_err();
        assert_eq!(fault(roles(65)), "it has 65 roles; 64 is the most");
        assert_eq!(fault(roles(0)), "it has no role");
        let crowd = workflow::Configuration::default().seats("crowd", "", 65);
        assert_eq!(fault(crowd), "the role `crowd` has 65 seats, not 1 to 64");
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
        let endless = environment::Configuration::default().max_turns(0);
        assert_eq!(endless.check().unwrap_err(), "max-turns is 0, not 1 to 10000");
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
