//! A message of a chat, as the chat template is told of it.

use serde_json::{Map, Value, json};

use super::fields::{self, CALL, FUNCTION, MESSAGE, PART};
use super::refused::Refused;

/// What a template may be told of a message beside its role and content.
const MORE: [&str; 5] = ["name", "tool_calls", "tool_call_id", "reasoning_content", "reasoning"];

/// A message with the fields that say something, its content as one text, and what it calls as
/// objects; `index` is its place.
pub(super) fn read(index: usize, message: &Value) -> Result<Value, Refused> {
    let place = format!("messages[{index}].");
    let message = object(message, &format!("messages[{index}]"))?;
    let role = match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => "system",
        Some(known @ ("user" | "assistant" | "tool")) => known,
        other => {
            let other = other.map_or("missing".to_owned(), |role| role.escape_debug().to_string());
            return Err(Refused::field(
                "role",
                format!("`{place}role` is `{other}`; there are system, user, assistant and tool"),
            ));
        }
    };
    let noun = format!("a message of role `{role}`");
    fields::check(MESSAGE, (role, &noun), message, &place)?;
    let content = match message.get("content").filter(|content| !content.is_null()) {
        Some(content) => text(content, &place)?,
        None if role == "assistant" => String::new(),
        None => return Err(Refused::field("content", format!("`{place}content` is missing"))),
    };
    let mut told = Map::new();
    told.insert("role".to_owned(), role.into());
    told.insert("content".to_owned(), content.into());
    for name in MORE {
        let value = message.get(name).filter(|value| !value.is_null());
        match (name, value) {
            (_, None) => {}
            ("tool_calls", Some(calls)) => {
                let calls = calls_of(calls, &place)?;
                // An empty list is what clients write who call nothing.
                if !calls.is_empty() {
                    told.insert(name.to_owned(), calls.into());
                }
            }
            (_, Some(Value::String(text))) => {
                told.insert(name.to_owned(), text.as_str().into());
            }
            (_, Some(_)) => {
                return Err(Refused::field(name, format!("`{place}{name}` is no text")));
            }
        }
    }
    Ok(told.into())
}

fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Map<String, Value>, Refused> {
    value.as_object().ok_or_else(|| Refused::request(format!("`{place}` is no object")))
}

/// Parts are put together as they stand.
fn text(content: &Value, place: &str) -> Result<String, Refused> {
    let parts = match content {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(parts) => parts,
        _ => {
            let message = format!("`{place}content` is neither a text nor a list of parts");
            return Err(Refused::field("content", message));
        }
    };
    let read = |(index, part)| part_text(part, &format!("{place}content[{index}]"));
    parts.iter().enumerate().map(read).collect()
}

fn part_text<'v>(part: &'v Value, place: &str) -> Result<&'v str, Refused> {
    let part = object(part, place)?;
    fields::check(PART, ("part", "a part of a text"), part, &format!("{place}."))?;
    part.get("text").and_then(Value::as_str).ok_or_else(|| {
        let message = format!("`{place}` is a part that is no text; only texts are read");
        Refused::field("content", message)
    })
}

fn calls_of(calls: &Value, place: &str) -> Result<Vec<Value>, Refused> {
    let list = calls
        .as_array()
        .ok_or_else(|| Refused::field("tool_calls", format!("`{place}tool_calls` is no list")))?;
    list.iter()
        .enumerate()
        .map(|(index, call)| call_of(call, &format!("{place}tool_calls[{index}]")))
        .collect()
}

/// A call, with its arguments as an object: so templates read them.
fn call_of(call: &Value, place: &str) -> Result<Value, Refused> {
    let call = object(call, place)?;
    fields::check(CALL, ("call", "a call"), call, &format!("{place}."))?;
    let function = call.get("function").unwrap_or(&Value::Null);
    let function = object(function, &format!("{place}.function"))?;
    fields::check(FUNCTION, ("call", "a call"), function, &format!("{place}.function."))?;
    let refuse = |reason: &str| Refused::field("tool_calls", format!("`{place}.function.{reason}"));
    let name = function.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| refuse("name` is missing"))?;
    let arguments = match function.get("arguments").unwrap_or(&Value::Null) {
        Value::Null => Map::new(),
        Value::Object(arguments) => arguments.clone(),
        Value::String(text) if text.is_empty() => Map::new(),
        Value::String(text) => serde_json::from_str(text)
            .map_err(|error| refuse(&format!("arguments` is no JSON object: {error}")))?,
        _ => return Err(refuse("arguments` is neither a text nor an object")),
    };
    let mut told = call.clone();
    told.retain(|name, value| name != "index" && !value.is_null());
    told.insert("function".to_owned(), json!({ "name": name, "arguments": arguments }));
    Ok(told.into())
}
