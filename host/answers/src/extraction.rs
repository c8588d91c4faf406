//! Where the answer is in what a model wrote.

mod amounts;
mod boxes;
mod formulas;
mod markdown;
mod marker;
mod prose;
mod sentence;
mod turns;
mod words;

use std::borrow::Cow;

/// An answer found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The answer, as it was written.
    pub answer: String,
    /// The rule by which it was found.
    pub found: Found,
    /// Other readings of its sentence, as "54 of 45". An answer is right if each reading is.
    pub others: Vec<String>,
}

/// The rule by which an answer was found. The first that applies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The last `\boxed{…}`, or the last ones with commas or "and" between them.
    Box,
    /// What stands behind the last `####`.
    Marker,
    /// What the last "the answer is", "Answer:" or the like says.
    Statement,
    /// The text is nothing but an answer.
    Whole,
    /// The last formula of the last sentence that has a number or formula.
    Formula,
    /// What stands behind "is", "makes", `=` or the like in the last sentence.
    Ending,
    /// The last number of the last sentence that has one.
    Number,
}

impl Found {
    /// The rule's name.
    pub fn word(self) -> &'static str {
        match self {
            Found::Box => "box",
            Found::Marker => "marker",
            Found::Statement => "statement",
            Found::Whole => "whole",
            Found::Formula => "formula",
            Found::Ending => "ending",
            Found::Number => "number",
        }
    }
}

/// The final answer in `text`. Text before `</think>`, struck-out text and lines with ❌ do not
/// count, and there is no answer if the last box is not closed.
///
/// ```
/// use troupe_answers::{Found, extract};
///
/// let extracted = extract(r"Either \boxed{1}\text{ and }\boxed{2}, or ...").unwrap();
/// assert_eq!((extracted.answer.as_str(), extracted.found), ("1, 2", Found::Box));
/// assert_eq!(extract(r"<think> \boxed{3} </think> I cannot tell."), None);
/// assert_eq!(extract(r"It is \boxed{\frac{3}{7}"), None);
/// ```
pub fn extract(text: &str) -> Option<Extracted> {
    let text = spoken(text)?;
    let boxed = match boxes::last(&markdown::standing(text)) {
        boxes::Last::Answer(answer) => {
            return extracted(vec![boxes::without_lead(&answer).to_owned()], Found::Box);
        }
        boxes::Last::Open => return None,
        boxes::Last::None(text) => text,
    };
    if let Some(marked) = marker::last(&boxed) {
        return extracted(vec![marked.to_owned()], Found::Marker);
    }
    prose::answer(&boxed).and_then(|prose| extracted(prose.answers, prose.found))
}

fn extracted(answers: Vec<String>, found: Found) -> Option<Extracted> {
    let plain = |answer: String| match found {
        Found::Box => answer,
        _ => prose::trimmed(&answer).to_owned(),
    };
    let mut answers = answers.into_iter().map(plain);
    let answer = answers.next().filter(|answer| found == Found::Box || !answer.is_empty())?;
    Some(Extracted { answer, found, others: answers.collect() })
}

/// The text after the last thought, without the tokens that end a turn.
fn spoken(text: &str) -> Option<&str> {
    let text = match text.rsplit_once("</think>") {
        Some((_, spoken)) => spoken,
        None if text.contains("<think>") => return None,
        None => text,
    };
    let mut text = text.trim();
    loop {
        let ends = ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "</s>", "<eos>"];
        match ends.iter().find_map(|end| text.strip_suffix(end)) {
            Some(rest) => text = rest.trim_end(),
            None => return Some(text),
        }
    }
}

/// A gold without what its data set wraps it in: worked text before `####`, a box.
pub(crate) fn unwrapped(gold: &str) -> Cow<'_, str> {
    let gold = gold.trim();
    if let Some((_, marked)) = gold.rsplit_once("####") {
        return Cow::Borrowed(marked.trim());
    }
    match boxes::last(gold) {
        boxes::Last::Answer(answer) => Cow::Owned(answer),
        _ => Cow::Borrowed(gold),
    }
}

#[cfg(test)]
mod tests;
