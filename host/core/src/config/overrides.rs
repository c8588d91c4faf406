//! TOML as a file has it, and as `--set` puts more into it.

use super::ConfigError;

pub(super) fn parse_table(text: &str, origin: &str) -> Result<toml::Table, ConfigError> {
    text.parse().map_err(|error: toml::de::Error| ConfigError::Malformed {
        origin: origin.to_owned(),
        reason: error.to_string().trim().to_owned(),
    })
}

/// Put what a later file says over what the earlier ones said, table by table;
/// anything else is replaced as a whole.
pub(super) fn lay_over(table: &mut toml::Table, later: toml::Table) {
    for (key, value) in later {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(before)), toml::Value::Table(value)) => {
                lay_over(before, value);
            }
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// Takes from `defaults` what the table does not set.
pub(super) fn lay_under(table: &mut toml::Table, defaults: toml::Table) {
    let settings = std::mem::replace(table, defaults);
    lay_over(table, settings);
}

/// Put `a.b.c=value` into the table. A value that is not TOML is a string, so
/// that words need no quotes inside the shell's.
///
/// # Errors
/// If the text is no `key=value`, or the key names something that is not a table.
pub fn apply_override(table: &mut toml::Table, text: &str) -> Result<(), ConfigError> {
    let malformed = |reason: &str| ConfigError::Malformed {
        origin: format!("--set {text}"),
        reason: reason.to_owned(),
    };
    let (key, value) = text.split_once('=').ok_or_else(|| malformed("write key=value"))?;
    let value = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut path: Vec<&str> = key.trim().split('.').collect();
    let last = path.pop().filter(|last| !last.is_empty());
    let last = last.ok_or_else(|| malformed("the key is empty"))?;
    let mut table = table;
    for (depth, part) in path.iter().enumerate() {
        let entry = table
            .entry((*part).to_owned())
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if entry.is_str() {
            let mut instead = toml::Table::new();
            // `--set roles.planner.branches=8` adds to `roles.planner = "p"`; any other table
            // replaces a word, as `--set roles.planner=p` does `roles = "shared"`.
            if (path[0], depth) == ("roles", 1) {
                instead.insert("policy".to_owned(), entry.clone());
            }
            *entry = toml::Value::Table(instead);
        }
        table = entry.as_table_mut().ok_or_else(|| malformed("the key is not a table"))?;
    }
    table.insert(last.to_owned(), value);
    Ok(())
}
