//! Why a sandbox cannot be set up.

use std::path::PathBuf;

use troupe_core::error::{Coded, ExitCode};
use troupe_core::installation::MissingPart;
use troupe_guests::plugin::PluginError;

/// Why programs cannot be run at all. Found before the first of them.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// WebAssembly, or a worker process, cannot be run here.
    #[error("cannot set up the sandbox: {reason}")]
    Engine {
        /// What wasmtime or the system said.
        reason: String,
    },
    /// The program that runs them is missing.
    #[error(transparent)]
    Worker(#[from] MissingPart),
    /// A worker cannot use the interpreter.
    #[error("{reason}")]
    Interpreter {
        /// Its file.
        file: PathBuf,
        /// What the worker said; it names the file.
        reason: String,
    },
    /// The interpreter's file cannot be used.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The file brings no interpreter.
    #[error("plugin `{}` brings no interpreter", file.display())]
    NoInterpreter {
        /// The file.
        file: PathBuf,
    },
}

impl Coded for StartError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Plugin)
    }
}

impl StartError {
    pub(super) fn engine(reason: impl std::fmt::Display) -> Self {
        StartError::Engine { reason: reason.to_string() }
    }
}
