//! The one who runs programs, as those see it who only want them run.

use std::sync::Arc;

use super::{Execution, Program, RunLimits, SandboxError};

/// Runs programs; the sandbox, outside tests.
pub trait Runner: Send + Sync {
    /// One run of a program on one input.
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError>;

    /// One run on each input, in the order of the inputs.
    fn run_batch(
        &self,
        program: &Program,
        stdins: &[Arc<[u8]>],
        limits: &RunLimits,
    ) -> Vec<Result<Arc<Execution>, SandboxError>> {
        stdins.iter().map(|stdin| self.run(program, stdin, limits)).collect()
    }
}
