//! The interface to whatever runs programs.

use std::sync::Arc;

use super::{Execution, Program, RunLimits, SandboxError};

/// Runs programs: the sandbox, except in tests.
pub trait Runner: Send + Sync {
    /// Runs a program once on an input.
    ///
    /// # Errors
    /// If the run says nothing about the program.
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError>;

    /// Runs a program once on each input; results are in the order of the inputs.
    fn run_batch(
        &self,
        program: &Program,
        stdins: &[Arc<[u8]>],
        limits: &RunLimits,
    ) -> Vec<Result<Arc<Execution>, SandboxError>> {
        stdins.iter().map(|stdin| self.run(program, stdin, limits)).collect()
    }
}
