//! Polaris-53K: `problem`, a short `answer`, and of eight attempts how many failed, as `3/8`.

use super::{Entry, answer_text};
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] = &["id", "problem", "answer", "difficulty"];

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let mut entry = Entry::new(row.name(&["id"])?, row.required(&["problem"])?);
    let answer = row.get("answer").ok_or_else(|| Refusal::plain("no `answer`"))?;
    entry.text("answer", Some(&answer_text("answer", answer)?));
    entry.copy("difficulty", row, "difficulty");
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_answer_and_difficulty_are_kept() {
        let row = Row::of(r#"{"difficulty": "3/8", "problem": "What is x?", "answer": "\\pi"}"#);
        let entry = read(&row).unwrap();
        let expected = [
            ("problem", r#""What is x?""#.to_owned()),
            ("answer", r#""\\pi""#.to_owned()),
            ("difficulty", r#""3/8""#.to_owned()),
        ];
        assert_eq!((entry.id, &entry.fields[..]), (None, &expected[..]));
        let refused = read(&Row::of(r#"{"problem": "p"}"#)).unwrap_err();
        assert_eq!(refused.reason, "no `answer`");
    }
}
