//! The layout of MBPP: `test_list` holds assertions, each a test. They are run
//! behind `test_setup_code` or, in the sanitized edition, `test_imports`. In MBPP+,
//! `test` is code with all of its tests, and one more test.
//! `code`, the reference solution, is not looked at.

use super::{Problem, Record, Test};
use crate::error::GradingError;
use crate::value::Value;

/// Read one record.
pub(super) fn parse(record: &Record<'_>) -> Result<Problem, GradingError> {
    let id = record.id(&["task_id", "id", "name"])?;
    let mut setup = lines(record, "test_imports")?;
    setup.extend(record.text("test_setup_code")?.map(str::to_owned));
    let setup = setup.join("\n");
    let test = |assertion: String| Test::Code { code: format!("{setup}\n{assertion}\n") };
    let more = record.text("test")?.map(str::to_owned);
    let tests = lines(record, "test_list")?.into_iter().chain(more).map(test).collect();
    Ok(Problem::new(&id, tests))
}

/// The strings of a list that may be missing.
fn lines(record: &Record<'_>, field: &str) -> Result<Vec<String>, GradingError> {
    let line = |value: &Value| match value {
        Value::Str(line) => Ok(line.clone()),
        other => Err(record.unlike(field, "a list of strings", other)),
    };
    match record.get(field) {
        None => Ok(Vec::new()),
        Some(Value::List(items)) => items.iter().map(line).collect(),
        Some(other) => Err(record.unlike(field, "a list of strings", other)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_problems;
    use super::*;

    #[test]
    fn each_assertion_is_a_test_behind_the_same_setup() {
        let text = r#"{"task_id": 11, "text": "T", "code": "def f(): pass", "test_setup_code": "x = 1", "test_imports": ["import math"], "test_list": ["assert f(x) == 1", "assert f(2) == 2"], "challenge_test_list": []}"#;
        let problem = parse_problems(Path::new("p.jsonl"), text).unwrap().remove(0);
        assert_eq!((problem.id.as_str(), problem.prompt.as_deref()), ("11", None));
        let codes: Vec<&str> = problem
            .tests
            .iter()
            .map(|test| match test {
                Test::Code { code } => code.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        let setup = "import math\nx = 1\n";
        assert_eq!(
            codes,
            [format!("{setup}assert f(x) == 1\n"), format!("{setup}assert f(2) == 2\n")]
        );
    }

    #[test]
    fn the_test_code_of_mbpp_plus_is_a_test_beside_the_assertions() {
        let text = r#"{"task_id": 2, "code": "", "test_imports": [], "test_list": ["assert f(1)"], "test": "for x in [1]:\n    assert f(x)"}"#;
        let problem = parse_problems(Path::new("p.jsonl"), text).unwrap().remove(0);
        let [_, Test::Code { code }] = problem.tests.as_slice() else { panic!("{problem:?}") };
        assert!(code.ends_with("for x in [1]:\n    assert f(x)\n"), "{code}");
    }

    #[test]
    fn a_list_that_is_none_is_named() {
        let error = parse_problems(Path::new("p.jsonl"), r#"{"task_id": 1, "test_list": [1]}"#);
        assert!(error.unwrap_err().to_string().contains("field `test_list`"));
    }
}
