//! The layout of APPS, which TACO shares: `input_output` holds `inputs`,
//! `outputs` and, for call-based problems, `fn_name`, directly or as JSON in a
//! string.
//!
//! An input or output of a stdin problem may be a list: its elements are the
//! lines, as the original grader has it. A call-based input is the list of the
//! arguments, or one JSON value a line; in the latter case the output is JSON in
//! a string as well.

use super::{Problem, Record, Test};
use crate::compare::Rule;
use crate::error::GradingError;
use crate::value::Value;

const FIELD: &str = "input_output";

/// Read one record. An empty `input_output` is a problem without tests.
pub(super) fn parse(record: &Record<'_>) -> Result<Problem, GradingError> {
    let id = record.id(&["problem_id", "id", "question_id", "task_id", "name"])?;
    let packed = match record.get(FIELD) {
        Some(Value::Str(text)) if text.trim().is_empty() => Value::Dict(Vec::new()),
        Some(value) => record.unpacked(FIELD, value)?,
        None => Value::Null,
    };
    let function = match packed.get("fn_name") {
        None | Some(Value::Null) => None,
        Some(Value::Str(name)) => Some(name.clone()),
        Some(other) => return Err(record.unlike("input_output.fn_name", "a string", other)),
    };
    let (inputs, outputs) = (list(record, &packed, "inputs")?, list(record, &packed, "outputs")?);
    if inputs.len() != outputs.len() {
        let reason = format!("there are {} inputs but {} outputs", inputs.len(), outputs.len());
        return Err(record.wrong(FIELD, reason));
    }
    let test = |(index, (input, output)): (usize, (&Value, &Value))| match function {
        Some(_) => call_test(record, index, input, output),
        None => stdin_test(record, index, input, output),
    };
    let tests = inputs.iter().zip(outputs).enumerate().map(test).collect::<Result<_, _>>()?;
    Ok(Problem { compare: Some(Rule::Apps), function, ..Problem::new(&id, tests) })
}

fn list<'v>(
    record: &Record<'_>,
    packed: &'v Value,
    name: &str,
) -> Result<&'v [Value], GradingError> {
    match packed.get(name) {
        None => Ok(&[]),
        Some(Value::List(items)) => Ok(items),
        Some(other) => Err(record.unlike(&format!("{FIELD}.{name}"), "a list", other)),
    }
}

fn stdin_test(
    record: &Record<'_>,
    index: usize,
    input: &Value,
    output: &Value,
) -> Result<Test, GradingError> {
    let text = |name: &str, value: &Value| {
        let field = format!("{FIELD}.{name}[{index}]");
        let line = |value: &Value| match value {
            Value::Str(line) => Ok(line.clone()),
            other => Err(record.unlike(&field, "a string or a list of strings", other)),
        };
        match value {
            Value::List(lines) => {
                Ok(lines.iter().map(line).collect::<Result<Vec<_>, _>>()?.join("\n"))
            }
            text => line(text),
        }
    };
    Ok(Test::stdin(&text("inputs", input)?, &text("outputs", output)?))
}

fn call_test(
    record: &Record<'_>,
    index: usize,
    input: &Value,
    output: &Value,
) -> Result<Test, GradingError> {
    match input {
        Value::List(arguments) => Ok(Test::call(arguments.clone(), output.clone())),
        Value::Str(lines) => {
            let field = format!("{FIELD}.inputs[{index}]");
            let expected = record.unpacked(&format!("{FIELD}.outputs[{index}]"), output)?;
            Ok(Test::call(argument_lines(record, &field, lines)?, expected))
        }
        other => {
            let field = format!("{FIELD}.inputs[{index}]");
            Err(record.unlike(
                &field,
                "the list of the arguments, or one JSON value a line,",
                other,
            ))
        }
    }
}

/// One JSON value a line, one line an argument.
pub(super) fn argument_lines(
    record: &Record<'_>,
    field: &str,
    lines: &str,
) -> Result<Vec<Value>, GradingError> {
    lines
        .trim_end_matches('\n')
        .split('\n')
        .map(|line| {
            Value::parse(line)
                .map_err(|reason| record.wrong(field, format!("`{line}` is not JSON: {reason}")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_problems;
    use super::*;

    fn read(text: &str) -> Result<Problem, String> {
        parse_problems(Path::new("p.jsonl"), text)
            .map(|mut problems| problems.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_in_a_stdin_problem_is_its_lines() {
        let problem = read(
            r#"{"problem_id": 1, "input_output": {"inputs": [["1", "2"], "3\n"], "outputs": [["a", "b"], "c\n"]}}"#,
        )
        .unwrap();
        let Test::Stdin { input, outputs } = &problem.tests[0] else { panic!("not stdin") };
        assert_eq!(
            (input.as_ref(), outputs.as_slice()),
            (b"1\n2".as_slice(), [b"a\nb".to_vec()].as_slice())
        );
    }

    #[test]
    fn call_based_inputs_are_lists_or_lines() {
        let problem = read(
            r#"{"problem_id": 1, "input_output": "{\"fn_name\": \"f\", \"inputs\": [[1, [2]], \"3\\n\\\"x\\\"\"], \"outputs\": [[5], \"[6]\"]}"}"#,
        )
        .unwrap();
        let shown: Vec<String> = problem
            .tests
            .iter()
            .map(|test| match test {
                Test::Call { arguments, expected } => {
                    format!("{} {expected}", String::from_utf8_lossy(arguments))
                }
                Test::Stdin { .. } => "stdin".to_owned(),
                Test::Code { .. } => "code".to_owned(),
            })
            .collect();
        assert_eq!(shown, ["[1, [2]] [5]", "[3, \"x\"] [6]"]);
        assert_eq!(problem.function.as_deref(), Some("f"));
    }

    #[test]
    fn a_problem_may_lack_tests_but_not_outputs() {
        assert!(read(r#"{"problem_id": 1, "input_output": ""}"#).unwrap().tests.is_empty());
        let error = read(r#"{"problem_id": 1, "input_output": {"inputs": ["1"], "outputs": []}}"#)
            .unwrap_err();
        assert!(error.contains("1 inputs but 0 outputs"), "{error}");
        let error = read(r#"{"problem_id": 1, "input_output": "{"}"#).unwrap_err();
        assert!(error.contains("field `input_output`: not JSON"), "{error}");
    }
}
