//! Why a server gave no answer.

use std::fmt;

/// Why a server gave no answer that can be used. An answer that could not be
/// had is no bad answer: the episode that needed it is void.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoteFailure {
    /// The kind of failure, for counting.
    pub kind: RemoteFailureKind,
    /// The failure in a sentence; never holds the key.
    pub message: String,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFailureKind {
    /// The answer took longer than `timeout_seconds`, each time it was asked for.
    Timeout,
    /// No connection, or the server was overloaded or broken, each time.
    Unreachable,
    /// The server will not answer this.
    Refused,
    /// The server's answer cannot be read.
    Malformed,
    /// The prompt leaves no room for an answer.
    TooLong,
    /// It is no server: policies here that answer together cannot.
    Broken,
}

impl RemoteFailureKind {
    /// The word that a void episode has as its cause.
    pub fn word(self) -> &'static str {
        match self {
            RemoteFailureKind::Timeout => "remote_timeout",
            RemoteFailureKind::Unreachable => "remote_unreachable",
            RemoteFailureKind::Refused => "remote_refused",
            RemoteFailureKind::Malformed => "remote_malformed",
            RemoteFailureKind::TooLong => "prompt_too_long",
            RemoteFailureKind::Broken => "policies_broken",
        }
    }

    /// Whether the server is not there, as far as can be known.
    pub fn is_lost(self) -> bool {
        matches!(self, RemoteFailureKind::Timeout | RemoteFailureKind::Unreachable)
    }

    /// A failure of this kind.
    pub fn because(self, message: impl Into<String>) -> RemoteFailure {
        RemoteFailure { kind: self, message: message.into() }
    }
}

impl fmt::Display for RemoteFailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
