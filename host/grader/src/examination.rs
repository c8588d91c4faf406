//! Test code: statements that call functions of the program and assert things
//! of what they return, as in HumanEval and MBPP.
//!
//! Run beside the program, such code is at its mercy: an object that is equal to
//! everything passes all of it. So the test code runs in an instance of its own
//! (the examiner), the program in another (the examinee), and between them go
//! calls and plain values. Neither can wait for the other; instead both are
//! deterministic, so the examiner is begun anew with the answers so far until
//! it needs no more. It guesses ahead while answers are missing, so that a
//! usual test takes two runs of the one and one of the other.

use std::sync::Arc;

use super::call::{MARKER, literal};
use super::value::Value;
use crate::program::{Ending, Execution, Program};

const EXAMINER: &str = concat!(
    include_str!("examination/values.py"),
    include_str!("examination/numpy.py"),
    include_str!("examination/examiner.py"),
);
const EXAMINEE: &str =
    concat!(include_str!("examination/values.py"), include_str!("examination/examinee.py"));

/// How often the examiner is begun anew; a program can have it ask for ever. To need more is to
/// run out of fuel: it is as much the same everywhere, and as little says who is to blame.
pub(super) const ROUNDS: usize = 2_000;

/// The two programs of one test.
pub(super) struct Examination {
    pub(super) examiner: Program,
    pub(super) examinee: Program,
}

impl Examination {
    /// A test of a program. `prompt` is code that the program continues, and
    /// `entry` the function that it begins with; both may be empty.
    pub(super) fn new(program: &Program, prompt: &str, entry: &str, test: &str) -> Self {
        let fill = |harness: &str| {
            harness
                .replace("\"@MARKER@\"", &literal(MARKER))
                .replace("\"@ENTRY@\"", &literal(entry))
                .replace("\"@PROMPT@\"", &literal(prompt))
        };
        // What comes last is not searched for blanks.
        let examiner = fill(EXAMINER).replace("\"@TEST@\"", &literal(test));
        let source = String::from_utf8_lossy(&program.source);
        let examinee = fill(EXAMINEE).replace("\"@SOURCE@\"", &literal(&source));
        let python = |text: String| Program::new(&program.language, text.into_bytes());
        Examination { examiner: python(examiner), examinee: python(examinee) }
    }
}

/// Calls that were asked for, and the answers that are there.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    calls: Vec<String>,
    answers: Vec<String>,
    /// Whether the examinee ended before it had answered all calls.
    broken_off: bool,
}

impl Dialogue {
    /// Whether nothing was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Whether the examinee ended before it had answered all calls.
    pub(super) fn is_broken_off(&self) -> bool {
        self.broken_off
    }

    /// What the examiner reads.
    pub(super) fn for_examiner(&self, guessing: bool) -> Arc<[u8]> {
        let gone = "{\"gone\": true}".to_owned();
        let answers = self.answers.iter().chain(self.broken_off.then_some(&gone));
        let pairs = self.calls.iter().zip(answers);
        let pairs: Vec<String> =
            pairs.map(|(call, answer)| format!("[{}, {answer}]", literal(call))).collect();
        format!("[{guessing}, [{}]]\n", pairs.join(", ")).into_bytes().into()
    }

    /// Adds calls behind the first `keep`, and gives what the examinee reads: all
    /// of them, since it is begun anew as well.
    pub(super) fn ask(&mut self, keep: usize, calls: Vec<String>) -> Arc<[u8]> {
        self.calls.truncate(keep);
        self.calls.extend(calls);
        let calls: Vec<String> = self.calls.iter().map(|call| literal(call)).collect();
        format!("[{}]\n", calls.join(", ")).into_bytes().into()
    }

    /// Takes the answers out of what the examinee wrote. A line that is no value
    /// ends them.
    pub(super) fn hear(&mut self, execution: &Execution) {
        let output = String::from_utf8_lossy(&execution.stdout);
        let lines = output.split('\n').filter_map(|line| line.strip_prefix(MARKER));
        // A line may be a megabyte of brackets: as values these take a hundred times as much.
        let whole = lines.take_while(|line| Value::check(line).is_ok());
        self.answers = whole.take(self.calls.len()).map(str::to_owned).collect();
        self.broken_off = self.answers.len() < self.calls.len();
    }
}

/// What the examiner says.
#[derive(Debug, PartialEq)]
pub(super) enum Report {
    /// The test holds. `calls` says whether it called the program.
    Passed { calls: bool },
    /// An assertion does not hold, or the test failed of what was returned.
    Failed(String),
    /// A call raised an exception, and the test did not expect it.
    Raised(String),
    /// The program did not come back from a call.
    Gone,
    /// The test code is at fault.
    Void(String),
    /// Calls to be answered, after the first `keep`, which were.
    Ask { keep: usize, calls: Vec<String> },
}

/// Reads what the examiner said; none if it was stopped before. Test code may print what the
/// program answered, so a line that looks like a report is one only where the examiner came to
/// its end: it writes its own behind everything else.
pub(super) fn report(execution: &Execution) -> Option<Report> {
    if !matches!(execution.ending, Ending::Exited { .. }) {
        return None;
    }
    let output = String::from_utf8_lossy(&execution.stdout);
    let line = output.split('\n').rev().find_map(|line| line.strip_prefix(MARKER))?;
    let report = Value::parse(line).ok()?;
    let text = |name: &str| match report.get(name) {
        Some(Value::Str(text)) => Some(text.clone()),
        _ => None,
    };
    if let Some(Value::List(calls)) = report.get("ask") {
        let Some(Value::Int(keep)) = report.get("keep") else { return None };
        let call = |call: &Value| match call {
            Value::Str(text) => Some(text.clone()),
            _ => None,
        };
        let calls = calls.iter().map(call).collect::<Option<Vec<_>>>()?;
        return Some(Report::Ask { keep: keep.parse().ok()?, calls });
    }
    if let Some(Value::Int(calls)) = report.get("passed") {
        return Some(Report::Passed { calls: calls != "0" });
    }
    if report.get("gone").is_some() {
        return Some(Report::Gone);
    }
    let failed = text("failed").map(Report::Failed);
    failed.or_else(|| text("raised").map(Report::Raised)).or_else(|| text("void").map(Report::Void))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn wrote(lines: &[&str]) -> Execution {
        let stdout: String = lines.iter().map(|line| format!("noise\n{MARKER}{line}\n")).collect();
        Execution {
            ending: Ending::Exited { code: 0 },
            stdout: stdout.into_bytes(),
            stderr: Vec::new(),
            fuel: 0,
            memory_bytes: 0,
            wall: Duration::ZERO,
        }
    }

    #[test]
    fn answers_are_given_back_in_the_order_of_the_calls() {
        let mut dialogue = Dialogue::default();
        let calls = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        assert_eq!(*dialogue.ask(0, calls(&["a", "\"b\""])), *b"[\"a\", \"\\\"b\\\"\"]\n");
        dialogue.hear(&wrote(&["1", "2", "3"]));
        assert_eq!(*dialogue.for_examiner(true), *b"[true, [[\"a\", 1], [\"\\\"b\\\"\", 2]]]\n");
        assert_eq!(*dialogue.ask(1, calls(&["c"])), *b"[\"a\", \"c\"]\n");
        dialogue.hear(&wrote(&["1"]));
        let expected = b"[false, [[\"a\", 1], [\"c\", {\"gone\": true}]]]\n";
        assert_eq!(*dialogue.for_examiner(false), *expected);
    }

    #[test]
    fn an_answer_that_is_no_value_is_none() {
        let mut dialogue = Dialogue::default();
        dialogue.ask(0, vec!["a".to_owned(), "b".to_owned()]);
        dialogue.hear(&wrote(&["1], [\"b\", 2", "5"]));
        assert!(dialogue.is_empty() && dialogue.broken_off);
    }

    #[test]
    fn the_examiners_last_word_counts() {
        let last_report = |line: &str| report(&wrote(&["{\"passed\": 9}", line]));
        assert_eq!(last_report("{\"passed\": 0}"), Some(Report::Passed { calls: false }));
        assert_eq!(last_report("{\"failed\": \"x\"}"), Some(Report::Failed("x".to_owned())));
        let ask = Report::Ask { keep: 2, calls: vec!["c".to_owned()] };
        assert_eq!(last_report("{\"ask\": [\"c\"], \"keep\": 2}"), Some(ask));
        assert_eq!(last_report("{"), None);
    }

    #[test]
    fn what_an_examiner_wrote_that_was_stopped_is_no_report() {
        for ending in [Ending::OutOfFuel, Ending::OutOfMemory, Ending::OutputFlood] {
            let stopped = Execution { ending, ..wrote(&["{\"passed\": 1}"]) };
            assert_eq!(report(&stopped), None);
        }
    }
}
