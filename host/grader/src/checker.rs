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
//! of letters. If it can judge the reference output, the contestant's is at
//! fault (testlib: a presentation error), else the checker, and there is no
//! verdict.

use std::sync::Arc;

use super::call::literal;
use crate::program::{Ending, Execution, Program};

const PRELUDE: &str = include_str!("checker/prelude.py");
/// What the prelude raises if the checker cannot be compiled.
const NO_PROGRAM: &str = "CheckerIsNoProgram";

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
    /// It is no program, or the sandbox cannot run it.
    Broken(String),
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

/// What the checker's end means.
pub(super) fn opinion(execution: &Execution) -> Opinion {
    let said = said(execution);
    match &execution.ending {
        Ending::Exited { code: 0 } => Opinion::Accepted,
        Ending::Exited { code: 1 } => Opinion::Wrong(said),
        Ending::Exited { code: 2 } => Opinion::Malformed(said),
        Ending::Exited { code: 7 } => Opinion::Partial(said),
        Ending::Exited { code } => {
            Opinion::None(format!("the checker ended with exit code {code}: {said}"))
        }
        Ending::Failed { error, .. } if error == NO_PROGRAM => {
            Opinion::Broken("the checker is no program".to_owned())
        }
        Ending::Malformed { message } => {
            Opinion::Broken(format!("the checker is no program: {message}"))
        }
        Ending::Failed { error, .. } => Opinion::None(format!("the checker failed with {error}")),
        Ending::Unsupported { message } => {
            Opinion::Broken(format!("the checker cannot run: {message}"))
        }
        other => Opinion::None(format!("the checker ended as {}", other.word())),
    }
}

/// The first line of what the checker wrote; testlib's checkers use standard error.
fn said(execution: &Execution) -> String {
    let both = [&execution.stderr, &execution.stdout];
    let lines = both
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
        let exited = |code| ended(Ending::Exited { code });
        assert_eq!(exited(0), Opinion::Accepted);
        assert_eq!(exited(1), Opinion::Wrong("why".to_owned()));
        assert_eq!(exited(2), Opinion::Malformed("why".to_owned()));
        assert_eq!(exited(7), Opinion::Partial("why".to_owned()));
        assert!(matches!(exited(3), Opinion::None(_)));
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
    }

    #[test]
    fn the_three_texts_are_told_apart_by_their_lengths() {
        assert_eq!(stdin(b"1 2\n", b"", b"3").as_ref(), b"4 0 1\n1 2\n3");
    }
}
