//! Problems with several right outputs: a program decides.
//!
//! A checker is a Python program in testlib's manner: its arguments are the
//! files of the input, of the contestant's output and of the answer, and its
//! exit code is its verdict. It runs in an instance of its own, so the answer is
//! never where the contestant's program is. The sandbox has no files to give,
//! so a prelude reads the three from standard input (a line with their lengths
//! in bytes, then one after the other) and writes them to the instance's own
//! `/tmp`.
//!
//! A checker that ends in any other way died, as one that reads an integer dies
//! of letters, or met something that the interpreter lacks, as one that counts up
//! to a number of the output. If it can judge the reference output, the
//! contestant's is at fault (testlib: a presentation error), else the checker, and
//! there is no verdict.

use std::sync::Arc;

use super::call::literal;
use crate::program::{Ending, Execution, Program};

const PRELUDE: &str = include_str!("checker/prelude.py");
/// What the prelude raises if the checker cannot be compiled.
const NO_PROGRAM: &str = "CheckerIsNoProgram";

/// What a checker ends with that cannot be carried out, whatever the output is.
const LACKS: [&str; 2] = ["ImportError", "ModuleNotFoundError"];

/// What a checker said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opinion {
    /// Exit code 0.
    Accepted,
    /// Exit code 1: wrong.
    Wrong(String),
    /// Exit code 2: not what an output looks like.
    Malformed(String),
    /// Exit code 7: worth some points, which is not enough.
    Partial(String),
    /// Exit code 3, by which it says that it or the jury is at fault; or it is no program, or
    /// lacks a module.
    Broken(String),
    /// It met something that the interpreter lacks, over this output or over any.
    Unsupported(String),
    /// Anything else: it died, of this output or of any.
    None(String),
}

/// The program that runs the checker.
pub(super) fn wrap(checker: &Program) -> Program {
    let source = String::from_utf8_lossy(&checker.source);
    let text = PRELUDE.replace("\"@SOURCE@\"", &literal(&source));
    Program::new(&checker.language, text.into_bytes())
}

/// What the prelude reads.
pub(super) fn stdin(input: &[u8], output: &[u8], answer: &[u8]) -> Arc<[u8]> {
    let mut text = format!("{} {} {}\n", input.len(), output.len(), answer.len()).into_bytes();
    for part in [input, output, answer] {
        text.extend_from_slice(part);
    }
    text.into()
}

/// The opinion that the checker's ending means.
pub(super) fn opinion(execution: &Execution) -> Opinion {
    let remark = remark(execution);
    match &execution.ending {
        Ending::Exited { code: 0 } => Opinion::Accepted,
        Ending::Exited { code: 1 } => Opinion::Wrong(remark),
        // testlib's `_pe`, `_dirt` and `_unexpected_eof`.
        Ending::Exited { code: 2 | 4 | 8 } => Opinion::Malformed(remark),
        Ending::Exited { code: 7 } => Opinion::Partial(remark),
        // `_fail`.
        Ending::Exited { code: 3 } => {
            Opinion::Broken(format!("the checker says that it or the jury is at fault: {remark}"))
        }
        Ending::Exited { code } => {
            Opinion::None(format!("the checker ended with exit code {code}: {remark}"))
        }
        Ending::Failed { error, .. } if error == NO_PROGRAM => {
            Opinion::Broken("the checker is no program".to_owned())
        }
        Ending::Failed { error, trace } if LACKS.contains(&&**error) => {
            let last = trace.trim_end().lines().next_back().unwrap_or(error);
            Opinion::Broken(format!("the checker lacks a module: {last}"))
        }
        Ending::Malformed { message } => {
            Opinion::Broken(format!("the checker is no program: {message}"))
        }
        Ending::Failed { error, .. } => Opinion::None(format!("the checker failed with {error}")),
        Ending::Unsupported { message } => {
            Opinion::Unsupported(format!("the checker ended as unsupported ({message})"))
        }
        other => Opinion::None(format!("the checker ended as {}", other.word())),
    }
}

/// The first line of what the checker wrote; testlib's checkers use standard error.
fn remark(execution: &Execution) -> String {
    let streams = [&execution.stderr, &execution.stdout];
    let lines = streams
        .map(|text| String::from_utf8_lossy(text).trim().lines().next().unwrap_or("").to_owned());
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ended(ending: Ending) -> Opinion {
        opinion(&Execution {
            ending,
            stdout: b"out\n".to_vec(),
            stderr: b"why\nmore".to_vec(),
            fuel: 0,
            memory_bytes: 0,
            wall: Duration::ZERO,
        })
    }

    #[test]
    fn only_testlibs_codes_are_verdicts() {
        let remark = || "why".to_owned();
        for (code, opinion) in [
            (0, Opinion::Accepted),
            (1, Opinion::Wrong(remark())),
            (2, Opinion::Malformed(remark())),
            (4, Opinion::Malformed(remark())),
            (7, Opinion::Partial(remark())),
            (8, Opinion::Malformed(remark())),
        ] {
            assert_eq!(ended(Ending::Exited { code }), opinion, "{code}");
        }
        for unknown in [5, 6, 9, 16, 120, 255] {
            assert!(matches!(ended(Ending::Exited { code: unknown }), Opinion::None(_)));
        }
        for ending in [
            Ending::Failed { error: "ValueError".to_owned(), trace: String::new() },
            Ending::OutOfTime,
            Ending::OutOfFuel,
            Ending::OutOfMemory,
            Ending::OutputFlood,
            Ending::Crashed { message: String::new() },
        ] {
            assert!(matches!(ended(ending), Opinion::None(_)));
        }
        let broken = Ending::Failed { error: NO_PROGRAM.to_owned(), trace: String::new() };
        assert!(matches!(ended(broken), Opinion::Broken(_)));
        let lacking = Ending::Unsupported { message: "a 32-bit limit".to_owned() };
        let reason = "the checker ended as unsupported (a 32-bit limit)".to_owned();
        assert_eq!(ended(lacking), Opinion::Unsupported(reason));
    }

    #[test]
    fn a_checker_that_says_so_or_lacks_a_module_is_at_fault() {
        let lacks = |error: &str| Ending::Failed {
            error: error.to_owned(),
            trace: format!("Traceback\n{error}: No module named 'x'\n"),
        };
        for (ending, reason) in [
            (Ending::Exited { code: 3 }, "the checker says that it or the jury is at fault: why"),
            (lacks("ImportError"), "the checker lacks a module: ImportError: No module named 'x'"),
            (
                lacks("ModuleNotFoundError"),
                "the checker lacks a module: ModuleNotFoundError: No module named 'x'",
            ),
        ] {
            assert_eq!(ended(ending), Opinion::Broken(reason.to_owned()));
        }
    }

    #[test]
    fn the_three_texts_are_told_apart_by_their_lengths() {
        assert_eq!(stdin(b"1 2\n", b"", b"3").as_ref(), b"4 0 1\n1 2\n3");
    }
}
