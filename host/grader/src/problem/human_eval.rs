//! The layout of HumanEval: `prompt` is the beginning of a program, `test`
//! defines `check(candidate)`, and `entry_point` names the function to check.
//! `canonical_solution` continues the prompt; it is not looked at.

use super::{Problem, Record, Test};
use crate::error::GradingError;

/// Read one record: one test.
pub(super) fn parse(record: &Record<'_>) -> Result<Problem, GradingError> {
    let id = record.id(&["task_id", "id", "name"])?;
    let text = |name: &str| match record.text(name)? {
        Some(text) => Ok(text.to_owned()),
        None => Err(record.wrong(name, "a HumanEval problem needs it")),
    };
    let (prompt, entry) = (text("prompt")?, text("entry_point")?);
    let code = format!("{}\n\ncheck({entry})\n", text("test")?);
    Ok(Problem {
        function: Some(entry),
        prompt: Some(prompt),
        ..Problem::new(&id, vec![Test::Code { code }])
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_problems;
    use super::*;

    #[test]
    fn the_test_is_the_check_of_the_entry_point() {
        let text = r#"{"task_id": "H/0", "prompt": "def f():\n", "entry_point": "f", "canonical_solution": "    return 1\n", "test": "def check(candidate):\n    assert candidate() == 1\n"}"#;
        let problem = parse_problems(Path::new("p.jsonl"), text).unwrap().remove(0);
        assert_eq!((problem.id.as_str(), problem.function.as_deref()), ("H/0", Some("f")));
        assert_eq!(problem.prompt.as_deref(), Some("def f():\n"));
        let Test::Code { code } = &problem.tests[0] else { panic!("{problem:?}") };
        assert!(code.starts_with("def check") && code.ends_with("\ncheck(f)\n"), "{code}");
    }

    #[test]
    fn a_missing_field_is_named() {
        let text = r#"{"task_id": "H/0", "entry_point": "f", "test": ""}"#;
        let error = parse_problems(Path::new("p.jsonl"), text).unwrap_err().to_string();
        assert!(error.contains("field `prompt`"), "{error}");
    }
}
