//! Model-written programs, their limits and their endings. Plain data; the sandbox does the
//! running.

mod error;
mod execution;
mod runner;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::SandboxError;
pub use execution::{Ending, Execution};
pub use runner::Runner;

/// A model-written program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Program {
    /// The language, such as `python`: which interpreter runs it.
    pub language: String,
    /// The program's text.
    #[serde(with = "crate::bytes")]
    pub source: Arc<[u8]>,
    /// What follows the program's name on its command line.
    pub arguments: Vec<String>,
}

impl Program {
    /// A program without arguments.
    pub fn new(language: &str, source: impl Into<Arc<[u8]>>) -> Self {
        Program { language: language.to_owned(), source: source.into(), arguments: Vec::new() }
    }
}

/// What one run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Units of deterministic work; about one per WebAssembly instruction.
    pub fuel: u64,
    /// Guard against a slow machine, in milliseconds of processor time; four
    /// times as much in wall-clock time makes the run a harness failure.
    pub timeout_ms: u64,
    /// Memory, the interpreter's included, in MiB.
    pub memory_mib: u64,
    /// Bytes of standard output and standard error together.
    pub output_bytes: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits {
            fuel: 250_000_000_000,
            timeout_ms: 360_000,
            memory_mib: 512,
            output_bytes: 16 << 20,
        }
    }
}

impl RunLimits {
    /// Why a run within these limits says nothing about the program: which of
    /// them is below what the interpreter itself needs.
    pub fn too_low(&self, needs: &RunLimits) -> Option<String> {
        let low = |limit: &str, given: u64, needed: u64, unit: &str| {
            (given < needed).then(|| {
                format!("a limit of {given} {unit} {limit} is below the {needed} that the interpreter itself needs")
            })
        };
        low("of fuel", self.fuel, needs.fuel, "units")
            .or_else(|| low("of time", self.timeout_ms, needs.timeout_ms, "ms"))
            .or_else(|| low("of memory", self.memory_mib, needs.memory_mib, "MiB"))
    }

    /// These limits, none above that of `cap`.
    #[must_use]
    pub fn capped(self, cap: &RunLimits) -> Self {
        RunLimits {
            fuel: self.fuel.min(cap.fuel),
            timeout_ms: self.timeout_ms.min(cap.timeout_ms),
            memory_mib: self.memory_mib.min(cap.memory_mib),
            output_bytes: self.output_bytes.min(cap.output_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_limit_below_what_is_needed_is_named() {
        let needs = RunLimits { fuel: 10, timeout_ms: 20, memory_mib: 30, output_bytes: 0 };
        assert_eq!(needs.too_low(&needs), None);
        for (limits, word) in [
            (RunLimits { fuel: 9, ..needs }, "9 units of fuel is below the 10"),
            (RunLimits { timeout_ms: 0, ..needs }, "0 ms of time is below the 20"),
            (RunLimits { memory_mib: 29, ..needs }, "29 MiB of memory is below the 30"),
        ] {
            let reason = limits.too_low(&needs).unwrap();
            assert!(reason.contains(word), "{reason}");
        }
    }
}
