//! `--set` of the commands that look at a component: what they would not read is refused.

use troupe_core::config::{Config, ConfigError, TasksConfig, apply_override};
use troupe_guests::plugin::PluginLibrary;

/// What says how a component is loaded, and with what it is granted.
const LOADED: [&str; 4] = ["plugins.limits", "plugins.path", "sandbox", "retrieval"];

/// The tables and settings that a command reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    /// What a component is asked before it is granted anything.
    Look,
    /// What it is checked with.
    Check,
    /// What it is measured with.
    Bench,
}

impl Reading {
    fn keys(self) -> Vec<&'static str> {
        match self {
            Reading::Look => [&["environment", "workflow"][..], &LOADED[..2]].concat(),
            Reading::Check => [&["environment", "workflow", "tasks"][..], &LOADED].concat(),
            Reading::Bench => [&["environment", "tasks"][..], &LOADED].concat(),
        }
    }

    /// The configuration that these pairs of key and value make.
    ///
    /// # Errors
    /// If there is no such setting, a value does not fit, or the command does not read it.
    pub(super) fn load(self, set: &[String]) -> Result<Config, ConfigError> {
        let config = Config::load(None, set)?;
        let mut given = toml::Table::new();
        set.iter().try_for_each(|pair| apply_override(&mut given, pair))?;
        match unread(&given, "", &self.keys()) {
            None => Ok(config),
            Some(key) => {
                let known = self.keys().join(", ");
                let reason = format!("this command does not read it; it reads {known}");
                Err(ConfigError::Invalid { key, reason })
            }
        }
    }
}

/// The first key of a table, with the tables that it is in, that is none of those that are read.
fn unread(table: &toml::Table, place: &str, read: &[&str]) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let key = format!("{place}{name}");
        match value {
            _ if read.contains(&key.as_str()) => None,
            toml::Value::Table(inner) if !inner.is_empty() => {
                unread(inner, &format!("{key}."), read)
            }
            _ => Some(key),
        }
    })
}

/// Settings of what the component does not bring would silently do nothing.
pub(super) fn refuse_useless(library: &PluginLibrary, config: &Config) -> Result<(), ConfigError> {
    let no_environment = library.environments().is_empty();
    let tables = [
        ("environment", "environment", no_environment && !config.environment.is_empty()),
        ("tasks", "environment", no_environment && config.tasks != TasksConfig::default()),
        ("workflow", "workflow", library.workflows().is_empty() && !config.workflow.is_empty()),
    ];
    match tables.into_iter().find(|(.., is_useless)| *is_useless) {
        None => Ok(()),
        Some((key, kind, _)) => Err(ConfigError::Invalid {
            key: key.to_owned(),
            reason: format!("the component brings no {kind}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_does_not_read_is_refused_by_its_name() {
        let refused = |reading: Reading, pair: &str| match reading.load(&[pair.to_owned()]) {
            Err(ConfigError::Invalid { key, reason }) => {
                assert!(reason.contains("it reads environment, "), "{reason}");
                Some(key)
            }
            other => other.map(|_| None).unwrap(),
        };
        let named = |key: &str| Some(key.to_owned());
        for reading in [Reading::Look, Reading::Check, Reading::Bench] {
            assert_eq!(refused(reading, "environment.size=9"), None);
            assert_eq!(refused(reading, "plugins.limits.fuel=7"), None);
            assert_eq!(refused(reading, "plugins.path=['mine']"), None);
            assert_eq!(refused(reading, "plugins={ path = ['mine'] }"), None);
            assert_eq!(refused(reading, "plugins={ files = ['a'] }"), named("plugins.files"));
            assert_eq!(refused(reading, "train.steps=5"), named("train.steps"));
        }
        assert_eq!(refused(Reading::Look, "tasks.limit=5"), named("tasks.limit"));
        assert_eq!(refused(Reading::Look, "sandbox.jobs=1"), named("sandbox.jobs"));
        assert_eq!(refused(Reading::Bench, "workflow.rounds=2"), named("workflow.rounds"));
        assert_eq!(refused(Reading::Check, "workflow.rounds=2"), None);
        assert_eq!(refused(Reading::Check, "tasks.limit=5"), None);
        assert!(Reading::Check.load(&["walls=3".to_owned()]).is_err());
    }
}
