//! The frames of the protocol.

use serde_json::{Map, Value, json};

use super::invalid::Invalid;
use troupe_guests::plugin::PluginFailure;

/// A frame of this type.
pub(super) fn frame(kind: &str, data: Value) -> String {
    json!({ "type": kind, "data": data }).to_string()
}

/// A request that gets no answer, with the protocol's word for why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Further fields.
    pub(super) more: Map<String, Value>,
}

impl Problem {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Problem { code, message: message.into(), more: Map::new() }
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    /// The frame is no JSON, or no object of JSON.
    pub(super) fn not_json(reason: impl std::fmt::Display) -> Self {
        Problem::new("INVALID_JSON", format!("the frame is not a JSON object: {reason}"))
    }

    /// The frame has an unknown type.
    pub(super) fn unknown_type(kind: &str) -> Self {
        let message = format!(
            "there is no message of type `{kind}`; there are reset, step, state, mcp, render and \
             close"
        );
        Problem::new("UNKNOWN_TYPE", message)
    }

    /// Something in the request is wrong.
    pub(super) fn invalid(invalid: &Invalid) -> Self {
        Problem::new("VALIDATION_ERROR", invalid.message()).with("errors", json!(invalid.errors()))
    }

    /// A plugin failed, so that the episode is void.
    pub(super) fn void(failure: &PluginFailure) -> Self {
        let message = format!(
            "{failure}. The episode is void: it has no reward, leave it out; reset begins another"
        );
        Problem::new("EXECUTION_ERROR", message)
            .with("void", json!(true))
            .with("cause", json!(failure.cause.word()))
    }

    /// A plugin failed in what leaves the episode as it is.
    pub(super) fn failed(failure: &PluginFailure) -> Self {
        Problem::new("EXECUTION_ERROR", failure.to_string())
            .with("cause", json!(failure.cause.word()))
    }

    /// There are as many sessions as there may be.
    pub(super) fn full(active: usize, most: usize) -> Self {
        let message = format!("all {most} sessions are taken (--sessions); try again later");
        Problem::new("CAPACITY_REACHED", message)
            .with("active_sessions", json!(active))
            .with("max_sessions", json!(most))
    }

    /// The request does not fit where the session stands.
    pub(super) fn session(message: impl Into<String>) -> Self {
        Problem::new("SESSION_ERROR", message)
    }

    /// As the body of an answer that FastAPI's clients know.
    pub(super) fn to_body(&self) -> Value {
        let mut more = self.more.clone();
        let detail = more.remove("errors").unwrap_or_else(|| json!(self.message));
        let mut told = Map::new();
        told.insert("detail".to_owned(), detail);
        told.insert("code".to_owned(), json!(self.code));
        told.insert("message".to_owned(), json!(self.message));
        told.extend(more);
        Value::Object(told)
    }

    /// As a frame.
    pub(super) fn to_frame(&self) -> String {
        let mut data = Map::new();
        data.insert("message".to_owned(), json!(self.message));
        data.insert("code".to_owned(), json!(self.code));
        data.extend(self.more.clone());
        frame("error", Value::Object(data))
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Problem::invalid(&invalid)
    }
}

#[cfg(test)]
mod tests {
    use troupe_guests::plugin::Cause;

    use super::*;

    #[test]
    fn a_void_episode_says_so_in_a_body_as_in_a_frame() {
        let failure = PluginFailure {
            plugin: "sudoku".into(),
            version: "1.0.0".into(),
            call: "act",
            cause: Cause::StackOverflow,
        };
        let problem = Problem::void(&failure);
        let body = problem.to_body();
        let frame: Value = serde_json::from_str(&problem.to_frame()).unwrap();
        for name in ["code", "message", "void", "cause"] {
            assert_eq!(body[name], frame["data"][name], "{name}");
        }
        assert_eq!((&body["void"], &body["cause"]), (&json!(true), &json!("stack_overflow")));
        assert_eq!(body["detail"], body["message"]);
    }

    #[test]
    fn errors_of_fields_are_the_detail_of_a_body_and_stand_there_once() {
        let problem = Problem::from(Invalid::value("split", "no split"));
        let body = problem.to_body();
        assert_eq!(body["detail"][0]["loc"], json!(["split"]));
        assert!(body.get("errors").is_none(), "{body}");
    }
}
