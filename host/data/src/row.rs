//! One row of a published file, and its fields.

use std::sync::Arc;

use super::refusal::Refusal;
use troupe_grading::Value;

/// Where a row stands.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The file, or the folder that is one row.
    pub path: Arc<str>,
    /// What rows are there, such as `line`; empty if the path is the row.
    pub unit: &'static str,
    /// Which one, from 1.
    pub number: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.unit {
            "" => write!(f, "`{}`", self.path),
            unit => write!(f, "`{}` {unit} {}", self.path, self.number),
        }
    }
}

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    /// Where it stands.
    pub place: Place,
    fields: Vec<(Value, Value)>,
}

#[cfg(test)]
thread_local! {
    /// The fields that rows were asked for.
    pub(super) static ASKED: std::cell::RefCell<std::collections::BTreeSet<String>> =
        std::cell::RefCell::default();
}

impl Row {
    /// A row of an object's fields.
    pub fn new(place: Place, fields: Value) -> Result<Self, Refusal> {
        match fields {
            Value::Dict(fields) => Ok(Row { place, fields }),
            other => Err(Refusal::new("not an object", format!("it is {}", other.kind()))),
        }
    }

    /// The fields, to be read as a problem.
    pub fn into_fields(self) -> Value {
        Value::Dict(self.fields)
    }

    fn position(&self, name: &str) -> Option<usize> {
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert(name.to_owned()));
        let find = |same: &dyn Fn(&str) -> bool| {
            self.fields.iter().position(|(key, value)| {
                matches!(key, Value::Str(key) if same(key)) && !matches!(value, Value::Null)
            })
        };
        // Some publishers capitalize.
        find(&|key| key == name).or_else(|| find(&|key| key.eq_ignore_ascii_case(name)))
    }

    /// A field that is there and not null; its name's case does not matter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.position(name).map(|place| &self.fields[place].1)
    }

    /// The field, taken out.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.position(name).map(|place| self.fields.swap_remove(place).1)
    }

    /// Put a field in, in place of one of this name.
    pub fn put(&mut self, name: &str, value: Value) {
        self.take(name);
        self.fields.push((Value::Str(name.to_owned()), value));
    }

    /// A text, if it is there.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text)),
            Some(other) => Err(unlike(name, "a text", other)),
        }
    }

    /// The first of these fields that is there: a text with something in it.
    pub fn required(&self, names: &[&str]) -> Result<&str, Refusal> {
        for name in names {
            if let Some(text) = self.text(name)? {
                return match text.trim() {
                    "" => Err(Refusal::plain(format!("`{name}` is empty"))),
                    _ => Ok(text),
                };
            }
        }
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Err(Refusal::plain(format!("no {}", names.join(" or "))))
    }

    /// The first of these fields as a name: a text or an integer.
    pub fn name(&self, names: &[&str]) -> Result<Option<String>, Refusal> {
        let Some(name) = names.iter().find(|name| self.get(name).is_some()) else {
            return Ok(None);
        };
        match self.get(name) {
            Some(Value::Str(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::Str(text)) if text.len() <= 500 => Ok(Some(text.clone())),
            Some(Value::Int(digits)) if digits.len() <= 500 => Ok(Some(digits.clone())),
            Some(Value::Str(_) | Value::Int(_)) => {
                Err(Refusal::plain(format!("`{name}` is too long for a name")))
            }
            other => Err(unlike(name, "a text or an integer", other.unwrap_or(&Value::Null))),
        }
    }

    /// A truth value, if it is there.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(unlike(name, "true or false", other)),
        }
    }

    /// A whole number of 64 bits, if it is there and is one.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Value::Int(digits) | Value::Str(digits) => digits.parse().ok(),
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
                Some(*value as i64)
            }
            _ => None,
        }
    }

    /// A list of texts, or one text; none if it is not there.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, Refusal> {
        let items = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::List(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        items.iter().map(|item| text_of(name, item)).collect()
    }
}

fn text_of<'v>(name: &str, value: &'v Value) -> Result<&'v str, Refusal> {
    match value {
        Value::Str(text) => Ok(text),
        other => Err(unlike(name, "a list of texts", other)),
    }
}

/// The refusal of a field that is something else.
pub(super) fn unlike(name: &str, expected: &str, found: &Value) -> Refusal {
    let is = match found {
        Value::Other(what) => what,
        found => found.kind(),
    };
    let detail = format!("{expected} is expected, but it is {is}");
    Refusal::new(format!("`{name}` is of another type"), detail)
}

#[cfg(test)]
impl Row {
    /// A row that stands nowhere.
    pub fn of(json: &str) -> Row {
        let place = Place { path: "x.jsonl".into(), unit: "line", number: 1 };
        Row::new(place, Value::parse(json).unwrap()).unwrap()
    }
}
