//! The layout of CodeContests: `public_tests`, `private_tests` and
//! `generated_tests`, each with the lists `input` and `output`, or as a list of
//! such pairs. A time limit is a number of seconds or `{seconds, nanos}`.

use super::{Problem, Record, StatedLimits, Test};
use crate::compare::Rule;
use crate::error::GradingError;
use crate::value::Value;

/// Read one record; public tests come first.
pub(super) fn parse(record: &Record<'_>) -> Result<Problem, GradingError> {
    let mut tests = Vec::new();
    for field in ["public_tests", "private_tests", "generated_tests"] {
        match record.get(field) {
            None => {}
            Some(Value::List(pairs)) => {
                for pair in pairs {
                    tests.push(parse_test(record, field, pair.get("input"), pair.get("output"))?);
                }
            }
            Some(value) => {
                let (inputs, outputs) = (
                    column(record, field, value, "input")?,
                    column(record, field, value, "output")?,
                );
                if inputs.len() != outputs.len() {
                    let reason =
                        format!("there are {} inputs but {} outputs", inputs.len(), outputs.len());
                    return Err(record.wrong(field, reason));
                }
                for (input, output) in inputs.iter().zip(outputs) {
                    tests.push(parse_test(record, field, Some(input), Some(output))?);
                }
            }
        }
    }
    let stated = StatedLimits {
        time_ms: record.get("time_limit").and_then(milliseconds),
        memory_bytes: record.count("memory_limit_bytes")?,
    };
    let id = record.id(&["name", "id", "problem_id", "question_id", "task_id"])?;
    Ok(Problem { compare: Some(Rule::Tokens), stated, ..Problem::new(&id, tests) })
}

fn column<'v>(
    record: &Record<'_>,
    field: &str,
    value: &'v Value,
    name: &str,
) -> Result<&'v [Value], GradingError> {
    match value.get(name) {
        Some(Value::List(items)) => Ok(items),
        _ => Err(record.wrong(field, format!("`{name}` has to be a list"))),
    }
}

fn parse_test(
    record: &Record<'_>,
    field: &str,
    input: Option<&Value>,
    output: Option<&Value>,
) -> Result<Test, GradingError> {
    match (input, output) {
        (Some(Value::Str(input)), Some(Value::Str(output))) => Ok(Test::stdin(input, output)),
        _ => Err(record.wrong(field, "a test has an `input` and an `output`, both strings")),
    }
}

fn milliseconds(limit: &Value) -> Option<u64> {
    let number = |value: &Value| match value {
        Value::Int(digits) => digits.parse::<f64>().ok(),
        Value::Float(value) => Some(*value),
        _ => None,
    };
    let seconds = match limit {
        Value::Dict(_) => {
            let part = |name| limit.get(name).and_then(number).unwrap_or(0.0);
            part("seconds") + part("nanos") * 1e-9
        }
        other => number(other)?,
    };
    // A limit of 0 is how the dataset says that it knows none.
    (seconds > 0.0).then_some((seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_problems;
    use super::*;

    #[test]
    fn all_three_kinds_of_tests_are_read_in_order() {
        let text = r#"{"name": "p", "generated_tests": {"input": ["3"], "output": ["c"]}, "public_tests": {"input": ["1"], "output": ["a"]}, "private_tests": [{"input": "2", "output": "b"}], "time_limit": {"seconds": 1, "nanos": 500000000}, "memory_limit_bytes": 256000000}"#;
        let problem = parse_problems(Path::new("p.jsonl"), text).unwrap().remove(0);
        let inputs: Vec<_> = problem
            .tests
            .iter()
            .map(|test| match test {
                Test::Stdin { input, .. } => input.to_vec(),
                Test::Call { .. } | Test::Code { .. } => Vec::new(),
            })
            .collect();
        assert_eq!(inputs, [b"1", b"2", b"3"]);
        let stated = StatedLimits { time_ms: Some(1500), memory_bytes: Some(256_000_000) };
        assert_eq!(problem.stated, stated);
    }

    #[test]
    fn a_missing_output_is_an_error() {
        let text = r#"{"name": "p", "public_tests": {"input": ["1"], "output": []}}"#;
        let error = parse_problems(Path::new("p.jsonl"), text).unwrap_err().to_string();
        assert!(
            error.contains("field `public_tests`: there are 1 inputs but 0 outputs"),
            "{error}"
        );
    }
}
