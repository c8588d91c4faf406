//! Model-written programs, as the grader's crate has them: plugins need them, too.

pub use troupe_grader::GradingError;
pub use troupe_grader::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};

use crate::error::{Coded, ExitCode};

impl Coded for SandboxError {
    fn code(&self) -> Option<ExitCode> {
        Some(match self {
            SandboxError::UnknownLanguage { .. } => ExitCode::Plugin,
            SandboxError::Harness { .. } => ExitCode::Run,
        })
    }
}

impl Coded for GradingError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}
