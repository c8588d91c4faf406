//! What goes wrong between here and a server.

use troupe_core::error::{Coded, ExitCode};
use troupe_model::{RemoteFailure, RemoteFailureKind};

/// Why a server did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TinkerFailure {
    /// The kind.
    pub kind: TinkerFailureKind,
    /// The failure in a sentence, with what to do; never holds the key.
    pub message: String,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TinkerFailureKind {
    /// No connection, or an overloaded or broken server, for as long as it was asked.
    Lost,
    /// What was accepted was not done in time.
    Late,
    /// The key is missing or wrong.
    Locked,
    /// The account is on hold.
    OnHold,
    /// The server will not do this.
    Refused,
    /// It has no such session, model, checkpoint or promise.
    Unknown,
    /// A promise was thrown away before it was asked for.
    Expired,
    /// A checkpoint of that name exists, or a request's number was used for another one.
    Taken,
    /// It wants another encoding.
    Encoding,
    /// It no longer has the model that it made: it was restarted, or missed heartbeats.
    NotLoaded,
    /// Its answer cannot be read, or does not fit what was asked.
    Malformed,
    /// A number that is none came back: weights there have diverged.
    Ruined,
    /// What was to be sent would harm the server.
    Unsendable,
    /// What it does is not right for this run.
    Unfit,
}

impl TinkerFailureKind {
    /// A failure of this kind.
    pub fn because(self, message: impl Into<String>) -> TinkerFailure {
        TinkerFailure { kind: self, message: message.into() }
    }

    /// Whether the same run may go on once the server is there again.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Lost | Self::Late | Self::NotLoaded | Self::Expired)
    }
}

impl TinkerFailure {
    /// The same, while this was done.
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        TinkerFailure { message: format!("{what}: {}", self.message), ..self }
    }
}

/// As those who ask for answers know failures.
impl From<TinkerFailure> for RemoteFailure {
    fn from(failure: TinkerFailure) -> Self {
        let kind = match failure.kind {
            TinkerFailureKind::Late => RemoteFailureKind::Timeout,
            kind if kind.is_lost() => RemoteFailureKind::Unreachable,
            TinkerFailureKind::Malformed | TinkerFailureKind::Ruined => {
                RemoteFailureKind::Malformed
            }
            _ => RemoteFailureKind::Refused,
        };
        kind.because(failure.message)
    }
}

impl From<RemoteFailure> for TinkerFailure {
    fn from(failure: RemoteFailure) -> Self {
        let kind = match failure.kind {
            RemoteFailureKind::Timeout | RemoteFailureKind::Unreachable => TinkerFailureKind::Lost,
            RemoteFailureKind::Malformed => TinkerFailureKind::Malformed,
            RemoteFailureKind::Refused | RemoteFailureKind::TooLong | RemoteFailureKind::Broken => {
                TinkerFailureKind::Refused
            }
        };
        kind.because(failure.message)
    }
}

impl Coded for TinkerFailure {
    fn code(&self) -> Option<ExitCode> {
        match self.kind {
            kind if kind.is_lost() => Some(ExitCode::Lost),
            TinkerFailureKind::Unfit => Some(ExitCode::Usage),
            TinkerFailureKind::Locked | TinkerFailureKind::OnHold => Some(ExitCode::Policy),
            _ => Some(ExitCode::Run),
        }
    }
}
