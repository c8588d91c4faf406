//! What answers may be, whatever policy gives them.

use std::sync::Arc;

use serde_json::Value;

use troupe_core::config::Allowed;

/// What answers may be: each is one of these, or the beginning of one that was cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// One or more of these words, a space between them.
    Words(Arc<[String]>),
    /// One of these texts.
    Choices(Arc<[String]>),
    /// JSON that fits this schema, on one line, with a space after each comma and colon.
    Schema(Arc<Value>),
}

impl Constraint {
    /// What is `allowed`, where `words` are those that the plugins declare.
    pub fn new(allowed: &Allowed, words: &Arc<[String]>) -> Constraint {
        match allowed {
            Allowed::Words => Constraint::Words(words.clone()),
            Allowed::Choices(texts) => Constraint::Choices(texts.as_slice().into()),
            Allowed::Schema(_) => {
                // A configuration with another one is refused; nothing fits what is no schema.
                let schema = allowed.schema().ok().flatten().unwrap_or(Value::Bool(false));
                Constraint::Schema(Arc::new(schema))
            }
        }
    }
}
