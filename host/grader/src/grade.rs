//! One program against the tests of one problem, in order.

mod hearing;

use std::sync::Arc;

use hearing::Hearing;

use super::call;
use super::checker::{self, Opinion};
use super::compare::{Rule, call_matches, matches};
use super::excerpt::{around_difference, beginning};
use super::problem::{Problem, Test};
use super::value::Value;
use super::verdict::{Failure, Graded, Verdict};
use crate::program::{Ending, Execution, Program, RunLimits, Runner};

/// What may be right has at most so many times the bytes that are expected, and some more: numbers
/// may have many digits, and lines white space at their ends. Longer output is wrong without being
/// compared, which takes much fuel and memory where a component grades: a program's brackets take
/// fifty times as much as values as they do as text.
const TIMES_EXPECTED: usize = 16;
const MORE_BYTES: usize = 4 << 10;

/// When to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// At the first test that does not accept: the verdict is settled.
    #[default]
    FirstFailure,
    /// After all tests, so that their share is exact.
    AllTests,
}

/// How to grade.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GradeOptions {
    /// The rule for all problems, whatever they ask for themselves.
    pub rule: Option<Rule>,
    /// What a run may use; a problem can only ask for less.
    pub limits: RunLimits,
    /// When to stop.
    pub stop: Stop,
}

/// Grade one program; none is a completion without one. The rule is the
/// options', else the problem's, else its checker, else `lines`.
///
/// A run that ends in any way but by itself with exit code 0 fails its test
/// with that ending, whatever it wrote; under a rule that forgives exit codes
/// ([`Rule::forgives_exit_codes`]) the code does not matter.
pub fn grade(
    problem: &Problem,
    program: Option<&Program>,
    options: &GradeOptions,
    runner: &dyn Runner,
) -> Graded {
    let mut graded = Graded::begun(problem.tests.len());
    let Some(program) = program.filter(|_| graded.total > 0) else {
        graded.verdict =
            if graded.total == 0 { void("the problem has no tests") } else { no_code() };
        return graded;
    };
    let grader = match Grader::new(problem, program, options, runner) {
        Ok(grader) => grader,
        Err(reason) => {
            graded.verdict = void(&reason);
            return graded;
        }
    };
    for (index, test) in problem.tests.iter().enumerate() {
        match grader.judge(test, &mut graded) {
            Ok(Outcome::Accepted) => graded.passed += 1,
            Ok(Outcome::Refused { cause, detail }) => {
                if graded.verdict == Verdict::Passed {
                    graded.verdict = Verdict::Failed(Failure { test: Some(index), cause, detail });
                }
                if options.stop == Stop::FirstFailure {
                    break;
                }
            }
            Err(reason) => {
                graded.verdict = void(&format!("test {index}: {reason}"));
                break;
            }
        }
    }
    graded
}

fn void(reason: &str) -> Verdict {
    Verdict::Void { reason: reason.to_owned() }
}

fn no_code() -> Verdict {
    let detail = "no program was found in what the model wrote".to_owned();
    Verdict::Failed(Failure { test: None, cause: "no_code", detail })
}

/// What one test says. That it says nothing is an error.
enum Outcome {
    Accepted,
    Refused { cause: &'static str, detail: String },
}

fn refused(cause: &'static str, detail: String) -> Outcome {
    Outcome::Refused { cause, detail }
}

struct Grader<'a> {
    problem: &'a Problem,
    rule: Rule,
    limits: RunLimits,
    program: &'a Program,
    /// The program that calls the function, for call-based tests.
    caller: Option<Program>,
    /// The checker, ready to run.
    checker: Option<Program>,
    runner: &'a dyn Runner,
}

impl<'a> Grader<'a> {
    fn new(
        problem: &'a Problem,
        program: &'a Program,
        options: &GradeOptions,
        runner: &'a dyn Runner,
    ) -> Result<Self, String> {
        let checker_rule = problem.checker.is_some().then_some(Rule::Checker);
        let rule = options.rule.or(problem.compare).or(checker_rule).unwrap_or_default();
        if rule == Rule::Checker && problem.checker.is_none() {
            return Err("the rule is `checker`, but the problem has none".to_owned());
        }
        let is_code = problem.tests.iter().any(|test| matches!(test, Test::Code { .. }));
        if is_code && program.language != "python" {
            return Err(format!("the tests are Python and cannot call `{}`", program.language));
        }
        let function = problem.function.as_deref();
        let calls = problem.tests.iter().any(|test| matches!(test, Test::Call { .. }));
        let caller = match function.filter(|_| calls) {
            Some(function) => Some(call::wrap(program, function, rule)?),
            None if calls => {
                return Err("the tests call a function, but the problem names none".to_owned());
            }
            None => None,
        };
        Ok(Grader {
            problem,
            rule,
            limits: problem.limits.within(&options.limits),
            program,
            caller,
            checker: problem.checker.as_ref().map(checker::wrap),
            runner,
        })
    }

    fn judge(&self, test: &Test, graded: &mut Graded) -> Result<Outcome, String> {
        graded.run += 1;
        match test {
            Test::Stdin { input, outputs } => {
                let execution = self.run(self.program, input, graded)?;
                if let Some(outcome) = self.failed(&execution, self.rule.forgives_exit_codes()) {
                    return Ok(outcome);
                }
                match (&self.checker, self.rule) {
                    (Some(checker), Rule::Checker) => {
                        self.consult(checker, input, outputs, &execution.stdout, graded)
                    }
                    _ => Ok(self.compare(outputs, &execution.stdout)),
                }
            }
            Test::Call { arguments, expected } => {
                let program = self.caller.as_ref().unwrap_or(self.program);
                let execution = self.run(program, arguments, graded)?;
                // A function that ends the whole program has not returned.
                match self.failed(&execution, false) {
                    Some(outcome) => Ok(outcome),
                    None => Ok(self.compare_result(expected, &execution)),
                }
            }
            Test::Code { code } => Hearing::hold(self, code, graded),
        }
    }

    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        graded: &mut Graded,
    ) -> Result<Arc<Execution>, String> {
        let execution =
            self.runner.run(program, stdin, &self.limits).map_err(|error| error.to_string())?;
        count(graded, &execution);
        if let Ending::Unsupported { message } = &execution.ending {
            return Err(unsupported(message));
        }
        Ok(execution)
    }

    fn failed(&self, execution: &Execution, any_exit_code: bool) -> Option<Outcome> {
        let detail = match &execution.ending {
            Ending::Exited { code } if *code == 0 || any_exit_code => return None,
            Ending::Exited { code } => format!("exit code {code}"),
            Ending::Failed { error, trace } => match last_line(trace) {
                last if last.contains(&**error) => beginning(last),
                last => format!("{error}: {}", beginning(last)),
            },
            Ending::Malformed { message }
            | Ending::Crashed { message }
            | Ending::Unsupported { message } => beginning(message),
            Ending::OutOfFuel => format!("more than {} units of fuel", self.limits.fuel),
            Ending::OutOfTime => format!("more than {} ms", self.limits.timeout_ms),
            Ending::OutOfMemory => format!("more than {} MiB", self.limits.memory_mib),
            Ending::OutputFlood => {
                format!("more than {} bytes of output", self.limits.output_bytes)
            }
        };
        Some(refused(execution.ending.word(), detail))
    }

    fn compare(&self, outputs: &[Vec<u8>], actual: &[u8]) -> Outcome {
        let longest = outputs.iter().map(Vec::len).max().unwrap_or(0);
        if let Some(outcome) = too_long(actual.len(), longest) {
            return outcome;
        }
        if outputs.iter().any(|output| matches(self.rule, output, actual)) {
            return Outcome::Accepted;
        }
        let expected = outputs.first().map_or(&[][..], Vec::as_slice);
        let (expected, actual) = around_difference(expected, actual);
        refused("wrong_answer", format!("expected {expected}; found {actual}"))
    }

    fn compare_result(&self, expected: &Value, execution: &Execution) -> Outcome {
        let bytes = call::result_line(&execution.stdout).map_or(0, <[u8]>::len);
        if let Some(outcome) = too_long(bytes, expected.to_string().len()) {
            return outcome;
        }
        let Some(returned) = call::returned(execution) else {
            return no_result();
        };
        if call_matches(self.rule, expected, &returned) {
            return Outcome::Accepted;
        }
        let (expected, actual) =
            around_difference(expected.to_string().as_bytes(), returned.to_string().as_bytes());
        refused("wrong_answer", format!("expected {expected}; returned {actual}"))
    }

    fn consult(
        &self,
        checker: &Program,
        input: &[u8],
        outputs: &[Vec<u8>],
        actual: &[u8],
        graded: &mut Graded,
    ) -> Result<Outcome, String> {
        let answer = outputs.first().map_or(&[][..], Vec::as_slice);
        let mut opinion = |output: &[u8]| {
            let stdin = checker::stdin(input, output, answer);
            let execution = self
                .runner
                .run(checker, &stdin, &self.limits)
                .map_err(|error| error.to_string())?;
            graded.wall += execution.wall;
            Ok::<_, String>(checker::opinion(&execution))
        };
        let has_reference = !answer.trim_ascii().is_empty();
        let blamed = |reason: String| {
            refused("presentation", format!("{reason}, of what the program wrote"))
        };
        match opinion(actual)? {
            Opinion::Accepted => Ok(Outcome::Accepted),
            Opinion::Wrong(remark) => Ok(refused("wrong_answer", beginning(&remark))),
            Opinion::Malformed(remark) => Ok(refused("presentation", beginning(&remark))),
            Opinion::Partial(remark) => Ok(refused("partial", beginning(&remark))),
            Opinion::Broken(reason) => Err(reason),
            // Else a program without the answer could print what kills the checker, and
            // have no verdict instead of a failure. Without a reference there is nothing to try.
            Opinion::None(reason) if !has_reference => Ok(blamed(reason)),
            Opinion::None(reason) | Opinion::Unsupported(reason) => match opinion(answer)? {
                // Nothing at all is no output that it had to judge; but the interpreter runs it.
                Opinion::None(_) if !has_reference => Ok(blamed(reason)),
                Opinion::None(_) | Opinion::Broken(_) | Opinion::Unsupported(_) => {
                    Err(format!("{reason}, and so it does on the expected output"))
                }
                _ => Ok(blamed(reason)),
            },
        }
    }
}

/// Adds what a run of the program took.
fn count(graded: &mut Graded, execution: &Execution) {
    graded.fuel = graded.fuel.saturating_add(execution.fuel);
    graded.memory_bytes = graded.memory_bytes.max(execution.memory_bytes);
    graded.wall += execution.wall;
}

/// What is said of output that is too long to be right.
fn too_long(bytes: usize, expected: usize) -> Option<Outcome> {
    let most = TIMES_EXPECTED * expected + MORE_BYTES;
    let detail = || format!("{bytes} bytes, where at most {most} could be right");
    (bytes > most).then(|| refused("wrong_answer", detail()))
}

/// Why a run that met what the interpreter lacks says nothing.
fn unsupported(message: &str) -> String {
    format!("unsupported: {message}")
}

fn no_result() -> Outcome {
    refused("no_result", "the program ended before the function returned".to_owned())
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or("")
}

#[cfg(test)]
mod tests;
