//! Questions of a data set: one record a line, as `host data import` writes them; and questions that
//! somebody asks.

use plugin_sdk::environment::Problem;
use serde_json::Value;
use troupe_answers::Tolerance;

use crate::digits;
use crate::question::Question;

/// Bytes of a question, and of its answer.
const LONGEST: usize = 64 << 10;

/// The question of a record.
///
/// # Errors
/// It is no record of a question with an answer.
pub fn read(entry: &str) -> Result<Question, Problem> {
    let record: Value = serde_json::from_str(entry).map_err(|error| wrong(error.to_string()))?;
    let text = |names: &[&str]| {
        let known = |value: &&Value| !value.is_null();
        let found = names.iter().find_map(|name| Some((name, record.get(name).filter(known)?)));
        match found {
            Some((_, Value::String(text))) => Ok(Some(text.clone())),
            Some((_, number @ Value::Number(_))) => Ok(Some(number.to_string())),
            Some((name, _)) => Err(wrong(format!("`{name}` is no text"))),
            None => Ok(None),
        }
    };
    let needed = |names: &[&str]| {
        let absent = || wrong(format!("it has no `{}`", names[0]));
        text(names).and_then(|found| found.ok_or_else(absent))
    };
    let (problem, answer) = (needed(&["problem", "question"])?, needed(&["answer"])?);
    let empty = |text: &str| text.trim().is_empty();
    if empty(&problem) || empty(&answer) || problem.len().max(answer.len()) > LONGEST {
        return Err(wrong("its question or answer is empty, or too long".to_owned()));
    }
    let data_set = text(&["data_set"])?.unwrap_or_default();
    let tolerance = text(&["tolerance", "error"])?.filter(|text| !empty(text));
    if let Some(tolerance) =
        tolerance.as_deref().filter(|text| Tolerance::parse_all(text).is_none())
    {
        return Err(wrong(format!("{tolerance:?} is no tolerance such as 0.01 or 1e-6")));
    }
    Ok(Question {
        text: problem,
        formula: None,
        gold: answer,
        data_set,
        tolerance,
        is_asked: false,
    })
}

/// What somebody asks, as a question.
///
/// # Errors
/// It cannot be asked: it is empty or too long, or has to be in single words and is not.
pub fn asked(question: String, in_words: bool) -> Result<Question, Problem> {
    if question.is_empty() || question.len() > LONGEST {
        return Err(Problem::task("the question is empty, or too long"));
    }
    let formula = in_words.then(|| digits::asked(&question)).transpose()?;
    Ok(Question::asked(question, formula))
}

fn wrong(reason: String) -> Problem {
    let form = r#"`{"problem": "…", "answer": "…", "data_set": "…"}`"#;
    Problem::task(format!("the record is not one like {form}: {reason}"))
}
