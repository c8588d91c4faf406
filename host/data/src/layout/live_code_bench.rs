//! LiveCodeBench: every value is a text; the private tests are JSON or packed.

use super::Entry;
use super::code::{add_tests, problem_of};
use crate::bounds::Bounds;
use crate::refusal::Refusal;
use crate::row::Row;
use troupe_grading::{PackedError, Value, unpack};

pub(super) const COLUMNS: &[&str] = &[
    "question_title",
    "question_content",
    "question_id",
    "contest_id",
    "platform",
    "contest_date",
    "starter_code",
    "difficulty",
    "public_test_cases",
    "private_test_cases",
    "metadata",
];

pub(super) fn read(mut row: Row, bounds: &Bounds) -> Result<Entry, Refusal> {
    let id = row.name(&["question_id"])?.ok_or_else(|| Refusal::plain("no `question_id`"))?;
    let mut entry = Entry::new(Some(id), row.required(&["question_content"])?);
    for (name, field) in [
        ("title", "question_title"),
        ("difficulty", "difficulty"),
        ("platform", "platform"),
        ("contest_date", "contest_date"),
        ("starter_code", "starter_code"),
    ] {
        entry.copy(name, &row, field);
    }
    unpack_tests(&mut row, bounds)?;
    let public = match row.get("public_test_cases") {
        Some(Value::Str(text)) => Value::parse(text).ok(),
        other => other.cloned(),
    };
    let problem = problem_of(row)?;
    add_tests(&mut entry, &problem)?;
    if let Some(Value::List(public)) = public {
        entry.json("public", public.len().to_string());
    }
    Ok(entry)
}

/// Put the JSON in place of what is packed.
fn unpack_tests(row: &mut Row, bounds: &Bounds) -> Result<(), Refusal> {
    const FIELD: &str = "private_test_cases";
    let json = match row.text(FIELD) {
        Ok(Some(text)) if !text.trim_start().starts_with(['[', '{']) => text,
        _ => return Ok(()),
    };
    let json = unpack(json, bounds.bytes as u64).map_err(|error| {
        let reason = match &error {
            PackedError::TooLarge(_) => "the packed tests inflate to too much",
            PackedError::Pickle(_) => "the pickle is refused",
            PackedError::Base64(_) | PackedError::Zlib(_) => "the packed tests are damaged",
        };
        Refusal::new(reason, error.to_string())
    })?;
    bounds.check(json.as_bytes())?;
    row.put(FIELD, Value::Str(json));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(private: &str, metadata: &str, public: &str) -> Row {
        Row::of(
            &serde_json::json!({
                "question_title": "T", "question_content": "Q", "question_id": "abc_a",
                "platform": "atcoder", "contest_date": "2024-01-01T00:00:00", "starter_code": "",
                "difficulty": "easy", "public_test_cases": public,
                "private_test_cases": private, "metadata": metadata,
            })
            .to_string(),
        )
    }

    const STDIN: &str = r#"[{"input": "1", "output": "2", "testtype": "stdin"}]"#;

    #[test]
    fn plain_and_packed_tests_are_the_same() {
        let packed =
            "eJxrYJlqwwABPRbR1UqZeQWlJUpWCkpGMXlKOgpK+aUlUAETiEBJanFJSWVBKkiouCQlM0+pNnaKHgCVcRRJ";
        let plain = r#"[{"input": "2\n", "output": "4\n", "testtype": "stdin"}]"#;
        let [one, other] = [packed, plain]
            .map(|private| read(row(private, "{}", STDIN), &Bounds::default()).unwrap().fields);
        assert_eq!(one, other);
        assert!(one.contains(&("public", "1".to_owned())), "{one:?}");
        let tests = r#"[{"input":"1","output":"2"},{"input":"2\n","output":"4\n"}]"#;
        assert!(one.contains(&("tests", tests.to_owned())), "{one:?}");
    }

    #[test]
    fn a_call_is_kept_with_its_function() {
        let public = r#"[{"input": "[1, 2]\n\"s\"", "output": "true", "testtype": "functional"}]"#;
        let row = row("[]", r#"{"func_name": "join"}"#, public);
        let fields = read(row, &Bounds::default()).unwrap().fields;
        let tests = r#"[{"arguments":[[1, 2], "s"],"expected":true}]"#;
        assert!(fields.contains(&("tests", tests.to_owned())), "{fields:?}");
        assert!(fields.contains(&("function", "\"join\"".to_owned())), "{fields:?}");
    }

    #[test]
    fn damaged_tests_are_refused_with_a_reason() {
        for (private, reason) in [
            ("%%%", "the packed tests are damaged"),
            ("aGVsbG8=", "the packed tests are damaged"),
            // zlib of `cposix\nsystem\n.`
            ("eJxLLsgvzqzgKq4sLknN5dIDAC+KBX4=", "the pickle is refused"),
            ("[{\"input\": 1}]", "`private_test_cases` is not as published"),
        ] {
            let refused = read(row(private, "{}", STDIN), &Bounds::default()).unwrap_err();
            assert_eq!(refused.reason, reason, "{private}: {}", refused.detail);
        }
        assert_eq!(read(row("[]", "{}", "[]"), &Bounds::default()).unwrap_err().reason, "no tests");
    }
}
