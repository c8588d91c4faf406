//! The result of running a program.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a program ended. All but [`Ending::OutOfTime`] are a function of the
/// interpreter, the program, its input and the limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// By an error it did not handle.
    Failed {
        /// The error's name, such as `ZeroDivisionError`.
        error: String,
        /// Where it happened, in a few lines.
        trace: String,
    },
    /// It is not a program of the language.
    Malformed {
        /// What the parser said.
        message: String,
    },
    /// It used up its fuel.
    OutOfFuel,
    /// It met the wall-clock guard.
    OutOfTime,
    /// It used up its memory.
    OutOfMemory,
    /// It wrote more than it may.
    OutputFlood,
    /// It crashed the interpreter.
    Crashed {
        /// What the crash was.
        message: String,
    },
    /// It met something that the interpreter lacks and its language has, so
    /// that nothing can be said about it.
    Unsupported {
        /// What that is.
        message: String,
    },
}

impl Ending {
    /// A short word for counting.
    pub fn word(&self) -> &'static str {
        match self {
            Ending::Exited { code: 0 } => "exited",
            Ending::Exited { .. } => "nonzero_exit",
            Ending::Failed { .. } => "error",
            Ending::Malformed { .. } => "malformed",
            Ending::OutOfFuel => "out_of_fuel",
            Ending::OutOfTime => "out_of_time",
            Ending::OutOfMemory => "out_of_memory",
            Ending::OutputFlood => "output_flood",
            Ending::Crashed { .. } => "crashed",
            Ending::Unsupported { .. } => "unsupported",
        }
    }

    /// Whether the program ended by itself with exit code 0.
    pub fn is_success(&self) -> bool {
        matches!(self, Ending::Exited { code: 0 })
    }

    /// The exit code that a shell would report of an ordinary process.
    pub fn shell_code(&self) -> u8 {
        match self {
            Ending::Exited { code } => (*code & 0xff) as u8,
            Ending::Failed { .. } | Ending::Malformed { .. } | Ending::Unsupported { .. } => 1,
            Ending::OutOfFuel | Ending::OutOfTime => 124,
            Ending::OutOfMemory => 137,
            Ending::OutputFlood => 141,
            Ending::Crashed { .. } => 134,
        }
    }
}

/// A run that took place, however it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output, as far as it was written.
    pub stdout: Vec<u8>,
    /// Its standard error, as far as it was written.
    pub stderr: Vec<u8>,
    /// The fuel it used.
    pub fuel: u64,
    /// The memory it had at its end, in bytes: the interpreter's included.
    pub memory_bytes: u64,
    /// How long it took. The one part that no two runs share.
    pub wall: Duration,
}
