//! Run model-written programs. The host serves this import to plugins that its
//! user granted it, as in `host train --grant-sandbox my-environment`; others
//! that use it are not loaded.
//!
//! Every run takes place in a fresh interpreter that can reach nothing but its
//! input. Compare what it wrote with what was expected here, in the plugin:
//! a program must never be given the expected output.

#[cfg(target_family = "wasm")]
use crate::bindings::sandbox_user::troupe::plugin::sandbox as wit;

/// What one run may use. The host caps every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of deterministic work; about one per WebAssembly instruction.
    pub fuel: u64,
    /// Guard against a slow machine, in milliseconds.
    pub timeout_ms: u32,
    /// Memory, the interpreter's included, in MiB.
    pub memory_mib: u32,
    /// Bytes of standard output and standard error together.
    pub output_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel: 250_000_000_000,
            timeout_ms: 360_000,
            memory_mib: 512,
            output_bytes: 1 << 20,
        }
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By an error it did not handle: the error's name and a short trace.
    Failed(String, String),
    /// It is not a program of the language: the parser's message.
    Malformed(String),
    /// It used up its fuel.
    OutOfFuel,
    /// It met the clock that guards a slow machine.
    OutOfTime,
    /// It used up its memory.
    OutOfMemory,
    /// It wrote more than it may.
    OutputFlood,
    /// It crashed the interpreter.
    Crashed(String),
}

/// What a run left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output, as far as it was written.
    pub stdout: Vec<u8>,
    /// Its standard error, as far as it was written.
    pub stderr: Vec<u8>,
    /// The fuel it used.
    pub fuel: u64,
}

/// Why there is no execution. Never the program's fault: an environment hands
/// it on as its own problem, so that the episode is void and not a zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No interpreter for this language is loaded.
    UnknownLanguage(String),
    /// The harness itself failed; the run may be tried again.
    Harness(String),
}

impl From<Problem> for crate::environment::Problem {
    fn from(problem: Problem) -> Self {
        crate::environment::Problem::Internal(match problem {
            Problem::UnknownLanguage(language) => {
                format!("no interpreter for `{language}` is loaded")
            }
            Problem::Harness(reason) => format!("the sandbox failed: {reason}"),
        })
    }
}

/// Run one program on one input, in a fresh instance.
pub fn run(
    language: &str,
    program: &str,
    stdin: &[u8],
    limits: Limits,
) -> Result<Execution, Problem> {
    #[cfg(target_family = "wasm")]
    return wit::run(language, program, stdin, limits.into()).map(Into::into).map_err(Into::into);
    #[cfg(not(target_family = "wasm"))]
    return outside(language, program, stdin, limits);
}

/// Run one program on many inputs, each in a fresh instance and as many at a
/// time as the host has workers.
pub fn run_batch(
    language: &str,
    program: &str,
    stdins: &[Vec<u8>],
    limits: Limits,
) -> Vec<Result<Execution, Problem>> {
    #[cfg(target_family = "wasm")]
    return wit::run_batch(language, program, stdins, limits.into())
        .into_iter()
        .map(|run| run.map(Into::into).map_err(Into::into))
        .collect();
    #[cfg(not(target_family = "wasm"))]
    return stdins.iter().map(|stdin| outside(language, program, stdin, limits)).collect();
}

/// A native test has no host that would run programs.
#[cfg(not(target_family = "wasm"))]
fn outside(_: &str, _: &str, _: &[u8], _: Limits) -> Result<Execution, Problem> {
    Err(Problem::Harness("there is no sandbox outside a host".to_owned()))
}

#[cfg(target_family = "wasm")]
impl From<Limits> for wit::Limits {
    fn from(limits: Limits) -> Self {
        let Limits { fuel, timeout_ms, memory_mib, output_bytes } = limits;
        wit::Limits { fuel, timeout_ms, memory_mib, output_bytes }
    }
}

#[cfg(target_family = "wasm")]
impl From<wit::Execution> for Execution {
    fn from(run: wit::Execution) -> Self {
        let ending = match run.ending {
            wit::Ending::Exited(code) => Ending::Exited(code),
            wit::Ending::Failed((error, trace)) => Ending::Failed(error, trace),
            wit::Ending::Malformed(message) => Ending::Malformed(message),
            wit::Ending::OutOfFuel => Ending::OutOfFuel,
            wit::Ending::OutOfTime => Ending::OutOfTime,
            wit::Ending::OutOfMemory => Ending::OutOfMemory,
            wit::Ending::OutputFlood => Ending::OutputFlood,
            wit::Ending::Crashed(message) => Ending::Crashed(message),
        };
        Execution { ending, stdout: run.stdout, stderr: run.stderr, fuel: run.fuel }
    }
}

#[cfg(target_family = "wasm")]
impl From<wit::Problem> for Problem {
    fn from(problem: wit::Problem) -> Self {
        match problem {
            wit::Problem::UnknownLanguage(language) => Problem::UnknownLanguage(language),
            wit::Problem::Harness(reason) => Problem::Harness(reason),
        }
    }
}
