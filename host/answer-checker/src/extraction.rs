//! Where the answer is in what a model wrote.

mod boxes;
mod prose;

use std::borrow::Cow;

/// What a text comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The answer, as it was written.
    pub answer: String,
    /// By what it was found.
    pub found: Found,
}

/// By what an answer was found. The first of them that a text has counts.
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
    /// The last formula between dollar signs.
    Formula,
    /// What the last sentence ends with, behind "is", "are", "equals" or `=`.
    Ending,
    /// The last number.
    Number,
}

/// The answer that `text` comes to. What stands before `</think>` does not count, and if the
/// last box is not closed, there is none.
///
/// ```
/// use answer_checker::{Found, extract};
///
/// let extracted = extract(r"Either \boxed{1}\text{ and }\boxed{2}, or ...").unwrap();
/// assert_eq!((extracted.answer.as_str(), extracted.found), ("1, 2", Found::Box));
/// assert_eq!(extract(r"<think> \boxed{3} </think> I cannot tell."), None);
/// assert_eq!(extract(r"It is \boxed{\frac{3}{7}"), None);
/// ```
pub fn extract(text: &str) -> Option<Extracted> {
    let text = said(text)?;
    if let Some(boxes) = boxes::last(text) {
        return boxes.map(|answer| Extracted { answer, found: Found::Box });
    }
    if let Some((_, marked)) = text.rsplit_once("####") {
        let line = marked.trim().lines().next().unwrap_or_default();
        return found(line, Found::Marker);
    }
    prose::answer(text).and_then(|(answer, by)| found(&answer, by))
}

fn found(answer: &str, found: Found) -> Option<Extracted> {
    let answer = prose::trimmed(answer);
    (!answer.is_empty()).then(|| Extracted { answer: answer.to_owned(), found })
}

/// What was said aloud: behind the last thought, without the tokens that end a turn.
fn said(text: &str) -> Option<&str> {
    let text = match text.rsplit_once("</think>") {
        Some((_, said)) => said,
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
        Some(Some(answer)) => Cow::Owned(answer),
        _ => Cow::Borrowed(gold),
    }
}

#[cfg(test)]
mod tests;
