//! Why there is no execution.

use serde::{Deserialize, Serialize};

/// Why a run did not take place. Never the program's fault, and never a
/// verdict about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum SandboxError {
    /// No interpreter for the language is loaded.
    #[error("no interpreter for `{language}` is loaded{hint}")]
    UnknownLanguage {
        /// The language.
        language: String,
        /// What is loaded, or what to do.
        hint: String,
    },
    /// The harness itself failed; the run may be tried again.
    #[error("the sandbox failed: {message}")]
    Harness {
        /// What happened.
        message: String,
    },
}

impl SandboxError {
    /// A failure of the harness.
    pub fn harness(message: impl Into<String>) -> Self {
        SandboxError::Harness { message: message.into() }
    }
}
