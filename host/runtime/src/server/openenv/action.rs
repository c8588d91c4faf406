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
        let Some(text) = invalid::text(&data, "text")? else {
            return Err(Invalid::field("missing", "text", "the field `text` is missing"));
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
            text: text.to_owned(),
            kind: invalid::text(&data, "kind")?.map(owned),
            role: invalid::text(&data, "role")?.map(owned),
            complete,
        })
    }
}
