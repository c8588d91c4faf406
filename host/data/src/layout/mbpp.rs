//! MBPP, also in its sanitized edition and as MBPP+: assertions behind their setup. Its
//! publisher splits it by the number of the task.

use super::Entry;
use crate::refusal::Refusal;
use crate::row::Row;
use plugin_sdk::types::Split;

pub(super) const COLUMNS: &[&str] =
    &["task_id", "text", "prompt", "code", "test_list", "test_setup_code", "test_imports", "test"];

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let id = row.name(&["task_id"])?.ok_or_else(|| Refusal::plain("no `task_id`"))?;
    let mut entry = Entry::new(Some(id), row.required(&["text", "prompt"])?);
    entry.split = row.integer("task_id").and_then(split);
    let tests = row.texts("test_list")?;
    if tests.is_empty() {
        return Err(Refusal::plain("no tests"));
    }
    entry.json("test_list", serde_json::Value::from(tests).to_string());
    let imports = row.texts("test_imports")?;
    if !imports.is_empty() {
        entry.json("test_imports", serde_json::Value::from(imports).to_string());
    }
    entry.text("test_setup_code", row.text("test_setup_code")?);
    entry.text("test", row.text("test")?);
    entry.copy("solution", row, "code");
    Ok(entry)
}

/// The first ten are for prompts, which is a kind of training.
fn split(task: i64) -> Option<Split> {
    match task {
        1..=10 | 601..=974 => Some(Split::Train),
        11..=510 => Some(Split::Test),
        511..=600 => Some(Split::Validation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_editions_are_read_and_split_by_number() {
        for (json, split) in [
            (
                r#"{"task_id": 11, "text": "T", "code": "c", "test_list": ["assert 1"], "test_setup_code": ""}"#,
                Split::Test,
            ),
            (
                r#"{"task_id": 602, "prompt": "T", "code": "c", "test_list": ["assert 1"], "test_imports": ["import math"]}"#,
                Split::Train,
            ),
        ] {
            let entry = read(&Row::of(json)).unwrap();
            assert_eq!((entry.problem.as_str(), entry.split), ("T", Some(split)));
            assert!(entry.fields.contains(&("test_list", r#"["assert 1"]"#.to_owned())));
        }
        let row = Row::of(r#"{"task_id": 11, "text": "T", "test_list": []}"#);
        assert_eq!(read(&row).unwrap_err().reason, "no tests");
    }
}
