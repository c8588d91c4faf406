//! Settings: what a plugin lets its users choose, and what they chose.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::value::{self, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::types::{Configured, Domain, Problem, Setting, Value};

impl Domain {
    /// Whether `value` is of the right type and within bounds.
    pub fn contains(&self, value: &Value) -> bool {
        match (self, value) {
            (Domain::Integer((low, high)), Value::Integer(value)) => (low..=high).contains(&value),
            (Domain::Number((low, high)), Value::Number(value)) => (low..=high).contains(&value),
            (Domain::Choice(words), Value::Text(word)) => words.contains(word),
            (Domain::Flag, Value::Flag(_)) | (Domain::Text, Value::Text(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(out, "{value}"),
            Value::Number(value) => write!(out, "{value:?}"),
            Value::Flag(value) => write!(out, "{value}"),
            Value::Text(value) => write!(out, "{value:?}"),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Integer((low, high)) => write!(out, "a whole number from {low} to {high}"),
            Domain::Number((low, high)) => write!(out, "a number from {low} to {high}"),
            Domain::Flag => write!(out, "true or false"),
            Domain::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                write!(out, "one of {}", words.join(", "))
            }
            Domain::Text => write!(out, "a string"),
        }
    }
}

impl Setting {
    /// A whole number within `range`.
    pub fn integer(name: &str, summary: &str, range: RangeInclusive<i32>, default: i32) -> Self {
        let domain = Domain::Integer((*range.start(), *range.end()));
        Setting::new(name, summary, domain, Value::Integer(default))
    }

    /// A real number within `range`.
    pub fn number(name: &str, summary: &str, range: RangeInclusive<f64>, default: f64) -> Self {
        let domain = Domain::Number((*range.start(), *range.end()));
        Setting::new(name, summary, domain, Value::Number(default))
    }

    /// Yes or no.
    pub fn flag(name: &str, summary: &str, default: bool) -> Self {
        Setting::new(name, summary, Domain::Flag, Value::Flag(default))
    }

    /// One of several words; the first is the default.
    pub fn choice<const N: usize>(name: &str, summary: &str, words: [&str; N]) -> Self {
        const { assert!(N > 0, "a choice needs at least one word") };
        Setting::one_of(name, summary, &words)
    }

    /// The same of a list, which must not be empty.
    pub(crate) fn one_of(name: &str, summary: &str, words: &[&str]) -> Self {
        let default = Value::Text(words[0].to_owned());
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Setting::new(name, summary, Domain::Choice(words), default)
    }

    /// Any string.
    pub fn text(name: &str, summary: &str, default: &str) -> Self {
        Setting::new(name, summary, Domain::Text, Value::Text(default.to_owned()))
    }

    fn new(name: &str, summary: &str, domain: Domain, default: Value) -> Self {
        Setting { name: name.to_owned(), summary: summary.to_owned(), domain, default }
    }
}

/// The default of every declared setting.
pub fn defaults(declared: &[Setting]) -> Vec<Configured> {
    let configured = |setting: &Setting| Configured {
        name: setting.name.clone(),
        value: setting.default.clone(),
    };
    declared.iter().map(configured).collect()
}

/// The same settings but for one.
#[must_use]
pub fn with(mut settings: Vec<Configured>, name: &str, value: impl Into<Value>) -> Vec<Configured> {
    let value = value.into();
    match settings.iter_mut().find(|configured| configured.name == name) {
        Some(configured) => configured.value = value,
        None => settings.push(Configured { name: name.to_owned(), value }),
    }
    settings
}

/// Refuses a value that is outside of its domain, or of no setting.
pub fn check(declared: &[Setting], given: &[Configured]) -> Result<(), Problem> {
    let refused = |Configured { name, value }: &Configured| {
        let setting = declared.iter().find(|setting| setting.name == *name);
        match setting {
            Some(Setting { domain, .. }) if domain.contains(value) => None,
            Some(Setting { domain, .. }) => {
                Some(format!("`{name}` is {value}, but must be {domain}"))
            }
            None => Some(format!("there is no setting `{name}`")),
        }
    };
    given.iter().find_map(refused).map_or(Ok(()), |reason| Err(Problem::settings(reason)))
}

/// Reads the settings of a run. The host has checked every value against its
/// domain and filled in the defaults.
pub trait Settings {
    /// A value of whatever type.
    fn value(&self, name: &str) -> Result<&Value, SettingError>;

    /// A whole number, as whichever integer type is wanted.
    fn integer<T: TryFrom<i32>>(&self, name: &str) -> Result<T, SettingError> {
        match self.value(name)? {
            Value::Integer(value) => {
                T::try_from(*value).map_err(|_| SettingError::Range(name.to_owned(), *value))
            }
            _ => Err(SettingError::Type(name.to_owned(), "a whole number")),
        }
    }

    /// A real number.
    fn number(&self, name: &str) -> Result<f64, SettingError> {
        match self.value(name)? {
            Value::Number(value) => Ok(*value),
            _ => Err(SettingError::Type(name.to_owned(), "a real number")),
        }
    }

    /// Yes or no.
    fn flag(&self, name: &str) -> Result<bool, SettingError> {
        match self.value(name)? {
            Value::Flag(value) => Ok(*value),
            _ => Err(SettingError::Type(name.to_owned(), "yes or no")),
        }
    }

    /// A string, or the chosen word of a choice.
    fn text(&self, name: &str) -> Result<&str, SettingError> {
        match self.value(name)? {
            Value::Text(value) => Ok(value),
            _ => Err(SettingError::Type(name.to_owned(), "a string")),
        }
    }

    /// The chosen word of a choice, as the variant that serde has under it.
    ///
    /// ```
    /// use plugin_sdk::environment::Configured;
    /// use plugin_sdk::{SettingError, Settings};
    ///
    /// #[derive(serde::Deserialize, Debug, PartialEq)]
    /// #[serde(rename_all = "kebab-case")]
    /// enum View {
    ///     List,
    ///     Text,
    /// }
    ///
    /// let chosen = [Configured { name: "observation".to_owned(), value: "text".into() }];
    /// assert_eq!(chosen.choice("observation"), Ok(View::Text));
    /// let other = [Configured { name: "observation".to_owned(), value: "map".into() }];
    /// assert!(matches!(other.choice::<View>("observation"), Err(SettingError::Type(..))));
    /// ```
    fn choice<T: DeserializeOwned>(&self, name: &str) -> Result<T, SettingError> {
        let word: StrDeserializer<'_, value::Error> = self.text(name)?.into_deserializer();
        T::deserialize(word).map_err(|_| SettingError::Type(name.to_owned(), "a word of its type"))
    }
}

impl Settings for [Configured] {
    fn value(&self, name: &str) -> Result<&Value, SettingError> {
        let entry = self.iter().find(|configured| configured.name == name);
        entry.map(|entry| &entry.value).ok_or_else(|| SettingError::Missing(name.to_owned()))
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Number(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Flag(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

/// Why a setting could not be read. `?` turns it into a [`Problem`](crate::types::Problem).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// The plugin asked for a setting that it does not declare.
    #[error("setting `{0}` is not declared")]
    Missing(String),
    /// The plugin asked for another type than it declared.
    #[error("setting `{0}` is not {1}")]
    Type(String, &'static str),
    /// The number does not fit the type the plugin wants it in.
    #[error("setting `{0}` cannot be {1}")]
    Range(String, i32),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Vec<Setting> {
        vec![
            Setting::integer("walls", "Walls.", 0..=9, 4),
            Setting::number("slip", "Chance to slip.", 0.0..=1.0, 0.5),
            Setting::flag("fog", "Whether there is fog.", true),
            Setting::choice("view", "The view.", ["list", "map"]),
            Setting::text("name", "A name.", "ann"),
        ]
    }

    #[test]
    fn defaults_lie_in_their_domains() {
        for setting in declared() {
            assert!(setting.domain.contains(&setting.default), "{}", setting.name);
        }
    }

    #[test]
    fn values_are_read_by_type() {
        let settings = with(defaults(&declared()), "walls", 7);
        assert_eq!(settings.integer::<usize>("walls"), Ok(7));
        assert_eq!(settings.number("slip"), Ok(0.5));
        assert_eq!(settings.flag("fog"), Ok(true));
        assert_eq!(settings.text("view"), Ok("list"));
        assert_eq!(settings.text("name"), Ok("ann"));
    }

    #[test]
    fn a_wrong_read_names_the_setting() {
        let settings = with(defaults(&declared()), "walls", -1);
        let message = |error: SettingError| error.to_string();
        assert_eq!(
            settings.integer::<usize>("walls").map_err(message),
            Err("setting `walls` cannot be -1".to_owned())
        );
        assert_eq!(
            settings.flag("walls").map_err(message),
            Err("setting `walls` is not yes or no".to_owned())
        );
        assert_eq!(
            settings.flag("doors").map_err(message),
            Err("setting `doors` is not declared".to_owned())
        );
    }

    #[test]
    fn a_domain_refuses_other_types_and_values_out_of_bounds() {
        let declared = declared();
        assert!(!declared[0].domain.contains(&Value::Integer(10)));
        assert!(!declared[0].domain.contains(&Value::Number(4.0)));
        assert!(!declared[1].domain.contains(&Value::Number(f64::NAN)));
        assert!(!declared[3].domain.contains(&Value::Text("sphere".to_owned())));
        let checked = |name: &str, value: i32| {
            check(&declared, &with(defaults(&declared), name, value)).map_err(|p| p.message)
        };
        assert_eq!(checked("walls", 9), Ok(()));
        let beyond = "`walls` is 10, but must be a whole number from 0 to 9";
        assert_eq!(checked("walls", 10), Err(beyond.to_owned()));
        assert_eq!(checked("doors", 1), Err("there is no setting `doors`".to_owned()));
    }
}
