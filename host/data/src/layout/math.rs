//! MATH, MATH-500 and the Minerva set: a solution with its answer in a box. MATH has
//! no other; MATH-500 says it once more under `answer`.

use super::{Entry, answer_text};
use crate::boxed::last_boxed;
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] = &[
    "unique_id",
    "id",
    "idx",
    "problem",
    "question",
    "solution",
    "answer",
    "level",
    "type",
    "subject",
];

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let id = row.name(&["unique_id", "id", "idx"])?.or_else(|| name_of_file(&row.place.path));
    let mut entry = Entry::new(id, row.required(&["problem", "question"])?);
    let answer = match row.get("answer") {
        Some(answer) => answer_text("answer", answer)?,
        None => match row.text("solution")? {
            None => return Err(Refusal::plain("neither `answer` nor `solution`")),
            Some(solution) => last_boxed(solution)
                .ok_or_else(|| Refusal::plain("the solution has no boxed answer"))?
                .to_owned(),
        },
    };
    entry.text("answer", Some(&answer));
    if let Some(level) = level(row) {
        entry.json("level", level.to_string());
    }
    let subject = if row.get("subject").is_some() { "subject" } else { "type" };
    entry.copy("subject", row, subject);
    entry.copy("solution", row, "solution");
    Ok(entry)
}

/// 5 of 5 and of `Level 5`; nothing of `Level ?`.
fn level(row: &Row) -> Option<i64> {
    let said = row.text("level").ok().flatten();
    said.and_then(|said| said.trim().strip_prefix("Level ")?.trim().parse().ok())
        .or_else(|| row.integer("level"))
}

/// A problem of the folder form is named by its file, as MATH-500 names it:
/// `test/algebra/7.json`.
fn name_of_file(path: &str) -> Option<String> {
    let mut parts = path.rsplit('/');
    let (file, subject, split) = (parts.next()?, parts.next()?, parts.next()?);
    let is_problem = file.strip_suffix(".json")?.bytes().all(|byte| byte.is_ascii_digit());
    (is_problem && matches!(split, "train" | "test")).then(|| format!("{split}/{subject}/{file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_box_of_the_solution_is_the_answer_if_there_is_no_other() {
        let row = Row::of(
            r#"{"problem": "p", "level": "Level 5", "type": "Algebra", "solution": "So $\\boxed{\\frac{1}{2}}$."}"#,
        );
        let fields = read(&row).unwrap().fields;
        let text = |name: &str| {
            fields.iter().find(|(field, _)| *field == name).map(|(_, json)| json.as_str())
        };
        assert_eq!(text("answer"), Some(r#""\\frac{1}{2}""#));
        assert_eq!((text("level"), text("subject")), (Some("5"), Some("\"Algebra\"")));
        let row = Row::of(
            r#"{"problem": "p", "level": 2, "subject": "Algebra", "solution": "", "answer": "7", "unique_id": "test/algebra/1.json"}"#,
        );
        let entry = read(&row).unwrap();
        assert_eq!(entry.id.as_deref(), Some("test/algebra/1.json"));
        assert!(entry.fields.contains(&("level", "2".to_owned())));
    }

    #[test]
    fn a_level_of_no_number_is_none_and_a_solution_without_a_box_no_record() {
        let row = Row::of(r#"{"problem": "p", "level": "Level ?", "solution": "\\boxed 7"}"#);
        let fields = read(&row).unwrap().fields;
        assert!(fields.iter().all(|(name, _)| *name != "level"), "{fields:?}");
        let row = Row::of(r#"{"problem": "p", "solution": "seven"}"#);
        assert_eq!(read(&row).unwrap_err().reason, "the solution has no boxed answer");
    }

    #[test]
    fn a_problem_in_a_folder_is_named_by_its_file() {
        let name = |path| name_of_file(path);
        assert_eq!(name("x/MATH/test/algebra/7.json").as_deref(), Some("test/algebra/7.json"));
        assert_eq!(name("MATH/test/algebra.json"), None);
        assert_eq!(name("7.json"), None);
    }
}
