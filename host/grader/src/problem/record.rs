//! One line of a JSON Lines file, and its fields.

use std::path::Path;

use crate::error::GradingError;
use crate::value::Value;

/// A record, knowing where it stands.
pub struct Record<'a> {
    file: &'a Path,
    line: usize,
    fields: Value,
}

impl<'a> Record<'a> {
    /// A record with these fields.
    pub(crate) fn new(file: &'a Path, line: usize, fields: Value) -> Self {
        Record { file, line, fields }
    }

    /// The records of a text; empty lines are none.
    pub fn all(
        file: &'a Path,
        text: &'a str,
    ) -> impl Iterator<Item = Result<Record<'a>, GradingError>> {
        // Some writers begin a file with a byte-order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let filled = |(_, line): &(usize, &str)| !line.trim().is_empty();
        text.split('\n').enumerate().filter(filled).map(move |(index, line)| {
            let not_a_record = |reason| GradingError::NotARecord {
                file: file.to_owned(),
                line: index + 1,
                reason,
            };
            match Value::parse(line).map_err(not_a_record)? {
                fields @ Value::Dict(_) => Ok(Record::new(file, index + 1, fields)),
                other => Err(not_a_record(format!("it is {}", other.kind()))),
            }
        })
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// A field that is there and not null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !matches!(value, Value::Null))
    }

    /// Whether the field is there, even if it is null.
    pub fn has(&self, name: &str) -> bool {
        self.fields.get(name).is_some()
    }

    /// The error that a field is wrong.
    pub fn wrong(&self, field: &str, reason: impl Into<String>) -> GradingError {
        GradingError::Field {
            file: self.file.to_owned(),
            line: self.line,
            field: field.to_owned(),
            reason: reason.into(),
        }
    }

    /// The error that a field is something other than what is expected.
    pub fn unlike(&self, field: &str, expected: &str, value: &Value) -> GradingError {
        self.wrong(field, format!("{expected} is expected, but it is {}", value.kind()))
    }

    /// The value of the first of these fields that the record has: a string, or an integer as one.
    ///
    /// # Errors
    /// If the record has none of them, or the first is something else.
    pub fn id(&self, names: &[&str]) -> Result<String, GradingError> {
        let Some(name) = names.iter().find(|name| self.get(name).is_some()) else {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let reason = format!("the record has no name; give it one of {}", names.join(", "));
            return Err(self.wrong(names[0].trim_matches('`'), reason));
        };
        match self.get(name) {
            Some(Value::Str(id)) => Ok(id.clone()),
            Some(Value::Int(id)) => Ok(id.clone()),
            other => {
                Err(self.unlike(name, "a string or an integer", other.unwrap_or(&Value::Null)))
            }
        }
    }

    /// A field that is a string, if the record has it.
    ///
    /// # Errors
    /// If it is something else.
    pub fn text(&self, name: &str) -> Result<Option<&str>, GradingError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text)),
            Some(other) => Err(self.unlike(name, "a string", other)),
        }
    }

    /// A field that is an integer of at least 0, if the record has it.
    ///
    /// # Errors
    /// If it is something else, negative, or does not fit 64 bits.
    pub fn count(&self, name: &str) -> Result<Option<u64>, GradingError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value {
            Value::Int(digits) => digits.parse().map(Some).map_err(|_| {
                self.wrong(name, format!("`{digits}` is no number of at least 0 that fits 64 bits"))
            }),
            other => Err(self.unlike(name, "an integer", other)),
        }
    }

    /// A value that stands there itself, or as JSON in a string.
    ///
    /// # Errors
    /// If a string is no JSON.
    pub fn unpacked(&self, field: &str, value: &Value) -> Result<Value, GradingError> {
        match value {
            Value::Str(text) => Value::parse(text)
                .map_err(|reason| self.wrong(field, format!("not JSON: {reason}"))),
            other => Ok(other.clone()),
        }
    }
}
