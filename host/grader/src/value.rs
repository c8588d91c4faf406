//! Values as a Python program has them: arguments, expected results, results.
//!
//! The graders we follow compare with Python's `==`, on values read by
//! Python's `json`. That module reads integers of any size and `NaN`, which
//! the JSON crates do not, and a result comes from the program under test, so
//! its nesting has to be bounded. Hence a reader of our own.

mod parser;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The key of an object that stands for what JSON has no notation for; see
/// [`Value::decoded`]. The harnesses write it.
const TAG: &str = "__troupe__";

/// A value of a Python program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Value {
    /// `None`.
    Null,
    /// A boolean; equal to 0 or 1.
    Bool(bool),
    /// An integer of any size, in decimal without leading zeros or `-0`.
    Int(String),
    /// A floating-point number.
    Float(f64),
    /// A string. A half of a surrogate pair is read as U+FFFD.
    Str(String),
    /// A list.
    List(Vec<Value>),
    /// A tuple; never equal to a list.
    Tuple(Vec<Value>),
    /// A dictionary, in the order of its text; made by [`Value::dict`] where
    /// keys may repeat.
    Dict(Vec<(Value, Value)>),
    /// Something JSON cannot carry, by its type's name. Equal to nothing.
    Other(String),
}

impl Value {
    /// Reads one JSON value as Python's `json.loads` does: integers of any size, `NaN`, `Infinity`;
    /// of two equal keys the last counts. Values nest at most 400 deep.
    ///
    /// # Errors
    /// If it is no JSON; the text says where and what.
    pub fn parse(text: &str) -> Result<Value, String> {
        parser::parse(text)
    }

    /// Whether a text is a value to [`Value::parse`], without making it.
    ///
    /// # Errors
    /// As those of [`Value::parse`].
    pub(crate) fn check(text: &str) -> Result<(), String> {
        parser::check(text)
    }

    /// The field of a dictionary.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let Value::Dict(pairs) = self else { return None };
        pairs.iter().find(|(key, _)| matches!(key, Value::Str(key) if key == name)).map(|(_, v)| v)
    }

    /// What it is, for messages: `a string`, `a list`, …
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a number",
            Value::Str(_) => "a string",
            Value::List(_) | Value::Tuple(_) => "a list",
            Value::Dict(_) => "an object",
            Value::Other(_) => "something without notation",
        }
    }

    /// Whether Python's `==` holds between the two: numbers by value whatever
    /// their type (`1 == 1.0 == True`, integers exactly), strings exactly,
    /// sequences element by element, dictionaries by key. A NaN equals nothing.
    pub fn python_eq(&self, other: &Value) -> bool {
        self.equals(other, &|_, _| false)
    }

    /// [`Value::python_eq`], but numbers that are not equal are asked about
    /// with `close(self's, other's)`.
    pub fn python_eq_with(&self, other: &Value, close: &dyn Fn(f64, f64) -> bool) -> bool {
        self.equals(other, close)
    }

    fn equals(&self, other: &Value, close: &dyn Fn(f64, f64) -> bool) -> bool {
        let all = |a: &[Value], b: &[Value]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b, close))
        };
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => all(a, b),
            (Value::Dict(a), Value::Dict(b)) => {
                let (a, b) = (by_key(a), by_key(b));
                a.len() == b.len()
                    && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| v.equals(w, close)))
            }
            (a, b) => match (a.number(), b.number()) {
                (Some(a), Some(b)) => {
                    // Whole numbers by their digits: a double holds few integers.
                    let equal = match (a.digits(), b.digits()) {
                        (None, None) => a.value() == b.value(),
                        (a, b) => a == b,
                    };
                    equal || close(a.value(), b.value())
                }
                _ => false,
            },
        }
    }

    fn number(&self) -> Option<Number<'_>> {
        match self {
            Value::Bool(false) => Some(Number::Int("0")),
            Value::Bool(true) => Some(Number::Int("1")),
            Value::Int(digits) => Some(Number::Int(digits)),
            Value::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    /// A dictionary of these pairs; of two equal keys the last value counts, in
    /// the first one's place.
    pub(super) fn dict(pairs: Vec<(Value, Value)>) -> Value {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut unique: Vec<(Value, Value)> = Vec::new();
        for (key, value) in pairs {
            match places.entry(key.key()) {
                Entry::Occupied(place) => unique[*place.get()].1 = value,
                Entry::Vacant(place) => {
                    place.insert(unique.len());
                    unique.push((key, value));
                }
            }
        }
        Value::Dict(unique)
    }

    /// The same text for keys that Python takes for the same.
    fn key(&self) -> String {
        match (self, self.number()) {
            (_, Some(number)) => {
                format!("n{}", number.digits().unwrap_or_else(|| number.value().to_string()))
            }
            (Value::Tuple(items), None) => {
                // With lengths, so that no two can be taken for each other.
                let parts = items.iter().map(Value::key).map(|key| format!("{}{key}", key.len()));
                format!("p{}", parts.collect::<String>())
            }
            (other, None) => format!("t{other}"),
        }
    }

    /// With every tuple, at any depth, made a list.
    #[must_use]
    pub fn with_lists(self) -> Value {
        let each = |items: Vec<Value>| items.into_iter().map(Value::with_lists).collect();
        match self {
            Value::List(items) | Value::Tuple(items) => Value::List(each(items)),
            Value::Dict(pairs) => {
                Value::Dict(pairs.into_iter().map(|(k, v)| (k, v.with_lists())).collect())
            }
            other => other,
        }
    }

    /// What a harness wrote, with its notation for tuples, for keys that are
    /// not strings and for everything JSON lacks read back:
    /// `{"__troupe__": ["tuple", [items]]}`, `["dict", [[key, value], …]]`,
    /// `["other", type name]`. A harness writes a dictionary that has that very
    /// key in the second way, so nothing is ambiguous.
    #[must_use]
    pub fn decoded(self) -> Value {
        match self {
            Value::List(items) => Value::List(items.into_iter().map(Value::decoded).collect()),
            Value::Dict(pairs) => match tagged(&pairs) {
                Some(value) => value,
                None => Value::Dict(pairs.into_iter().map(|(k, v)| (k, v.decoded())).collect()),
            },
            other => other,
        }
    }
}

fn by_key(pairs: &[(Value, Value)]) -> BTreeMap<String, &Value> {
    pairs.iter().map(|(key, value)| (key.key(), value)).collect()
}

fn tagged(pairs: &[(Value, Value)]) -> Option<Value> {
    let [(Value::Str(key), Value::List(content))] = pairs else { return None };
    let [Value::Str(what), content] = content.as_slice() else { return None };
    match (key.as_str(), what.as_str(), content) {
        (TAG, "tuple", Value::List(items)) => {
            Some(Value::Tuple(items.iter().cloned().map(Value::decoded).collect()))
        }
        (TAG, "dict", Value::List(items)) => {
            let pair = |item: &Value| match item {
                Value::List(pair) if pair.len() == 2 => {
                    Some((pair[0].clone().decoded(), pair[1].clone().decoded()))
                }
                _ => None,
            };
            items.iter().map(pair).collect::<Option<_>>().map(Value::dict)
        }
        (TAG, "other", Value::Str(name)) => Some(Value::Other(name.clone())),
        _ => None,
    }
}

enum Number<'a> {
    Int(&'a str),
    Float(f64),
}

impl Number<'_> {
    /// The decimal digits, if the number is whole.
    fn digits(&self) -> Option<String> {
        match self {
            Number::Int(digits) => Some((*digits).to_owned()),
            Number::Float(value) if *value == 0.0 => Some("0".to_owned()),
            // A whole double has few digits before the point; all are exact.
            Number::Float(value) if value.fract() == 0.0 => Some(format!("{value:.0}")),
            Number::Float(_) => None,
        }
    }

    fn value(&self) -> f64 {
        match self {
            Number::Int(digits) => digits.parse().unwrap_or(f64::NAN),
            Number::Float(value) => *value,
        }
    }
}

/// One line of JSON in Python's dialect. A tuple is written as a list.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(digits) => f.write_str(digits),
            Value::Float(value) if value.is_nan() => f.write_str("NaN"),
            Value::Float(value) if value.is_infinite() => {
                f.write_str(if *value > 0.0 { "Infinity" } else { "-Infinity" })
            }
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Str(text) => write_string(f, text),
            Value::List(items) | Value::Tuple(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Value::Dict(pairs) => {
                f.write_str("{")?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Value::Other(name) => write!(f, "<{name}>"),
        }
    }
}

/// A JSON string, which is a string literal of Python and JavaScript as well.
fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    /// Left, right, and what Python says about `==` after `json.loads`.
    const EQUALITIES: &[(&str, &str, bool)] = &[
        ("1", "1.0", true),
        ("1", "true", true),
        ("0.0", "false", true),
        ("-0.0", "0", true),
        ("1", "\"1\"", false),
        ("null", "0", false),
        ("null", "null", true),
        ("9007199254740993", "9007199254740992.0", false),
        ("9007199254740993", "9007199254740992", false),
        ("100000000000000000000000", "100000000000000000000000", true),
        ("100000000000000000000000", "100000000000000000000001", false),
        ("100000000000000000000000", "1e23", false),
        ("99999999999999991611392", "1e23", true),
        ("NaN", "NaN", false),
        ("Infinity", "1e999", true),
        ("-Infinity", "Infinity", false),
        ("0.1", "0.1000000001", false),
        ("\"a\"", "\"A\"", false),
        ("\"\\u00e9\"", "\"é\"", true),
        ("[1, [2]]", "[1.0, [true]]", false),
        ("[1, [2]]", "[true, [2.0]]", true),
        ("[1, 2]", "[2, 1]", false),
        ("[]", "[]", true),
        ("[]", "{}", false),
        ("{\"a\": 1, \"b\": 2}", "{\"b\": 2.0, \"a\": 1}", true),
        ("{\"a\": 1}", "{\"a\": 1, \"b\": 2}", false),
        ("{\"a\": 1, \"a\": 2}", "{\"a\": 2}", true),
    ];

    #[test]
    fn values_are_equal_when_python_says_so() {
        for (left, right, equal) in EQUALITIES {
            assert_eq!(value(left).python_eq(&value(right)), *equal, "{left} == {right}");
            assert_eq!(value(right).python_eq(&value(left)), *equal, "{right} == {left}");
        }
    }

    #[test]
    fn a_tuple_is_no_list_until_it_is_made_one() {
        let tuple = value(r#"[{"__troupe__": ["tuple", [1, 2]]}]"#).decoded();
        assert!(!tuple.python_eq(&value("[[1, 2]]")));
        assert!(tuple.with_lists().python_eq(&value("[[1, 2]]")));
    }

    #[test]
    fn keys_that_are_numbers_are_not_keys_that_are_strings() {
        let numbers = value(r#"{"__troupe__": ["dict", [[1, "a"]]]}"#).decoded();
        assert!(!numbers.python_eq(&value(r#"{"1": "a"}"#)));
        assert!(numbers.python_eq(&value(r#"{"__troupe__": ["dict", [[1.0, "a"]]]}"#).decoded()));
    }

    #[test]
    fn what_json_cannot_carry_equals_nothing() {
        let other = value(r#"{"__troupe__": ["other", "set"]}"#).decoded();
        assert!(!other.python_eq(&other.clone()));
    }

    proptest! {
        #[test]
        fn integers_are_compared_like_numbers(a in -50_i64..50, b in -50_i64..50, float in any::<bool>()) {
            let right = if float { format!("{b}.0") } else { b.to_string() };
            prop_assert_eq!(value(&a.to_string()).python_eq(&value(&right)), a == b);
        }

        #[test]
        fn a_value_is_written_as_it_is_read(text in any::<String>(), number in any::<f64>()) {
            let list = Value::List(vec![Value::Str(text.clone()), Value::Float(number)]);
            let Value::List(read) = value(&list.to_string()) else { panic!("not a list") };
            prop_assert!(matches!(&read[0], Value::Str(same) if *same == text));
            prop_assert!(number.is_nan() || read[1].python_eq(&Value::Float(number)));
        }
    }
}
