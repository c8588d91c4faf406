//! A request whose fields are wrong.

use serde_json::{Map, Value, json};

/// What is wrong with a request, in pydantic's shape, which clients know.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Invalid {
    errors: Vec<Value>,
}

impl Invalid {
    /// One field is wrong.
    pub(super) fn field(kind: &str, name: &str, message: impl Into<String>) -> Self {
        let location: Vec<&str> = if name.is_empty() { vec![] } else { vec![name] };
        Invalid { errors: vec![json!({ "type": kind, "loc": location, "msg": message.into() })] }
    }

    /// A value that is none of those that it may be.
    pub(super) fn value(name: &str, message: impl Into<String>) -> Self {
        Invalid::field("value_error", name, message)
    }

    /// An unknown field.
    pub(super) fn unknown(name: &str, known: &[&str]) -> Self {
        let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("there is no field `{name}`; there are {there}");
        Invalid::field("extra_forbidden", name, message)
    }

    /// All of it in a sentence.
    pub(super) fn message(&self) -> String {
        let said = self.errors.iter().filter_map(|error| error["msg"].as_str());
        said.collect::<Vec<_>>().join("; ")
    }

    /// The errors, one by one.
    pub(super) fn errors(&self) -> &[Value] {
        &self.errors
    }
}

/// The fields of an object; nothing in its place counts as an empty one.
pub(super) fn fields(data: Option<&Value>) -> Result<Map<String, Value>, Invalid> {
    match data {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(fields)) => Ok(fields.clone()),
        Some(_) => Err(Invalid::field("dict_type", "", "the data must be an object")),
    }
}

/// Refuses what is none of the known fields.
pub(super) fn check_names(data: &Map<String, Value>, known: &[&str]) -> Result<(), Invalid> {
    match data.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Invalid::unknown(name, known)),
        None => Ok(()),
    }
}

/// A field that is text, if it is there.
pub(super) fn text<'a>(
    data: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, Invalid> {
    match data.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Invalid::field("string_type", name, format!("`{name}` must be a string"))),
    }
}

/// A field that is a whole number from 0, if it is there.
pub(super) fn count(data: &Map<String, Value>, name: &str) -> Result<Option<u64>, Invalid> {
    match data.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) => Ok(Some(count)),
            None => {
                let message = format!("`{name}` must be a whole number from 0");
                Err(Invalid::field("int_type", name, message))
            }
        },
    }
}
