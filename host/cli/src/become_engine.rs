//! Commands that work with policies: another program's, which links libtorch.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use troupe_core::installation::{self, HOST, MissingPart};
use troupe_core::rank::Rank;
use troupe_experiment::heed_leash;

use crate::torch::{self, TorchError};

/// What libtorch says of its own accord.
const TORCH_LOG: &str = "TORCH_CPP_LOG_LEVEL";

/// mimalloc keeps what is freed for an hour, unless this is set already, or until it is told
/// otherwise between the phases of a step: every layer of every pass frees what the next one takes,
/// and pages that were given back have to be cleared anew, which was 40 % of an update's time.
const KEPT_PAGES: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "3600000");

/// Why the engine does not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    /// It is not there.
    #[error(transparent)]
    Missing(#[from] MissingPart),
    /// Its libtorch is not there.
    #[error(transparent)]
    Torch(#[from] TorchError),
    /// The system does not start it.
    #[error("cannot start `{}`: {reason}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
}

/// Become the engine: the same process, the same command line. Comes back only
/// if that fails.
pub(super) fn become_engine() -> EngineError {
    heed_leash();
    let program = match installation::engine() {
        Ok(program) => program,
        Err(missing) => return missing.into(),
    };
    if let Some(packages) = installation::site_packages(&program)
        && let Err(wrong) = torch::check(packages, env::var_os("LD_LIBRARY_PATH").as_deref())
    {
        return wrong.into();
    }
    let mut command = Command::new(&program);
    command.arg0(HOST).args(env::args_os().skip(1));
    if env::var_os(KEPT_PAGES.0).is_none() {
        command.env(KEPT_PAGES.0, KEPT_PAGES.1);
    }
    if matches!(Rank::from_environment(), Ok(Some(_))) && env::var_os(TORCH_LOG).is_none() {
        // That a rank is lost is said by us, and in a sentence.
        command.env(TORCH_LOG, "ERROR");
    }
    let reason = command.exec();
    EngineError::Start { program, reason }
}
