//! Call-based tests: a program that calls one function of the program.
//!
//! The harness reads the arguments, one line of JSON, from standard input and
//! writes the result as the last line that begins with a marker. The marker is
//! no secret: a program that writes such a line returns that value, and what value is
//! expected the instance never learns.

use super::compare::Rule;
use super::value::Value;
use crate::program::{Execution, Program};

const PYTHON: &str = include_str!("call/harness.py");
const JAVASCRIPT: &str = include_str!("call/harness.js");

/// Begins a line with a result.
pub(super) const MARKER: &str = "\u{1}troupe-result ";

/// The program that calls `function` of the program; the error says why there
/// is none.
pub(super) fn wrap(program: &Program, function: &str, rule: Rule) -> Result<Program, String> {
    let harness = match program.language.as_str() {
        "python" => PYTHON,
        "javascript" => JAVASCRIPT,
        other => {
            return Err(format!(
                "functions cannot be called in `{other}`, only in python and javascript"
            ));
        }
    };
    let integer_keys = matches!(rule, Rule::Apps | Rule::Prime);
    let source = String::from_utf8_lossy(&program.source).into_owned();
    // The program comes last, so that nothing in it is taken for a blank.
    let text = harness
        .replace("\"@MARKER@\"", &literal(MARKER))
        .replace("\"@INTEGER_KEYS@\"", if integer_keys { "1" } else { "0" })
        .replace("\"@FUNCTION@\"", &literal(function))
        .replace("\"@SOURCE@\"", &literal(&source));
    Ok(Program::new(&program.language, text.into_bytes()))
}

/// A string literal of Python and JavaScript.
pub(super) fn literal(text: &str) -> String {
    Value::Str(text.to_owned()).to_string()
}

/// The line, in what a program wrote, with what its function returned, as the harness wrote it;
/// none if the function did not return.
pub(super) fn result_line(stdout: &[u8]) -> Option<&[u8]> {
    let mut lines = stdout.rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| line.strip_prefix(MARKER.as_bytes()))
}

/// What the function returned; none if it did not return.
pub(super) fn returned(execution: &Execution) -> Option<Value> {
    let line = String::from_utf8_lossy(result_line(&execution.stdout)?);
    Value::parse(&line).ok().map(Value::decoded)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::program::Ending;

    fn printed(stdout: &str) -> Execution {
        Execution {
            ending: Ending::Exited { code: 0 },
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
            fuel: 0,
            memory_bytes: 0,
            wall: Duration::ZERO,
        }
    }

    #[test]
    fn the_last_marked_line_is_the_result() {
        let output = format!("5\n{MARKER}1\nnoise\n{MARKER}[2]\nmore noise");
        assert_eq!(returned(&printed(&output)).unwrap().to_string(), "[2]");
        assert!(returned(&printed("5\n[2]\n")).is_none());
        assert!(returned(&printed(&format!("{MARKER}not json\n"))).is_none());
    }

    #[test]
    fn nothing_in_a_program_is_taken_for_a_blank() {
        let program = Program::new("python", b"x = \"@FUNCTION@\" + '\xff\"'".as_slice());
        let wrapped = wrap(&program, "f", Rule::Lcb).unwrap();
        let text = String::from_utf8(wrapped.source.to_vec()).unwrap();
        assert!(text.contains(r#""x = \"@FUNCTION@\" + '"#), "{text}");
        assert!(!text.contains("\"@SOURCE@\""));
    }

    #[test]
    fn other_languages_have_no_harness() {
        assert!(
            wrap(&Program::new("cobol", Vec::new()), "f", Rule::Lcb)
                .unwrap_err()
                .contains("`cobol`")
        );
    }
}
