//! Running a program on tests. The grader judges; what the tests expect stays
//! here, and the sandbox is given programs and inputs alone.
//!
//! A component has little memory, and a program may write as much as it likes: so
//! tests are tried in portions.

use plugin_sdk::environment::Problem;
use serde::{Deserialize, Serialize};
use troupe_grader::program::{Program, RunLimits};
use troupe_grader::{GradeOptions, Problem as Graded, Stop, Test, Verdict, grade};

use crate::runs::{Asking, Runs};

/// The language of all programs.
const LANGUAGE: &str = "python";
/// Bytes that one run may write, or twice what is expected if that is more.
const OUTPUT_BYTES: usize = 1 << 20;
/// Bytes that the runs of one portion may read and write. A component has 64 MiB, most of which
/// is for the tests themselves.
const PORTION_BYTES: usize = 16 << 20;
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
    let (mut trials, mut rest) = (Vec::with_capacity(tests.len()), tests);
    while !rest.is_empty() {
        let (portion, after) = rest.split_at(fitting(rest));
        trials.extend(try_portion(problem, portion, &program, bounds)?);
        rest = after;
    }
    Ok(trials)
}

/// How many of the tests, one at least, can be tried at the same time.
fn fitting(tests: &[Test]) -> usize {
    let mut bytes = 0;
    let fits = |test: &&Test| {
        bytes += room(test) + given(test);
        bytes <= PORTION_BYTES
    };
    tests.iter().take_while(fits).count().max(1)
}

fn try_portion(
    problem: &Graded,
    tests: &[Test],
    program: &Program,
    bounds: Bounds,
) -> Result<Vec<Trial>, Problem> {
    let single = |test: &Test| Graded { tests: vec![test.clone()], ..without_tests(problem) };
    let options = |test: &Test| {
        let limits = RunLimits {
            fuel: bounds.fuel,
            memory_mib: u64::from(bounds.memory_mib),
            output_bytes: room(test) as u64,
            ..RunLimits::default()
        };
        GradeOptions { rule: None, limits, stop: Stop::AllTests }
    };
    // First all runs are asked for, so that they can take place at the same time.
    let runs = Runs::default();
    for test in tests {
        grade(&single(test), Some(program), &options(test), &Asking(&runs));
    }
    runs.carry_out();
    let judge =
        |test: &Test| trial(&grade(&single(test), Some(program), &options(test), &runs).verdict);
    tests.iter().map(judge).collect()
}

/// The problem, but for its tests, which may be long.
pub fn without_tests(problem: &Graded) -> Graded {
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

/// Bytes that a run on the test may write.
fn room(test: &Test) -> usize {
    // Tests of about the same length are run together, which takes the same limits.
    (2 * expected(test)).max(OUTPUT_BYTES).next_power_of_two()
}

/// Bytes that a run on the test is given.
fn given(test: &Test) -> usize {
    match test {
        Test::Stdin { input, .. } => input.len(),
        Test::Call { arguments, .. } => arguments.len(),
        Test::Code { code } => code.len(),
    }
}

/// Bytes that are expected, as far as that is known.
fn expected(test: &Test) -> usize {
    match test {
        Test::Stdin { outputs, .. } => outputs.iter().map(Vec::len).max().unwrap_or(0),
        Test::Call { expected, .. } => expected.to_string().len(),
        Test::Code { .. } => 0,
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

#[cfg(test)]
mod tests {
    use plugin_sdk::sandbox;
    use troupe_grader::Rule;

    use super::*;

    const BOUNDS: Bounds = Bounds { fuel: 1, memory_mib: 64 };

    /// Stands in for the sandbox: a program writes what this makes of its input and the bytes
    /// that it may write.
    fn writes(what: impl Fn(&str, usize) -> Result<String, sandbox::Problem> + 'static) {
        sandbox::stand_in(move |_, _, stdin, limits| {
            let stdout = what(&String::from_utf8_lossy(stdin), limits.output_bytes as usize)?;
            let (ending, stdout) = match stdout.len() > limits.output_bytes as usize {
                true => (sandbox::Ending::OutputFlood, String::new()),
                false => (sandbox::Ending::Exited(0), stdout),
            };
            let stdout = stdout.into_bytes();
            Ok(sandbox::Execution { ending, stdout, stderr: Vec::new(), fuel: 1.0 })
        });
    }

    fn problem(compare: Option<Rule>) -> Graded {
        Graded { compare, ..Graded::new("p", Vec::new()) }
    }

    fn tried(problem: &Graded, tests: &[Test]) -> Vec<Trial> {
        try_all(problem, tests, "program()", BOUNDS).expect("trials")
    }

    #[test]
    fn what_is_far_longer_than_what_is_expected_is_wrong_and_not_looked_at() {
        // To this rule all white space is the same.
        let tokens = problem(Some(Rule::Tokens));
        let tests = [Test::stdin("", "7\n"), Test::stdin("", &"7 ".repeat(1000))];
        let padded = |text: &str, bytes: usize| format!("{text}{}", " ".repeat(bytes));
        writes(move |_, _| Ok(padded("7\n", 4000)));
        assert!(tried(&tokens, &tests[..1])[0].passed);
        writes(move |_, _| Ok(padded("7\n", 5000)));
        let trial = tried(&tokens, &tests[..1]).remove(0);
        assert!(!trial.passed && trial.ran && trial.builds, "{trial:?}");
        assert!(trial.detail.contains("at most 4128 could be right"), "{trial:?}");
        writes(move |_, _| Ok(padded(&"7 ".repeat(1000), 30_000)));
        assert!(tried(&tokens, &tests[1..])[0].passed, "so much more is expected");
        // Whoever says that it failed has failed, and a checker has its own opinion.
        sandbox::stand_in(|_, _, _, _| {
            let stdout = vec![b' '; 5000];
            let ending = sandbox::Ending::Exited(3);
            Ok(sandbox::Execution { ending, stdout, stderr: Vec::new(), fuel: 1.0 })
        });
        assert!(!tried(&tokens, &tests[..1])[0].ran);
        let mut checked = problem(None);
        checked.checker = Some(Program::new(LANGUAGE, b"check()".as_slice()));
        writes(move |_, _| Ok(padded("", 5000)));
        assert!(tried(&checked, &tests[..1])[0].passed);
    }

    #[test]
    fn a_result_is_measured_without_what_was_printed_before_it() {
        let mut called = problem(None);
        called.function = Some("f".to_owned());
        let test = [Test::call(Vec::new(), troupe_grader::Value::Int("7".to_owned()))];
        let returned = |value: &str| {
            let value = value.to_owned();
            writes(move |_, _| {
                Ok(format!("{}\n\u{1}troupe-result {value}\n", "noise ".repeat(2000)))
            });
        };
        returned("7");
        assert!(tried(&called, &test)[0].passed);
        returned(&format!("[{}0]", "0, ".repeat(300_000)));
        let trial = tried(&called, &test).remove(0);
        assert!(!trial.passed && trial.ran, "{trial:?}");
    }

    #[test]
    fn tests_are_tried_in_portions_that_fit_and_all_of_them() {
        let short: Vec<Test> = (0..100).map(|n| Test::stdin(&n.to_string(), "x")).collect();
        assert_eq!(fitting(&short), 15, "a megabyte of output each, and the input");
        let long = [Test::stdin(&"1".repeat(30 << 20), "x"), short[0].clone()];
        assert_eq!(fitting(&long), 1);
        writes(|input, _| Ok(if input.ends_with('7') { "y".to_owned() } else { "x".to_owned() }));
        let trials = tried(&problem(None), &short);
        let failed: Vec<usize> = (0..trials.len()).filter(|&n| !trials[n].passed).collect();
        let expected: Vec<usize> = (7..100).step_by(10).collect();
        assert_eq!((trials.len(), failed), (100, expected));
    }

    #[test]
    fn a_run_may_write_what_is_expected_however_long_that_is() {
        let long = "7 ".repeat(1 << 20);
        let (tests, text) = ([Test::stdin("", &long), Test::stdin("", "7")], long.clone());
        writes(move |_, _| Ok(text.clone()));
        let trials = tried(&problem(Some(Rule::Tokens)), &tests);
        assert!(trials[0].passed);
        assert!(!trials[1].ran, "a megabyte is the most where little is expected");
    }

    #[test]
    fn what_the_interpreter_lacks_in_a_checker_is_a_failure_if_it_can_judge_the_reference() {
        let mut checked = problem(None);
        checked.checker = Some(Program::new(LANGUAGE, b"check()".as_slice()));
        // A checker reads the three texts behind their lengths, a program nothing.
        writes(|read, _| match read {
            "" => Ok("huge".to_owned()),
            read if read.contains("huge") => {
                Err(sandbox::Problem::Harness("unsupported: a 32-bit limit".to_owned()))
            }
            _ => Ok(String::new()),
        });
        let trial = tried(&checked, &[Test::stdin("", "7")]).remove(0);
        assert!(!trial.passed && trial.detail.contains("a 32-bit limit"), "{trial:?}");
        // Of a program it still says nothing.
        writes(|_, _| Err(sandbox::Problem::Harness("unsupported: lzma".to_owned())));
        let nothing = try_all(&problem(None), &[Test::stdin("", "7")], "program()", BOUNDS);
        let message = nothing.expect_err("a problem").message;
        assert!(message.contains("unsupported: lzma"), "{message}");
    }
}
