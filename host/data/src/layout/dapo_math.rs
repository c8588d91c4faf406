//! DAPO-Math: a conversation of one message in `prompt`, in which the problem stands between two
//! paragraphs that say how to answer, and the answer in `reward_model.ground_truth`. The processed
//! copy has the problem alone.

use super::{Entry, answer_text};
use crate::refusal::Refusal;
use crate::row::{Row, unlike};
use troupe_grading::Value;

pub(super) const COLUMNS: &[&str] = &["prompt", "reward_model", "extra_info"];

/// How the paragraphs around the problem begin.
const BEFORE: &str = "Solve the following math problem";
const AFTER: &str = "Remember to put your answer on its own line";

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let prompt = row.get("prompt").ok_or_else(|| Refusal::plain("no `prompt`"))?;
    let problem = without_form(said(prompt)?.trim());
    if problem.is_empty() {
        return Err(Refusal::plain("`prompt` is empty"));
    }
    let answer = inner(row, "reward_model", "ground_truth");
    let answer = answer.ok_or_else(|| Refusal::plain("no `reward_model.ground_truth`"))?;
    let id = match inner(row, "extra_info", "index") {
        Some(Value::Str(text)) => Some(text.clone()),
        Some(Value::Int(digits)) => Some(digits.clone()),
        _ => None,
    };
    let mut entry = Entry::new(id, problem);
    entry.text("answer", Some(&answer_text("reward_model.ground_truth", answer)?));
    Ok(entry)
}

/// The last thing that the user says, or the text itself.
fn said(prompt: &Value) -> Result<&str, Refusal> {
    let messages = match prompt {
        Value::Str(text) => return Ok(text),
        Value::List(messages) => messages,
        other => return Err(unlike("prompt", "a text or a list of messages", other)),
    };
    let of_user = |message: &&Value| !matches!(field(message, "role"), Some(Value::Str(role)) if role != "user");
    let last = messages.iter().rev().find(of_user);
    match last.and_then(|message| field(message, "content")) {
        Some(Value::Str(text)) => Ok(text),
        _ => Err(Refusal::plain("no message of a user in `prompt`")),
    }
}

/// The problem, without what says in which form to answer.
fn without_form(text: &str) -> &str {
    let text = match text.strip_prefix(BEFORE).and_then(|rest| rest.split_once("\n\n")) {
        Some((_, rest)) => rest,
        None => text,
    };
    match text.rsplit_once("\n\n") {
        Some((problem, last)) if last.starts_with(AFTER) => problem.trim(),
        _ => text.trim(),
    }
}

fn inner<'r>(row: &'r Row, outer: &str, name: &str) -> Option<&'r Value> {
    row.get(outer).and_then(|value| field(value, name))
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Dict(pairs) = value else { return None };
    let named = |(key, _): &&(Value, Value)| matches!(key, Value::Str(key) if key == name);
    pairs.iter().find(named).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Vec<(&'static str, String)> {
        read(&Row::of(json)).unwrap().fields
    }

    #[test]
    fn the_problem_stands_alone_whichever_copy_it_comes_from() {
        let problem = "In a triangle,\\n\\nthe sides are $3$ and $4$.";
        let form =
            "Solve the following math problem step by step. The last line is so and so.\\n\\n";
        let after = "\\n\\nRemember to put your answer on its own line after \\\"Answer:\\\".";
        let rest = r#""reward_model": {"ground_truth": "34", "style": "rule"}, "extra_info": {"index": "9a9b"}"#;
        let message = format!(r#"[{{"content": "{form}{problem}{after}", "role": "user"}}]"#);
        for prompt in [message, format!("\"{problem}\"")] {
            let found = fields(&format!(r#"{{"prompt": {prompt}, {rest}}}"#));
            let expected = [("problem", format!("\"{problem}\"")), ("answer", "\"34\"".to_owned())];
            assert_eq!(found, expected);
        }
        let whole = format!(r#"{{"prompt": "{problem}", {rest}}}"#);
        assert_eq!(read(&Row::of(&whole)).unwrap().id.as_deref(), Some("9a9b"));
    }

    #[test]
    fn what_has_no_problem_or_answer_is_refused_with_a_reason() {
        for (json, reason) in [
            (r#"{"prompt": "p"}"#, "no `reward_model.ground_truth`"),
            (r#"{"reward_model": {"ground_truth": "1"}}"#, "no `prompt`"),
            (r#"{"prompt": 3}"#, "`prompt` is of another type"),
            (r#"{"prompt": []}"#, "no message of a user in `prompt`"),
            (
                r#"{"prompt": [{"role": "system", "content": "s"}]}"#,
                "no message of a user in `prompt`",
            ),
        ] {
            assert_eq!(read(&Row::of(json)).unwrap_err().reason, reason, "{json}");
        }
    }
}
