//! AIME and AMC: `problem` and a short `answer`, as text, integer or float.

use super::{Entry, answer_text};
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] =
    &["id", "problem", "question", "answer", "solution", "url", "year"];

/// Which answers a competition has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Whole numbers from 0 to 999.
    UpTo999,
    /// Any.
    Any,
}

pub(super) fn read(row: &Row, answers: Answers) -> Result<Entry, Refusal> {
    let mut entry = Entry::new(row.name(&["id"])?, row.required(&["problem", "question"])?);
    let answer = row.get("answer").ok_or_else(|| Refusal::plain("no `answer`"))?;
    let answer = answer_text("answer", answer)?;
    // Leading zeros stay as they were published; checkers know that they count for nothing.
    if answers == Answers::UpTo999 && !answer.parse().is_ok_and(|number: u32| number <= 999) {
        return Err(Refusal::new("the answer is no whole number from 0 to 999", answer));
    }
    entry.text("answer", Some(&answer));
    entry.copy("solution", row, "solution");
    entry.copy("url", row, "url");
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str, answers: Answers) -> Result<String, Refusal> {
        let entry = read(&Row::of(json), answers)?;
        Ok(entry.fields.into_iter().find(|(name, _)| *name == "answer").unwrap().1)
    }

    #[test]
    fn answers_are_read_in_every_published_type() {
        for (json, expected) in [
            (r#"{"problem": "p", "answer": "025"}"#, r#""025""#),
            (r#"{"ID": "2025-I-1", "Problem": "p", "Answer": 7}"#, r#""7""#),
            (r#"{"question": "p", "answer": 27.0}"#, r#""27""#),
            (r#"{"question": "p", "answer": "27.0 "}"#, r#""27.0""#),
        ] {
            let rules = if expected.contains('.') { Answers::Any } else { Answers::UpTo999 };
            assert_eq!(answer(json, rules).unwrap(), expected, "{json}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused_with_a_reason() {
        for (json, reason) in [
            (r#"{"problem": "p"}"#, "no `answer`"),
            (r#"{"answer": "1"}"#, "no `problem` or `question`"),
            (r#"{"problem": " ", "answer": "1"}"#, "`problem` is empty"),
            (r#"{"problem": ["p"], "answer": "1"}"#, "`problem` is of another type"),
            (r#"{"problem": "p", "answer": NaN}"#, "`answer` is no number"),
            (
                r#"{"problem": "p", "answer": "1000"}"#,
                "the answer is no whole number from 0 to 999",
            ),
            (r#"{"problem": "p", "answer": -1}"#, "the answer is no whole number from 0 to 999"),
        ] {
            assert_eq!(answer(json, Answers::UpTo999).unwrap_err().reason, reason, "{json}");
        }
    }
}
