//! Run model-written programs. The host serves this import to plugins that its
//! user granted it, as in `host train --grant my-environment=sandbox`; others
//! that use it are not loaded.
//!
//! Every run takes place in a fresh interpreter that can reach nothing but its
//! input. Compare what it wrote with what was expected here, in the plugin:
//! a program must never be given the expected output.

pub use crate::bindings::granted::troupe::plugin::sandbox::{Ending, Execution, Limits, Problem};

#[cfg(target_family = "wasm")]
use crate::bindings::granted::troupe::plugin::sandbox as contract;

impl Default for Limits {
    fn default() -> Self {
        Limits { fuel: 250e9, timeout_ms: 360_000, memory_mib: 512, output_bytes: 1 << 20 }
    }
}

/// No execution is never the program's fault: an environment hands it on as
/// its own problem, so that the episode is void and not a zero.
impl From<Problem> for crate::types::Problem {
    fn from(problem: Problem) -> Self {
        crate::types::Problem::internal(match problem {
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
    return contract::run(language, program, stdin, limits);
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
    return contract::run_batch(language, program, stdins, limits);
    #[cfg(not(target_family = "wasm"))]
    return stdins.iter().map(|stdin| outside(language, program, stdin, limits)).collect();
}

#[cfg(not(target_family = "wasm"))]
type StandIn = Box<dyn Fn(&str, &str, &[u8], Limits) -> Result<Execution, Problem>>;

#[cfg(not(target_family = "wasm"))]
std::thread_local! {
    static STAND_IN: std::cell::RefCell<Option<StandIn>> = const { std::cell::RefCell::new(None) };
}

/// A native test has no host that would run programs. From here on this stands
/// in for it on this thread: it is told the language, the program, the input
/// and the limits.
#[cfg(not(target_family = "wasm"))]
pub fn stand_in(run: impl Fn(&str, &str, &[u8], Limits) -> Result<Execution, Problem> + 'static) {
    STAND_IN.with_borrow_mut(|stand_in| *stand_in = Some(Box::new(run)));
}

#[cfg(not(target_family = "wasm"))]
fn outside(
    language: &str,
    program: &str,
    stdin: &[u8],
    limits: Limits,
) -> Result<Execution, Problem> {
    let none = || Err(Problem::Harness("there is no sandbox outside a host".to_owned()));
    STAND_IN.with_borrow(|run| {
        run.as_ref().map_or_else(none, |run| run(language, program, stdin, limits))
    })
}
