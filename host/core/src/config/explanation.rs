//! What is said of a configuration that cannot be read.

use super::table::{self, Kind};
use super::{Config, ConfigError};
use crate::error::suggestion;

/// Serde's message about an unknown field, turned into the nearest right key;
/// any other into what the setting accepts.
pub(super) fn explain(given: &toml::Value, path: &str, message: &str) -> ConfigError {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.trim().starts_with("unknown field")
        && let Some(field) = quoted.next()
    {
        let (table, _) = locate(given, path.rsplit_once('.').map_or("", |(table, _)| table));
        let key = if table.is_empty() { field.to_owned() } else { format!("{table}.{field}") };
        let candidates: Vec<&str> = quoted.collect();
        return ConfigError::UnknownKey { key, suggestion: suggestion(field, candidates) };
    }
    let (key, value) = locate(given, path);
    let settings = Config::settings();
    let setting = settings.iter().find(|setting| setting.is(&key));
    let accepts = setting.map_or("a table", |setting| &setting.accepts);
    let reason = value.map_or_else(
        || format!("it must be {accepts}"),
        |value| format!("it is {}, but must be {accepts}", brief(&value.to_string())),
    );
    ConfigError::Invalid { key, reason }
}

/// The key and the value at a path such as `mix[0].weight`. For a list that is not a
/// list of tables, the whole list.
fn locate<'v>(given: &'v toml::Value, path: &str) -> (String, Option<&'v toml::Value>) {
    let (mut key, mut value) = (String::new(), Some(given));
    for part in path.split('.') {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        key = table::join(&key, name);
        value = value.and_then(|value| value.get(name));
        let index: Option<usize> = index.trim_end_matches(']').parse().ok();
        let entry = index.and_then(|index| value?.get(index)).filter(|entry| entry.is_table());
        value = entry.or(value);
    }
    (key, value)
}

/// As much of a value as an error message should carry.
fn brief(value: &str) -> String {
    match value.char_indices().nth(60) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}…", &value[..end]),
    }
}
