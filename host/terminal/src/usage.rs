//! What was asked for cannot be done.

use troupe_core::error::{Coded, ExitCode};

/// What is asked for cannot be done as it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl Coded for UsageError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}
