//! A request that is not answered, as `OpenAI`'s API says it.

use serde_json::{Value, json};

use troupe_model::PolicyError;

/// A request that is not answered.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) status: u16,
    kind: &'static str,
    message: String,
    /// The field that is at fault.
    field: Option<String>,
    code: Option<&'static str>,
}

impl Refused {
    fn new(status: u16, kind: &'static str, message: String) -> Self {
        Refused { status, kind, message, field: None, code: None }
    }

    /// What is asked cannot be.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Refused::new(400, "invalid_request_error", message.into())
    }

    /// The same, because of this field.
    pub(super) fn field(name: &str, message: impl Into<String>) -> Self {
        Refused { field: Some(name.to_owned()), ..Refused::request(message) }
    }

    pub(super) fn internal(message: String) -> Self {
        Refused::new(500, "internal_error", message)
    }

    pub(super) fn no_such_path(path: &str) -> Self {
        let message = format!(
            "there is no `{path}`; there are GET /v1/models, GET /v1/models/MODEL, GET /health, \
             POST /v1/completions and POST /v1/chat/completions"
        );
        Refused::missing(message)
    }

    /// What is asked for is not there.
    pub(super) fn missing(message: String) -> Self {
        Refused::new(404, "not_found_error", message)
    }

    /// A model that is not there.
    pub(super) fn no_such_model(message: String) -> Self {
        let (field, code) = (Some("model".to_owned()), Some("model_not_found"));
        Refused { field, code, ..Refused::new(404, "invalid_request_error", message) }
    }

    /// As `OpenAI` has it.
    pub(super) fn to_json(&self) -> Value {
        json!({ "error": {
            "message": self.message, "type": self.kind, "param": self.field, "code": self.code,
        } })
    }
}

impl From<PolicyError> for Refused {
    fn from(error: PolicyError) -> Self {
        Refused::request(error.to_string())
    }
}
