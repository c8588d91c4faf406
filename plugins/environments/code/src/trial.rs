//! Running a program on tests. The grader judges; what the tests expect stays
//! here, and the sandbox is given programs and inputs alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plugin_sdk::environment::Problem;
use plugin_sdk::sandbox::{self, Limits};
use serde::{Deserialize, Serialize};
use troupe_grader::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};
use troupe_grader::{GradeOptions, Problem as Graded, Stop, Test, Verdict, grade};

/// The language of all programs.
const LANGUAGE: &str = "python";
/// Bytes that one run may write.
const OUTPUT_BYTES: u32 = 1 << 20;
/// Names of errors that mean that there is no program.
const NO_PROGRAM: [&str; 3] = ["SyntaxError", "IndentationError", "TabError"];

/// What a run may use.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Units of deterministic work.
    pub fuel: u64,
    /// MiB, the interpreter's included.
    pub memory_mib: u32,
}

/// What a test said of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Whether it accepted.
    pub passed: bool,
    /// Whether the program is one.
    pub builds: bool,
    /// Whether it came to its end.
    pub ran: bool,
    /// What was expected and what was there, or how the run ended.
    pub detail: String,
}

impl Trial {
    /// Of a test that was not tried.
    pub fn left_out() -> Self {
        Trial { passed: false, builds: true, ran: false, detail: String::new() }
    }
}

/// Try a program on tests of a problem.
///
/// # Errors
/// A run did not take place, or nothing can be said of it. That is not the
/// players' fault.
pub fn try_all(
    problem: &Graded,
    tests: &[Test],
    source: &str,
    bounds: Bounds,
) -> Result<Vec<Trial>, Problem> {
    let program = Program::new(LANGUAGE, source.as_bytes());
    let limits = RunLimits {
        fuel: bounds.fuel,
        memory_mib: u64::from(bounds.memory_mib),
        output_bytes: u64::from(OUTPUT_BYTES),
        ..RunLimits::default()
    };
    let options = GradeOptions { rule: None, limits, stop: Stop::AllTests };
    let single = |test: &Test| Graded { tests: vec![test.clone()], ..without_tests(problem) };
    // First all runs are asked for, so that they can take place at the same time.
    let runs = Runs::default();
    for test in tests {
        grade(&single(test), Some(&program), &options, &Asking(&runs));
    }
    runs.carry_out();
    let judge = |test: &Test| trial(&grade(&single(test), Some(&program), &options, &runs).verdict);
    tests.iter().map(judge).collect()
}

fn without_tests(problem: &Graded) -> Graded {
    Graded {
        id: problem.id.clone(),
        tests: Vec::new(),
        compare: problem.compare,
        checker: problem.checker.clone(),
        function: problem.function.clone(),
        prompt: problem.prompt.clone(),
        limits: problem.limits,
        stated: problem.stated,
    }
}

fn trial(verdict: &Verdict) -> Result<Trial, Problem> {
    match verdict {
        Verdict::Passed => {
            Ok(Trial { passed: true, builds: true, ran: true, detail: String::new() })
        }
        Verdict::Failed(failure) => {
            let ran = ["wrong_answer", "presentation", "partial"].contains(&failure.cause);
            let is_none = failure.cause == "malformed"
                || NO_PROGRAM.iter().any(|name| failure.detail.starts_with(name));
            let detail = match ran {
                true => failure.detail.clone(),
                false => format!("{}: {}", failure.cause.replace('_', " "), failure.detail),
            };
            Ok(Trial { passed: false, builds: !is_none, ran, detail })
        }
        Verdict::Void { reason } => {
            Err(Problem::internal(format!("nothing can be said of a program: {reason}")))
        }
    }
}

/// Runs that were asked for, and what came of them.
#[derive(Default)]
struct Runs(Mutex<Vec<Asked>>);

/// A run that a thread of the grader wants, and what came of it once it was made.
type Asked = (Wanted, Option<Result<Arc<Execution>, SandboxError>>);

#[derive(Clone, PartialEq)]
struct Wanted {
    program: Program,
    stdin: Arc<[u8]>,
    limits: RunLimits,
}

impl Runs {
    fn held(&self) -> std::sync::MutexGuard<'_, Vec<Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has those that belong together run at the same time.
    fn carry_out(&self) {
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
struct Asking<'r>(&'r Runs);

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
    runs.into_iter().map(|run| run.map(execution).map_err(no_execution)).collect()
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

fn no_execution(problem: sandbox::Problem) -> SandboxError {
    match problem {
        sandbox::Problem::UnknownLanguage(language) => {
            SandboxError::UnknownLanguage { language, hint: String::new() }
        }
        sandbox::Problem::Harness(message) => SandboxError::harness(message),
    }
}
