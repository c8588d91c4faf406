//! Runs of programs in the sandbox: first all are asked for, then those that belong together take
//! place at the same time, and at last they are known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plugin_sdk::sandbox::{self, Limits};
use troupe_grader::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};

/// With this the host begins to say what the interpreter lacks.
const UNSUPPORTED: &str = "unsupported: ";

/// Runs that were asked for, and what came of them.
#[derive(Default)]
pub(crate) struct Runs(Mutex<Vec<Asked>>);

/// A run that a thread of the grader wants, and what came of it once it was made.
type Asked = (Wanted, Option<Result<Arc<Execution>, SandboxError>>);

#[derive(Clone, PartialEq)]
struct Wanted {
    program: Program,
    stdin: Arc<[u8]>,
    limits: RunLimits,
}

impl Runs {
    fn held(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has those that belong together run at the same time.
    pub(crate) fn carry_out(&self) {
        let mut runs = self.held();
        let mut rest = runs.as_mut_slice();
        while let Some((first, _)) = rest.first() {
            let alike = |(wanted, _): &&(Wanted, _)| {
                wanted.program == first.program && wanted.limits == first.limits
            };
            let count = rest.iter().take_while(alike).count();
            let (batch, after) = rest.split_at_mut(count);
            let stdins: Vec<Vec<u8>> =
                batch.iter().map(|(wanted, _)| wanted.stdin.to_vec()).collect();
            let (program, limits) = (batch[0].0.program.clone(), batch[0].0.limits);
            let answers = in_sandbox(&program, &stdins, &limits);
            for ((_, place), answer) in batch.iter_mut().zip(answers) {
                *place = Some(answer);
            }
            rest = after;
        }
    }
}

/// Knows what was run, and has the rest run one by one.
impl Runner for Runs {
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError> {
        let wanted = Wanted { program: program.clone(), stdin: stdin.clone(), limits: *limits };
        let known =
            self.held().iter().find(|(other, _)| *other == wanted).and_then(|(_, run)| run.clone());
        known.unwrap_or_else(|| {
            let none = || Err(SandboxError::harness("no run took place"));
            in_sandbox(program, &[stdin.to_vec()], limits).pop().unwrap_or_else(none)
        })
    }
}

/// Writes down what would be run.
pub(crate) struct Asking<'r>(pub(crate) &'r Runs);

impl Runner for Asking<'_> {
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError> {
        let wanted = Wanted { program: program.clone(), stdin: stdin.clone(), limits: *limits };
        let mut runs = self.0.held();
        if !runs.iter().any(|(other, _)| *other == wanted) {
            runs.push((wanted, None));
        }
        Err(SandboxError::harness("not yet"))
    }
}

/// Every run of a program, each in an instance of its own.
fn in_sandbox(
    program: &Program,
    stdins: &[Vec<u8>],
    limits: &RunLimits,
) -> Vec<Result<Arc<Execution>, SandboxError>> {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let asked = Limits {
        fuel: limits.fuel as f64,
        timeout_ms: small(limits.timeout_ms),
        memory_mib: small(limits.memory_mib),
        output_bytes: small(limits.output_bytes),
    };
    let source = String::from_utf8_lossy(&program.source);
    let runs = sandbox::run_batch(&program.language, &source, stdins, asked);
    runs.into_iter().map(|run| run.map_or_else(no_execution, |run| Ok(execution(run)))).collect()
}

fn execution(run: sandbox::Execution) -> Arc<Execution> {
    let ending = match run.ending {
        sandbox::Ending::Exited(code) => Ending::Exited { code },
        sandbox::Ending::Failed((error, trace)) => Ending::Failed { error, trace },
        sandbox::Ending::Malformed(message) => Ending::Malformed { message },
        sandbox::Ending::OutOfFuel => Ending::OutOfFuel,
        sandbox::Ending::OutOfTime => Ending::OutOfTime,
        sandbox::Ending::OutOfMemory => Ending::OutOfMemory,
        sandbox::Ending::OutputFlood => Ending::OutputFlood,
        sandbox::Ending::Crashed(message) => Ending::Crashed { message },
    };
    Arc::new(Execution {
        ending,
        stdout: run.stdout,
        stderr: run.stderr,
        fuel: run.fuel as u64,
        memory_bytes: 0,
        wall: Duration::ZERO,
    })
}

/// What the interpreter lacks is an ending: of a checker it says something where the reference
/// output can be judged. To the host all that gives no execution is a problem.
fn no_execution(problem: sandbox::Problem) -> Result<Arc<Execution>, SandboxError> {
    match problem {
        sandbox::Problem::UnknownLanguage(language) => {
            Err(SandboxError::UnknownLanguage { language, hint: String::new() })
        }
        sandbox::Problem::Harness(message) => match message.strip_prefix(UNSUPPORTED) {
            None => Err(SandboxError::harness(message)),
            Some(lacked) => Ok(Arc::new(Execution {
                ending: Ending::Unsupported { message: lacked.to_owned() },
                stdout: Vec::new(),
                stderr: Vec::new(),
                fuel: 0,
                memory_bytes: 0,
                wall: Duration::ZERO,
            })),
        },
    }
}
