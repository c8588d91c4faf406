//! Settings: what a plugin lets the user choose, and what the user chose.

use plugin_sdk::settings;
use plugin_sdk::types::{Configured, Domain, Setting, Value};
use serde::{Deserialize, Serialize};

use troupe_core::error::suggestion;

/// All settings of a plugin with their values, in the plugin's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings(Vec<Configured>);

impl Settings {
    /// The user's table, checked against what the plugin accepts, with defaults for what is left
    /// out.
    ///
    /// # Errors
    /// If the plugin has no such setting, or a value does not fit.
    pub fn resolve(accepted: &[Setting], table: &toml::Table) -> Result<Self, SettingError> {
        let names = || accepted.iter().map(|setting| setting.name.as_str());
        if let Some(key) = table.keys().find(|key| names().all(|name| name != key.as_str())) {
            let suggestion = if accepted.is_empty() {
                "; it has no settings".to_owned()
            } else {
                suggestion(key, names().collect::<Vec<_>>())
            };
            return Err(SettingError::Unknown { name: key.clone(), suggestion });
        }
        let resolve = |setting: &Setting| {
            let value = match table.get(&setting.name) {
                None => setting.default.clone(),
                Some(given) => read(setting, given)?,
            };
            Ok(Configured { name: setting.name.clone(), value })
        };
        Ok(Settings(accepted.iter().map(resolve).collect::<Result<_, _>>()?))
    }

    /// The value of one setting.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Every setting with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|configured| (configured.name.as_str(), &configured.value))
    }

    /// The form in which a plugin gets them.
    pub fn configured(&self) -> &[Configured] {
        &self.0
    }

    /// The same settings but for one, which the plugin has.
    #[must_use]
    pub fn with(self, name: &str, value: Value) -> Self {
        Settings(settings::with(self.0, name, value))
    }

    /// The settings as a TOML table, defaults included.
    pub fn to_table(&self) -> toml::Table {
        let value = |value: &Value| match value {
            Value::Integer(value) => toml::Value::Integer((*value).into()),
            Value::Number(value) => toml::Value::Float(*value),
            Value::Flag(value) => toml::Value::Boolean(*value),
            Value::Text(value) => toml::Value::String(value.clone()),
        };
        self.iter().map(|(name, given)| (name.to_owned(), value(given))).collect()
    }
}

fn read(setting: &Setting, given: &toml::Value) -> Result<Value, SettingError> {
    let refuse = || SettingError::Unfit {
        name: setting.name.clone(),
        given: given.to_string().trim().to_owned(),
        domain: setting.domain.to_string(),
    };
    let value = value_of(&setting.domain, given).ok_or_else(refuse)?;
    if setting.domain.contains(&value) { Ok(value) } else { Err(refuse()) }
}

/// The TOML value as a value of this domain's type; a whole number will do for
/// a real one.
fn value_of(domain: &Domain, given: &toml::Value) -> Option<Value> {
    match (domain, given) {
        (Domain::Integer(_), toml::Value::Integer(value)) => {
            i32::try_from(*value).ok().map(Value::Integer)
        }
        (Domain::Number(_), toml::Value::Float(value)) => Some(Value::Number(*value)),
        (Domain::Number(_), toml::Value::Integer(value)) => Some(Value::Number(*value as f64)),
        (Domain::Flag, toml::Value::Boolean(value)) => Some(Value::Flag(*value)),
        (Domain::Choice(_) | Domain::Text, toml::Value::String(value)) => {
            Some(Value::Text(value.clone()))
        }
        _ => None,
    }
}

impl From<&[Configured]> for Settings {
    fn from(settings: &[Configured]) -> Self {
        Settings(settings.to_vec())
    }
}

/// What is wrong with the user's table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The plugin has no such setting.
    #[error("there is no setting `{name}`{suggestion}")]
    Unknown {
        /// The key the user wrote.
        name: String,
        /// What the user may have meant.
        suggestion: String,
    },
    /// The plugin has no such preset.
    #[error("there is no preset {given}{suggestion}")]
    UnknownPreset {
        /// What the user wrote.
        given: String,
        /// What the user may have meant.
        suggestion: String,
    },
    /// The value is of the wrong type or out of range.
    #[error("`{name}` is {given}, but must be {domain}")]
    Unfit {
        /// The setting.
        name: String,
        /// What the user wrote.
        given: String,
        /// What it accepts.
        domain: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted() -> Vec<Setting> {
        let setting = |name: &str, domain, default| Setting {
            name: name.to_owned(),
            summary: String::new(),
            domain,
            default,
        };
        vec![
            setting("size", Domain::Integer((2, 9)), Value::Integer(4)),
            setting("share", Domain::Number((0.0, 1.0)), Value::Number(0.5)),
            setting("hints", Domain::Flag, Value::Flag(false)),
            setting(
                "style",
                Domain::Choice(vec!["plain".into(), "ascii".into()]),
                Value::Text("plain".into()),
            ),
        ]
    }

    fn resolve(table: &str) -> Result<Settings, String> {
        let table: toml::Table = table.parse().unwrap();
        Settings::resolve(&accepted(), &table).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_user_leaves_out_is_the_default() {
        let settings = resolve("size = 3\nshare = 1").unwrap();
        let all: Vec<String> =
            settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(all, ["size=3", "share=1.0", "hints=false", "style=\"plain\""]);
        assert_eq!(Settings::resolve(&accepted(), &settings.to_table()).unwrap(), settings);
    }

    #[test]
    fn wrong_keys_types_and_values_are_refused_with_what_would_be_right() {
        let error = |table| resolve(table).unwrap_err();
        assert_eq!(error("sise = 3"), "there is no setting `sise`; did you mean `size`?");
        assert_eq!(error("size = 10"), "`size` is 10, but must be a whole number from 2 to 9");
        assert_eq!(
            error("size = \"3\""),
            "`size` is \"3\", but must be a whole number from 2 to 9"
        );
        assert_eq!(error("share = nan"), "`share` is nan, but must be a number from 0 to 1");
        assert_eq!(error("hints = 1"), "`hints` is 1, but must be true or false");
        assert_eq!(
            error("style = \"x\""),
            "`style` is \"x\", but must be one of \"plain\", \"ascii\""
        );
        let none = Settings::resolve(&[], &"a = 1".parse().unwrap()).unwrap_err();
        assert_eq!(none.to_string(), "there is no setting `a`; it has no settings");
    }
}
