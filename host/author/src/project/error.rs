//! What can be wrong with a plugin's sources, or with what builds them.

use std::fmt::Display;
use std::path::PathBuf;

use troupe_toolchain::{NoToolchain, NotAModule};

use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::StorageError;

/// A project cannot be made, read or built.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The name is written as no name is.
    #[error("the name {0:?} {1}")]
    Name(String, &'static str),
    /// The name means something else already.
    #[error(
        "the name {name:?} {reason}{}",
        proposal.as_ref().map_or(String::new(), |free| format!("; `{free}`, say, is free"))
    )]
    Taken {
        /// The name.
        name: String,
        /// What it is already.
        reason: String,
        /// Another that would do.
        proposal: Option<String>,
    },
    /// It would overwrite something.
    #[error("`{}` is there already; choose another name, or remove it", .0.display())]
    Exists(PathBuf),
    /// It is not a project's folder.
    #[error(
        "`{}` is no plugin's folder: it has no `plugin.toml`; `host plugin new NAME` makes one",
        .0.display()
    )]
    NoProject(PathBuf),
    /// Its `plugin.toml` is wrong.
    #[error("`{}`: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, on one line.
        reason: String,
    },
    /// A tool is missing.
    #[error("{what} is missing, which builds plugins in {language}: `{command}`")]
    Tool {
        /// The tool.
        what: &'static str,
        /// The language.
        language: &'static str,
        /// The one command that installs it.
        command: String,
    },
    /// Rust, or its linker, is missing.
    #[error(transparent)]
    NoToolchain(#[from] NoToolchain),
    /// A tool was started and failed; it said why.
    #[error("`{0}` could not be built: see above")]
    Build(String),
    /// No component can be made of what was compiled.
    #[error("`{0}` was compiled, but is no plugin: {1}")]
    NotAPlugin(String, NotAModule),
    /// What was compiled asks for an operating system.
    #[error(
        "`{0}` was compiled, but asks the system for `{1}`: a plugin has no files, no clock and \
         no terminal (`printf`, too, writes to one; `log_line` writes to the run's log)"
    )]
    System(String, String),
    /// What was compiled exports nothing of the contract.
    #[error(
        "`{0}` was compiled, but exports no environment and no workflow: one of its files has to \
         end with `TROUPE_ENVIRONMENT(…)` or `TROUPE_WORKFLOW(…)`"
    )]
    NothingExported(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Coded for ProjectError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ProjectError::Build(_) | ProjectError::NotAPlugin(..) => Some(ExitCode::Plugin),
            ProjectError::Storage(error) => error.code(),
            _ => Some(ExitCode::Usage),
        }
    }
}

impl ProjectError {
    pub(super) fn manifest(path: PathBuf, reason: &impl Display) -> Self {
        let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        ProjectError::Manifest { path, reason }
    }
}
