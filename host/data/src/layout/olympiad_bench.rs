//! OlympiadBench: `final_answer` is a list of one text that may hold several
//! answers. What a judge needs beside it is kept under the publisher's names.

use super::Entry;
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] = &[
    "id",
    "subfield",
    "context",
    "question",
    "problem",
    "solution",
    "final_answer",
    "is_multiple_answer",
    "unit",
    "answer_type",
    "error",
    "modality",
    "image_1",
    "language",
    "subject",
    "question_type",
];

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let question = row.required(&["question", "problem"])?;
    let problem = match row.text("context")?.map(str::trim).filter(|context| !context.is_empty()) {
        Some(context) => format!("{context}\n\n{question}"),
        None => question.to_owned(),
    };
    let says = |name: &str, word: &str| -> Result<bool, Refusal> {
        Ok(row.text(name)?.is_some_and(|text| text.to_lowercase().contains(word)))
    };
    if says("question_type", "theorem")? {
        return Err(Refusal::plain("a proof is asked for, which has no answer"));
    }
    if says("modality", "multimodal")? || row.get("image_1").is_some() {
        return Err(Refusal::plain("the problem needs a picture"));
    }
    let answers = row.texts("final_answer")?;
    let answer = answers.join(", ");
    if answer.trim().is_empty() {
        return Err(Refusal::plain("no `final_answer`"));
    }
    let mut entry = Entry::new(row.name(&["id"])?, &problem);
    entry.text("answer", Some(answer.trim()));
    let several = row.flag("is_multiple_answer")?.unwrap_or(false) || answers.len() > 1;
    entry.json("is_multiple_answer", several.to_string());
    for name in ["answer_type", "unit", "error"] {
        // The tolerance is a text, but a reader of ours should not fail over a number.
        entry.copy(name, row, name);
    }
    entry.copy("subject", row, "subfield");
    match row.texts("solution") {
        Ok(parts) => entry.text("solution", Some(&parts.join("\n\n"))),
        Err(_) => entry.copy("solution", row, "solution"),
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(more: &str) -> Result<Entry, Refusal> {
        read(&Row::of(&format!(
            r#"{{"id": 1606, "context": "C.", "question": "Q?", "solution": ["a", "b"], "final_answer": ["$69$,$84$"], "is_multiple_answer": true, "unit": "$cm^2$", "answer_type": "Numerical", "error": "1e-1"{more}}}"#
        )))
    }

    #[test]
    fn what_the_judge_needs_is_kept() {
        let entry = entry("").unwrap();
        assert_eq!((entry.id.as_deref(), entry.problem.as_str()), (Some("1606"), "C.\n\nQ?"));
        for field in [
            ("answer", r#""$69$,$84$""#),
            ("is_multiple_answer", "true"),
            ("unit", r#""$cm^2$""#),
            ("error", r#""1e-1""#),
            ("answer_type", r#""Numerical""#),
        ] {
            assert!(entry.fields.contains(&(field.0, field.1.to_owned())), "{field:?}");
        }
    }

    #[test]
    fn what_cannot_be_judged_by_text_is_refused() {
        for (more, reason) in [
            (r#", "question_type": "Theorem proof""#, "a proof is asked for, which has no answer"),
            (r#", "modality": "Multimodal""#, "the problem needs a picture"),
            (r#", "final_answer": null"#, "no `final_answer`"),
            (r#", "final_answer": [1]"#, "`final_answer` is of another type"),
        ] {
            assert_eq!(entry(more).unwrap_err().reason, reason, "{more}");
        }
    }
}
