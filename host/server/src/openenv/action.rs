//! What a client does.

use serde_json::Value;

use super::invalid::{self, Invalid};

/// What a client does.
#[derive(Debug, PartialEq)]
pub(super) struct Action {
    /// The action, or the answer of a role.
    pub(super) text: String,
    /// The kind of action; by default the first that there is.
    pub(super) kind: Option<String>,
    /// The seat that acts or answers; by default the one whose turn it is.
    pub(super) role: Option<String>,
    /// Whether an answer ended by itself and was not cut.
    pub(super) complete: bool,
}

impl Action {
    /// Reads it; `known` are the fields that the game understands, `longest` how
    /// many bytes of text it takes.
    pub(super) fn parse(
        data: Option<&Value>,
        known: &[&str],
        longest: usize,
    ) -> Result<Self, Invalid> {
        let data = invalid::fields(data)?;
        invalid::check_names(&data, known)?;
        let text = match data.get("text") {
            Some(Value::String(text)) => text.clone(),
            // Clients that read a model's reply as JSON where they can make a number of `4`.
            Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Array(_))) => {
                value.to_string()
            }
            None => return Err(Invalid::field("missing", "text", "the field `text` is missing")),
            Some(_) => {
                return Err(Invalid::field("string_type", "text", "`text` must be a string"));
            }
        };
        if text.len() > longest {
            let message = format!(
                "`text` has more than {longest} bytes (a quarter of plugins.limits.text_kib)"
            );
            return Err(Invalid::value("text", message));
        }
        let complete = match data.get("complete") {
            None | Some(Value::Null) => true,
            Some(Value::Bool(complete)) => *complete,
            Some(_) => {
                let message = "`complete` must be true or false";
                return Err(Invalid::field("bool_type", "complete", message));
            }
        };
        let owned = |text: &str| text.to_owned();
        Ok(Action {
            text,
            kind: invalid::text(&data, "kind")?.map(owned),
            role: invalid::text(&data, "role")?.map(owned),
            complete,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(data: &Value) -> Result<Action, String> {
        let known = ["text", "kind", "role", "complete", "metadata"];
        Action::parse(Some(data), &known, 8).map_err(|invalid| invalid.message())
    }

    #[test]
    fn a_reply_that_was_read_as_json_is_the_text_it_was() {
        for (value, text) in [(json!("D"), "D"), (json!(4), "4"), (json!([1, 2]), "[1,2]")] {
            assert_eq!(parse(&json!({ "text": value })).unwrap().text, text);
        }
        assert!(parse(&json!({"text": "D"})).unwrap().complete);
        assert!(!parse(&json!({"text": "D", "complete": false})).unwrap().complete);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |data| parse(&data).unwrap_err();
        assert!(error(json!({})).contains("`text` is missing"));
        assert!(error(json!(null)).contains("`text` is missing"));
        assert!(error(json!({"text": {}})).contains("must be a string"));
        assert!(error(json!({"text": "123456789"})).contains("more than 8 bytes"));
        assert!(error(json!({"text": "", "rôle": 1})).contains("`rôle`"));
        assert!(error(json!({"text": "", "complete": 1})).contains("true or false"));
        assert!(error(json!({"text": "", "kind": 1})).contains("`kind` must be a string"));
    }
}
