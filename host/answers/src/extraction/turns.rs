//! Words around a number that say that it is another one, or not the answer.

use super::markdown::{STRONG, WEAK};
use super::words::{NEGATIONS, PARTS, SPOILERS, TURNS, WEAK_WORDS, among, phrases};

/// So many words in front of a number say what it is.
pub(super) const MOST_WORDS: usize = 4;

/// The last words before a number, back to what parts clauses or the number before it.
pub(super) fn words_before(before: &str) -> Vec<String> {
    let clause = before.rsplit([',', ';', ':', '(', '.']).next().unwrap_or(before);
    let words = clause.split(|c: char| c.is_whitespace() || matches!(c, STRONG | WEAK));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words[words.len().saturating_sub(MOST_WORDS)..].to_vec()
}

pub(super) fn ends_in_number(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit())
}

/// Whether words in front of a number say that it is another one, or not this one.
pub(super) fn is_turned(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let negated = words.iter().rposition(|word| among(NEGATIONS, word));
    if negated.is_some_and(|at| words[at + 1..].iter().all(|word| among(WEAK_WORDS, word))) {
        return true;
    }
    // What stands in front of "is" is said of something else.
    let copula = words.iter().rposition(|word| among("is are was were be equals gives", word));
    let near = &words[copula.map_or(0, |at| at + 1)..];
    let number = near.iter().rposition(|word| ends_in_number(word));
    is_bound(near) || near[number.map_or(0, |at| at + 1)..].iter().any(|word| among(TURNS, word))
}

/// `3-5` and `3 – 5`: from one to the other.
pub(super) fn is_range(text: &str) -> bool {
    let body = text.trim_start_matches(['-', '−', '–']);
    !text.contains('=')
        && body.match_indices(['-', '–', '−']).any(|(at, _)| {
            let before = body[..at].trim_end();
            before.ends_with(|c: char| c.is_ascii_digit() || c == '%')
        })
        && !body.contains(['+', '*', '×', '/', '^'])
}

/// Whether words in front of a number make it a bound: "up to", "at least", "the square of".
fn is_bound(words: &[&str]) -> bool {
    let [.., before, last] = words else {
        return words.last().is_some_and(|last| matches!(*last, "over" | "from" | "through"));
    };
    match *last {
        "over" | "from" | "through" => true,
        "least" | "most" => *before == "at",
        "to" => *before == "up" || words.contains(&"from") || ends_in_number(before),
        "of" => among(PARTS, before),
        _ => false,
    }
}

/// Whether what follows says that the number is not the answer: "is wrong", "does not work".
pub(super) fn is_refused(behind: &str) -> bool {
    let clause = behind.split([',', ';', ':']).next().unwrap_or_default().to_ascii_lowercase();
    let clause = clause.trim_start_matches(|c: char| !c.is_alphanumeric());
    [
        "is not",
        "isn't",
        "does not",
        "doesn't",
        "is wrong",
        "is incorrect",
        "fails",
        "is too",
        "cannot",
        "can't",
        "would be wrong",
        "was my",
        "was a",
        "is excluded",
        "is extraneous",
        "is rejected",
        "is invalid",
        "is discarded",
        "is impossible",
        "are not",
        "do not",
    ]
    .iter()
    .any(|refusal| clause.starts_with(refusal))
}

/// Whether words behind a number make another one of it.
pub(super) fn spoils(behind: &str) -> bool {
    let lower = behind.get(..24).unwrap_or(behind).to_lowercase();
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '$');
    let part = lower.strip_prefix("and ").unwrap_or_default();
    let range = lower.strip_prefix("to ").or_else(|| lower.strip_prefix("times "));
    phrases(SPOILERS).any(|spoiler| lower.starts_with(spoiler))
        || ["a half", "a quarter", "a third", "one half", "two thirds"]
            .iter()
            .any(|half| part.starts_with(half))
        || range.is_some_and(|behind| number(behind.trim_start()))
}
