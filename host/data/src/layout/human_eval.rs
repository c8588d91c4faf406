//! HumanEval: the record keeps the names that its tests, which are code, are
//! read under. The solution is the whole program.

use super::Entry;
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] =
    &["task_id", "prompt", "canonical_solution", "test", "entry_point"];

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let id = row.name(&["task_id"])?.ok_or_else(|| Refusal::plain("no `task_id`"))?;
    let prompt = row.required(&["prompt"])?;
    let mut entry = Entry::new(Some(id), prompt);
    entry.text("prompt", Some(prompt));
    entry.text("entry_point", Some(row.required(&["entry_point"])?));
    entry.text("test", Some(row.required(&["test"])?));
    let solution = row.text("canonical_solution").ok().flatten();
    let solution = solution.filter(|body| !body.trim().is_empty());
    entry.text("solution", solution.map(|body| format!("{prompt}{body}")).as_deref());
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_is_a_program_of_its_own() {
        let entry = read(&Row::of(
            r#"{"task_id": "HumanEval/0", "prompt": "def f():\n", "canonical_solution": "    return 1\n", "test": "def check(c):\n    assert c() == 1\n", "entry_point": "f"}"#,
        ))
        .unwrap();
        assert_eq!(entry.id.as_deref(), Some("HumanEval/0"));
        let solution = ("solution", r#""def f():\n    return 1\n""#.to_owned());
        assert!(entry.fields.contains(&solution), "{:?}", entry.fields);
    }

    #[test]
    fn a_row_without_tests_is_refused() {
        let row = Row::of(r#"{"task_id": "a", "prompt": "p", "entry_point": "f"}"#);
        assert_eq!(read(&row).unwrap_err().reason, "no `test`");
    }
}
