//! The layout of LiveCodeBench: `public_test_cases` and `private_test_cases`
//! are JSON lists of `{input, output, testtype}` in strings, the latter mostly
//! compressed; `metadata` holds `func_name`.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;

use super::apps::argument_lines;
use super::{Problem, Record, Test, pickled};
use crate::compare::Rule;
use crate::error::GradingError;
use crate::value::Value;

/// More than any list of tests unpacks to; a file that unpacks to more is not
/// what it claims to be.
const LARGEST: u64 = 4 << 30;

/// Read one record; public tests come first.
pub(super) fn parse(record: &Record<'_>) -> Result<Problem, GradingError> {
    let function = match record.get("metadata") {
        None => None,
        Some(metadata) => match record.unpacked("metadata", metadata)?.get("func_name") {
            Some(Value::Str(name)) => Some(name.clone()),
            _ => None,
        },
    };
    let mut tests = Vec::new();
    for field in ["public_test_cases", "private_test_cases"] {
        let Some(value) = record.get(field) else { continue };
        let Value::List(cases) = unpack(record, field, value)? else {
            return Err(record.wrong(field, "a list of tests is expected"));
        };
        for (index, case) in cases.iter().enumerate() {
            tests.push(parse_test(record, &format!("{field}[{index}]"), case, function.is_some())?);
        }
    }
    let id = record.id(&["question_id", "id", "problem_id", "task_id", "name"])?;
    Ok(Problem { compare: Some(Rule::Lcb), function, ..Problem::new(&id, tests) })
}

/// The list itself, JSON in a string, or that pickled, compressed and in base 64.
fn unpack(record: &Record<'_>, field: &str, value: &Value) -> Result<Value, GradingError> {
    let Value::Str(text) = value else { return Ok(value.clone()) };
    if text.trim_start().starts_with(['[', '{']) {
        return record.unpacked(field, value);
    }
    let wrong =
        |reason: String| record.wrong(field, format!("neither JSON nor packed JSON: {reason}"));
    let compact: String = text.split_ascii_whitespace().collect();
    let compressed = STANDARD.decode(compact).map_err(|error| wrong(error.to_string()))?;
    let mut pickle = Vec::new();
    ZlibDecoder::new(compressed.as_slice())
        .take(LARGEST)
        .read_to_end(&mut pickle)
        .map_err(|error| wrong(error.to_string()))?;
    let json = pickled::read_string(&pickle).map_err(wrong)?;
    record.unpacked(field, &Value::Str(json))
}

fn parse_test(
    record: &Record<'_>,
    field: &str,
    case: &Value,
    has_function: bool,
) -> Result<Test, GradingError> {
    let (Some(Value::Str(input)), Some(Value::Str(output))) =
        (case.get("input"), case.get("output"))
    else {
        return Err(record.wrong(field, "a test has an `input` and an `output`, both strings"));
    };
    match case.get("testtype") {
        Some(Value::Str(kind)) if kind == "functional" && !has_function => {
            Err(record.wrong("metadata", "the tests call a function; name it as `func_name` here"))
        }
        Some(Value::Str(kind)) if kind == "functional" => {
            let expected =
                record.unpacked(&format!("{field}.output"), &Value::Str(output.clone()))?;
            Ok(Test::call(argument_lines(record, &format!("{field}.input"), input)?, expected))
        }
        None | Some(Value::Null) => Ok(Test::stdin(input, output)),
        Some(Value::Str(kind)) if kind == "stdin" => Ok(Test::stdin(input, output)),
        Some(other) => {
            let reason = format!("`stdin` or `functional` is expected, but it is {other}");
            Err(record.wrong(&format!("{field}.testtype"), reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_problems;
    use super::*;

    /// `[{"input": "2\n", "output": "4\n", "testtype": "stdin"}]`, packed by
    /// Python as the dataset's authors do it.
    const PACKED: &str =
        "eJxrYJlqwwABPRbR1UqZeQWlJUpWCkpGMXlKOgpK+aUlUAETiEBJanFJSWVBKkiouCQlM0+pNnaKHgCVcRRJ";

    fn read(text: &str) -> Result<Problem, String> {
        parse_problems(Path::new("p.jsonl"), text)
            .map(|mut problems| problems.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn packed_and_plain_tests_are_read() {
        let packed = read(&format!(
            r#"{{"question_id": "q", "public_test_cases": "[]", "private_test_cases": "{PACKED}", "metadata": "{{}}"}}"#
        ))
        .unwrap();
        let plain = read(
            r#"{"question_id": "q", "public_test_cases": [], "private_test_cases": "[{\"input\": \"2\\n\", \"output\": \"4\\n\", \"testtype\": \"stdin\"}]"}"#,
        )
        .unwrap();
        for problem in [packed, plain] {
            let Test::Stdin { input, outputs } = &problem.tests[0] else { panic!("not stdin") };
            assert_eq!(
                (input.as_ref(), outputs[0].as_slice()),
                (b"2\n".as_slice(), b"4\n".as_slice())
            );
        }
    }

    #[test]
    fn functional_tests_have_one_argument_a_line() {
        let problem = read(
            r#"{"question_id": "q", "public_test_cases": "[{\"input\": \"[1, 2]\\n\\\"s\\\"\", \"output\": \"true\", \"testtype\": \"functional\"}]", "metadata": "{\"func_name\": \"f\"}"}"#,
        )
        .unwrap();
        let Test::Call { arguments, expected } = &problem.tests[0] else { panic!("not a call") };
        assert_eq!(arguments.as_ref(), br#"[[1, 2], "s"]"#);
        assert!(matches!(expected, Value::Bool(true)));
        assert_eq!(problem.function.as_deref(), Some("f"));
    }

    #[test]
    fn what_is_not_packed_tests_is_refused() {
        for (value, part) in
            [("not base64!", "packed"), ("aGVsbG8=", "packed"), ("{}", "list of tests")]
        {
            let error = read(&format!(
                r#"{{"question_id": "q", "public_test_cases": "[]", "private_test_cases": "{value}"}}"#
            ))
            .unwrap_err();
            assert!(error.contains("`private_test_cases`") && error.contains(part), "{error}");
        }
        let nameless = r#"{"question_id": "q", "public_test_cases": "[{\"input\": \"1\", \"output\": \"1\", \"testtype\": \"functional\"}]"}"#;
        assert!(read(nameless).unwrap_err().contains("field `metadata`"));
    }
}
