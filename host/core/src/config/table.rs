//! How a table of the configuration is written down: every setting once, with
//! what it means, its type, its default and its range.
//!
//! From the one declaration come the struct, its defaults, the check that every
//! number is finite and in range, the words of an error, and `docs/config.md`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;

use serde::Serialize;

use super::ConfigError;

/// A setting as it is documented.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its key with the tables it is in; a name the user chooses is `<name>`.
    pub key: String,
    /// What it accepts, such as `a whole number from 1 to 9`.
    pub accepts: String,
    /// Its value if nothing is said, as TOML.
    pub default: String,
    /// What it does.
    pub meaning: String,
}

/// A type that a setting may have.
pub trait Kind {
    /// What it accepts, in words.
    fn accepts() -> String;

    /// What each of its choices means.
    fn choices() -> String {
        String::new()
    }

    /// The settings of a table.
    fn settings() -> Vec<Setting> {
        Vec::new()
    }

    /// Whether something else than a table may stand in the place of the table.
    fn is_also_a_value() -> bool {
        false
    }

    /// Refuse what is out of range, by name.
    fn check_ranges(&self, _key: &str) -> Result<(), ConfigError> {
        Ok(())
    }
}

macro_rules! kinds {
    ($($type:ty = $accepts:literal),* $(,)?) => {
        $(impl Kind for $type {
            fn accepts() -> String {
                $accepts.to_owned()
            }
        })*
    };
}

kinds! {
    u32 = "a whole number", u64 = "a whole number", usize = "a whole number",
    i64 = "a whole number", f64 = "a number", bool = "true or false", String = "a text",
    PathBuf = "a path", toml::Table = "a table", toml::Value = "a value",
}

/// A type whose values may have a range.
pub trait Ranged: Kind {
    /// What the range is of.
    type Number: PartialOrd + Debug + Kind;

    /// The number, if there is one.
    fn number(self) -> Option<Self::Number>;
}

macro_rules! ranged {
    ($($type:ty),*) => {
        $(impl Ranged for $type {
            type Number = $type;

            fn number(self) -> Option<$type> {
                Some(self)
            }
        })*
    };
}

ranged! { u32, u64, usize, i64, f64 }

impl<T: Ranged> Ranged for Option<T> {
    type Number = T::Number;

    fn number(self) -> Option<T::Number> {
        self.and_then(T::number)
    }
}

impl<T: Kind> Kind for Option<T> {
    fn accepts() -> String {
        T::accepts()
    }

    fn choices() -> String {
        T::choices()
    }

    fn settings() -> Vec<Setting> {
        T::settings()
    }

    fn check_ranges(&self, key: &str) -> Result<(), ConfigError> {
        self.as_ref().map_or(Ok(()), |value| value.check_ranges(key))
    }
}

impl<T: Kind> Kind for Vec<T> {
    fn accepts() -> String {
        format!("a list, each {}", T::accepts())
    }

    fn choices() -> String {
        T::choices()
    }

    fn settings() -> Vec<Setting> {
        T::settings()
    }

    fn check_ranges(&self, key: &str) -> Result<(), ConfigError> {
        self.iter().try_for_each(|entry| entry.check_ranges(key))
    }
}

impl<T: Kind> Kind for BTreeMap<String, T> {
    fn accepts() -> String {
        "a table for each name".to_owned()
    }

    fn settings() -> Vec<Setting> {
        T::settings().into_iter().map(|setting| setting.in_table("<name>")).collect()
    }

    fn check_ranges(&self, key: &str) -> Result<(), ConfigError> {
        self.iter().try_for_each(|(name, value)| value.check_ranges(&format!("{key}.{name}")))
    }
}

impl Setting {
    /// A setting and those below it, if it is a table.
    pub(super) fn of<T: Kind + Serialize>(
        key: &str,
        default: &T,
        range: &str,
        meaning: &[&str],
    ) -> Vec<Setting> {
        let below = T::settings().into_iter().map(|setting| setting.in_table(key));
        let below: Vec<Setting> = below.collect();
        if !below.is_empty() && !T::is_also_a_value() {
            return below;
        }
        let default = toml::Value::try_from(default).map(|value| value.to_string());
        let setting = Setting {
            key: key.to_owned(),
            accepts: format!("{}{range}", T::accepts()),
            // What TOML cannot write is an option that is not set.
            default: default.unwrap_or_default(),
            meaning: sentence(meaning) + &T::choices(),
        };
        [vec![setting], below].concat()
    }

    fn in_table(self, table: &str) -> Setting {
        Setting { key: format!("{table}.{}", self.key), ..self }
    }

    /// Whether this is the setting of `key`; `<name>` stands for any name.
    pub(super) fn is(&self, key: &str) -> bool {
        let (mut pattern, mut parts) = (self.key.split('.'), key.split('.'));
        loop {
            match (pattern.next(), parts.next()) {
                (None, None) => return true,
                (Some(pattern), Some(parts)) if pattern == parts || pattern == "<name>" => {}
                _ => return false,
            }
        }
    }
}

/// Numbers above the first, up to the second.
pub fn above<T>(low: T, high: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(low), Bound::Included(high))
}

/// Numbers above the first and below the second.
pub fn between<T>(low: T, high: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(low), Bound::Excluded(high))
}

/// Checks that a number is in its range; NaN is in none.
///
/// # Errors
/// If the number is out of range.
pub fn in_range<T: Ranged>(
    value: T,
    range: &impl RangeBounds<T::Number>,
    key: String,
) -> Result<(), ConfigError> {
    let Some(value) = value.number().filter(|value| !range.contains(value)) else { return Ok(()) };
    let (accepts, range) = (T::accepts(), describe_range::<T>(range));
    Err(ConfigError::Invalid {
        key,
        reason: format!("it is {}, but must be {accepts}{range}", plain(&value)),
    })
}

/// ` from 0 to 1`, ` above 0, at most 1`.
pub fn describe_range<T: Ranged>(range: &impl RangeBounds<T::Number>) -> String {
    let low = match range.start_bound() {
        Bound::Included(low) => format!(" from {}", plain(low)),
        Bound::Excluded(low) => format!(" above {}", plain(low)),
        Bound::Unbounded => String::new(),
    };
    match (range.start_bound(), range.end_bound()) {
        (Bound::Included(_), Bound::Included(high)) => format!("{low} to {}", plain(high)),
        (_, Bound::Included(high)) => format!("{low}, at most {}", plain(high)),
        (_, Bound::Excluded(high)) => format!("{low}, below {}", plain(high)),
        (_, Bound::Unbounded) => low,
    }
}

/// A number as TOML has it: `nan`, `0.5`, `1_000_000`.
fn plain(number: &impl Debug) -> String {
    let text = format!("{number:?}").to_lowercase();
    let whole = text.strip_suffix(".0").unwrap_or(&text);
    if whole.len() < 5 || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return whole.to_owned();
    }
    let mut grouped = String::new();
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

/// The lines of a doc comment as one.
pub fn sentence(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Declares a table of the configuration. Each field is
/// `pub name: Type = default, range;`, the range for numbers only.
macro_rules! table {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $meaning:literal])*
                $(#[serde $serde:tt])?
                pub $field:ident: $type:ty = $default:expr $(, $range:expr)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $(
                $(#[doc = $meaning])*
                $(#[serde $serde])?
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),* }
            }
        }

        impl $crate::config::table::Kind for $name {
            fn accepts() -> String {
                "a table".to_owned()
            }

            fn settings() -> Vec<$crate::config::table::Setting> {
                use $crate::config::table;
                let settings = [$({
                    let range = String::new();
                    $(let range = table::describe_range::<$type>(&$range) + &range;)?
                    let (key, meaning) = (stringify!($field), &[$($meaning),*]);
                    table::Setting::of::<$type>(key, &$default, &range, meaning)
                }),*];
                settings.into_iter().flatten().collect()
            }

            fn check_ranges(&self, key: &str) -> Result<(), $crate::config::ConfigError> {
                use $crate::config::table;
                $(
                    let key_of_field = table::join(key, stringify!($field));
                    table::Kind::check_ranges(&self.$field, &key_of_field)?;
                    $(table::in_range(self.$field, &$range, key_of_field)?;)?
                )*
                Ok(())
            }
        }
    };
}

/// Declares what a setting may be chosen from, in kebab-case.
macro_rules! choices {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident {
            $(
                $(#[doc = $meaning:literal])*
                $choice:ident,
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $(
                $(#[doc = $meaning])*
                $choice,
            )*
        }

        impl $name {
            /// Every one of them, in order.
            pub const ALL: [$name; [$(stringify!($choice)),*].len()] = [$($name::$choice),*];
        }

        impl $crate::config::table::Kind for $name {
            fn accepts() -> String {
                let choices = [$($crate::config::table::choice(&$name::$choice)),*];
                choices.join(" or ")
            }

            fn choices() -> String {
                use $crate::config::table::{choice, sentence};
                let choices =
                    [$(format!(" `{}`: {}", choice(&$name::$choice), sentence(&[$($meaning),*]))),*];
                choices.concat()
            }
        }
    };
}

pub(super) use {choices, table};

/// The key of a setting in a table; the outermost table has no name.
pub fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// A choice as it is written in a configuration.
pub fn choice(choice: &impl Serialize) -> String {
    toml::Value::try_from(choice).map(|value| value.to_string()).unwrap_or_default()
}
