//! Troubles with a server, told apart here and nowhere else.

use serde_json::Value;

use crate::plugin::Cause;

/// Bytes kept of what a server says: it is for people to read.
const MESSAGE_BYTES: usize = 2048;

/// Why a request has no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// There is no connection, or there is none any more.
    #[error("the connection to its server failed: {0}")]
    Connection(String),
    /// Nothing came in time.
    #[error(
        "its server did not answer within {0} s; raise `environment.timeout_s` if it is honest work"
    )]
    Silence(u64),
    /// The server has no session to give.
    #[error("no session could be opened: {0}")]
    Full(String),
    /// The server says that it failed.
    #[error("its server failed ({code}): {message}")]
    Failed {
        /// The protocol's word.
        code: String,
        /// What the server said.
        message: String,
    },
    /// The server refuses what was asked; of an answer, a fault of its form.
    #[error("its server refuses that: {0}")]
    Refused(String),
    /// The answer breaks the protocol.
    #[error("its server gave an invalid answer: {0}")]
    Invalid(String),
    /// The server lists splits, and not the one that is to be played.
    #[error(
        "its server lists no split `{wanted}`, but {listed}; say with `environment.validation_split` \
         which of them validation is of, or have it list that one, too"
    )]
    NoSplit {
        /// The split that is missing.
        wanted: String,
        /// What it lists.
        listed: String,
    },
    /// A state was to be gone back to, and that led elsewhere.
    #[error("{0}")]
    NotReplayed(String),
}

impl Trouble {
    /// The trouble that an error frame reports.
    pub(super) fn from_frame(data: &Value) -> Self {
        let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
        let (code, message) = (short(text("code")), short(text("message")));
        match code.as_str() {
            "CAPACITY_REACHED" => Trouble::Full(message),
            "VALIDATION_ERROR" => Trouble::Refused(message),
            _ => Trouble::Failed { code, message },
        }
    }

    /// A short word for counting.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Trouble::Connection(_) => "connection",
            Trouble::Silence(_) => "no_answer",
            Trouble::Full(_) => "no_session",
            Trouble::Failed { .. } => "server_failed",
            Trouble::Refused(_) => "refused",
            Trouble::Invalid(_) => "invalid_answer",
            Trouble::NoSplit { .. } => "no_split",
            Trouble::NotReplayed(_) => "not_replayed",
        }
    }
}

impl From<Trouble> for Cause {
    fn from(trouble: Trouble) -> Self {
        Cause::Foreign { word: trouble.word(), message: trouble.to_string() }
    }
}

/// As much of a server's text as is shown to people.
pub(super) fn short(text: &str) -> String {
    text[..text.floor_char_boundary(MESSAGE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_frame_is_a_fault_of_the_answer_of_the_server_or_of_room() {
        let of = |code: &str| Trouble::from_frame(&json!({"code": code, "message": "m"}));
        assert_eq!(of("VALIDATION_ERROR"), Trouble::Refused("m".to_owned()));
        assert_eq!(of("CAPACITY_REACHED"), Trouble::Full("m".to_owned()));
        for code in ["EXECUTION_ERROR", "SESSION_ERROR", "", "FACTORY_ERROR"] {
            assert_eq!(of(code).word(), "server_failed");
        }
        assert_eq!(Trouble::from_frame(&json!([1])).word(), "server_failed");
        let long = Trouble::from_frame(&json!({"code": "X", "message": "ä".repeat(5000)}));
        assert!(long.to_string().len() < 2200);
    }
}
