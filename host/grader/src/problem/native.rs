//! Our own layout:
//!
//! ```json
//! {"id": "sum",
//!  "tests": [{"input": "1 2\n", "output": "3\n"}, {"input": "?", "output": ["yes", "no"]},
//!            {"arguments": [1, 2], "expected": 3}],
//!  "function": "add",
//!  "compare": "tokens",
//!  "checker": {"language": "python", "source": "import sys\n…"},
//!  "fuel": 10000000000, "timeout_ms": 10000, "memory_mib": 256}
//! ```
//!
//! Only `id` and `tests` have to be there; call-based tests need `function`.
//! A list under `output` holds alternatives; each is right. `compare` and
//! `checker` may be in records of all layouts.

use super::{LimitOverrides, Problem, Record, Test};
use crate::error::GradingError;
use crate::value::Value;

/// Read one record.
pub(super) fn parse(record: &Record<'_>) -> Result<Problem, GradingError> {
    let tests = match record.get("tests") {
        Some(Value::List(tests)) => tests,
        other => return Err(record.unlike("tests", "a list", other.unwrap_or(&Value::Null))),
    };
    let tests = tests
        .iter()
        .enumerate()
        .map(|(index, test)| parse_test(record, index, test))
        .collect::<Result<Vec<_>, _>>()?;
    let function = record.text("function")?.map(str::to_owned);
    if function.is_none() && tests.iter().any(|test| matches!(test, Test::Call { .. })) {
        return Err(record.wrong("function", "the tests call a function; name it here"));
    }
    Ok(Problem {
        function,
        limits: LimitOverrides {
            fuel: record.count("fuel")?,
            timeout_ms: record.count("timeout_ms")?,
            memory_mib: record.count("memory_mib")?,
        },
        ..Problem::new(&record.id(&["id"])?, tests)
    })
}

impl Problem {
    /// The tests as [`parse`] reads them: one line of JSON, if all of them have
    /// this notation.
    pub fn tests_json(&self) -> Option<String> {
        let mut line = String::from("[");
        for test in &self.tests {
            line.push_str(if line.len() == 1 { "" } else { "," });
            match test {
                Test::Stdin { input, outputs } => {
                    line.push_str("{\"input\":");
                    write_text(&mut line, input)?;
                    line.push_str(",\"output\":");
                    // Published layouts know one right output; a list of several stays one.
                    let [output] = outputs.as_slice() else { return None };
                    write_text(&mut line, output)?;
                }
                Test::Call { arguments, expected } => {
                    line.push_str("{\"arguments\":");
                    line.push_str(std::str::from_utf8(arguments).ok()?);
                    line.push_str(",\"expected\":");
                    line.push_str(&expected.to_string());
                }
                Test::Code { .. } => return None,
            }
            line.push('}');
        }
        line.push(']');
        Some(line)
    }
}

fn write_text(line: &mut String, text: &[u8]) -> Option<()> {
    line.push_str(&Value::Str(std::str::from_utf8(text).ok()?.to_owned()).to_string());
    Some(())
}

fn parse_test(record: &Record<'_>, index: usize, test: &Value) -> Result<Test, GradingError> {
    let field = |name: &str| format!("tests[{index}].{name}");
    match (test.get("input"), test.get("output"), test.get("arguments"), test.get("expected")) {
        (Some(input), Some(output), None, None) => {
            let Value::Str(input) = input else {
                return Err(record.unlike(&field("input"), "a string", input));
            };
            let outputs = parse_outputs(record, &field("output"), output)?;
            Ok(Test::Stdin { input: input.as_bytes().into(), outputs })
        }
        (None, None, Some(Value::List(arguments)), Some(expected)) => {
            Ok(Test::call(arguments.clone(), expected.clone()))
        }
        (None, None, Some(other), Some(_)) => {
            Err(record.unlike(&field("arguments"), "a list", other))
        }
        _ => Err(record.wrong(
            &format!("tests[{index}]"),
            "a test has either `input` and `output` or `arguments` and `expected`",
        )),
    }
}

fn parse_outputs(
    record: &Record<'_>,
    field: &str,
    output: &Value,
) -> Result<Vec<Vec<u8>>, GradingError> {
    let text = |value: &Value| match value {
        Value::Str(text) => Ok(text.clone().into_bytes()),
        other => Err(record.unlike(field, "a string or a list of strings", other)),
    };
    match output {
        Value::List(outputs) if outputs.is_empty() => {
            Err(record.wrong(field, "no output is right; list at least one"))
        }
        Value::List(outputs) => outputs.iter().map(text).collect(),
        output => Ok(vec![text(output)?]),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_problems;
    use super::*;
    use crate::program::Program;

    fn read(text: &str) -> Result<Problem, String> {
        parse_problems(Path::new("p.jsonl"), text)
            .map(|mut problems| problems.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn everything_a_record_may_hold_is_read() {
        let problem = read(
            r#"{"id": 3, "tests": [{"input": "1\n", "output": ["a", "b"]}, {"arguments": [12345678901234567890123, [1.5]], "expected": {"k": null}}], "function": "f", "compare": "float(1e-3,0)", "checker": {"language": "python", "source": "pass"}, "fuel": 5, "timeout_ms": 6, "memory_mib": 7}"#,
        )
        .unwrap();
        assert_eq!(problem.id, "3");
        assert_eq!(problem.compare.unwrap().to_string(), "float(0.001,0.0)");
        assert_eq!(problem.checker.unwrap(), Program::new("python", b"pass".as_slice()));
        assert_eq!(problem.function.as_deref(), Some("f"));
        let limits = LimitOverrides { fuel: Some(5), timeout_ms: Some(6), memory_mib: Some(7) };
        assert_eq!(problem.limits, limits);
        let Test::Stdin { outputs, .. } = &problem.tests[0] else { panic!("not stdin") };
        assert_eq!(*outputs, [b"a".to_vec(), b"b".to_vec()]);
        let Test::Call { arguments, expected } = &problem.tests[1] else { panic!("not a call") };
        assert_eq!(arguments.as_ref(), b"[12345678901234567890123, [1.5]]");
        assert_eq!(expected.to_string(), r#"{"k": null}"#);
    }

    #[test]
    fn tests_are_read_as_they_were_written() {
        let tests = r#"[{"input":"a\n\u0001é","output":""},{"arguments":[12345678901234567890123, [1.5]],"expected":{"k": null}}]"#;
        let problem = read(&format!(r#"{{"id": 1, "function": "f", "tests": {tests}}}"#)).unwrap();
        assert_eq!(problem.tests_json().unwrap(), tests);
        let several = r#"{"id": 1, "tests": [{"input": "", "output": ["a", "b"]}]}"#;
        assert!(read(several).unwrap().tests_json().is_none());
    }

    #[test]
    fn a_mistake_names_the_test_and_the_field() {
        for (record, part) in [
            (
                r#"{"id": "a", "tests": 1}"#,
                "field `tests`: a list is expected, but it is an integer",
            ),
            (r#"{"id": "a", "tests": [{"input": "1"}]}"#, "field `tests[0]`"),
            (
                r#"{"id": "a", "tests": [{"input": 1, "output": ""}]}"#,
                "field `tests[0].input`: a string",
            ),
            (r#"{"id": "a", "tests": [{"input": "", "output": []}]}"#, "list at least one"),
            (r#"{"id": "a", "tests": [{"arguments": [], "expected": 1}]}"#, "field `function`"),
            (r#"{"id": "a", "tests": [{"arguments": 1, "expected": 1}]}"#, "tests[0].arguments"),
            (r#"{"id": "a", "tests": [], "compare": "tolkens"}"#, "no compare rule `tolkens`"),
            (r#"{"id": "a", "tests": [], "compare": "checker"}"#, "field `checker`"),
            (
                r#"{"id": "a", "tests": [], "checker": {"language": "c++", "source": ""}}"#,
                "`c++` checkers",
            ),
            (r#"{"id": "a", "tests": [], "fuel": -1}"#, "field `fuel`"),
            (r#"{"id": [], "tests": []}"#, "a string or an integer"),
        ] {
            let error = read(record).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
