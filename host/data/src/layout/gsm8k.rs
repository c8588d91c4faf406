//! GSM8K: `answer` is a worked solution with calculator marks; behind its last
//! `####` stands the number.

use super::Entry;
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] = &["id", "idx", "question", "problem", "answer"];

const MARKER: &str = "####";

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let mut entry = Entry::new(row.name(&["id", "idx"])?, row.required(&["question", "problem"])?);
    let worked = row.required(&["answer"])?;
    let Some((solution, gold)) = worked.rsplit_once(MARKER) else {
        return Err(Refusal::plain("the answer has no `####`"));
    };
    let number: String =
        gold.trim().chars().filter(|letter| !matches!(letter, ',' | '$' | ' ')).collect();
    if !is_number(&number) {
        return Err(Refusal::new("what follows `####` is no number", gold.trim()));
    }
    entry.text("answer", Some(&number));
    entry.text("solution", Some(without_marks(solution).trim()));
    Ok(entry)
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    [whole, part]
        .iter()
        .all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The text without `<<…>>`, which a calculator had left in it.
fn without_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<<") {
        let Some((_, behind)) = after.split_once(">>") else { break };
        plain.push_str(before);
        rest = behind;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_behind_the_marker_is_the_answer_and_the_marks_are_gone() {
        let row = Row::of(
            r#"{"question": "How many?", "answer": "She sells 2*3=<<2*3=6>>6 for $<<6*200=1200>>1,200.\n#### $1,200"}"#,
        );
        let entry = read(&row).unwrap();
        assert_eq!(
            entry.fields,
            [
                ("problem", r#""How many?""#.to_owned()),
                ("answer", r#""1200""#.to_owned()),
                ("solution", r#""She sells 2*3=6 for $1,200.""#.to_owned()),
            ]
        );
        assert_eq!(without_marks("a << b"), "a << b");
    }

    #[test]
    fn an_answer_without_a_number_is_refused() {
        for (answer, reason) in [
            ("five", "the answer has no `####`"),
            ("x #### five", "what follows `####` is no number"),
            ("x ####", "what follows `####` is no number"),
            ("x #### 1.2.3", "what follows `####` is no number"),
        ] {
            let row = Row::of(&format!(r#"{{"question": "q", "answer": "{answer}"}}"#));
            assert_eq!(read(&row).unwrap_err().reason, reason, "{answer}");
        }
    }
}
