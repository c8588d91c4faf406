//! Answers in sentences.

use super::Found;

/// What leads to an answer, in lower case.
const LEADS: [&str; 8] = [
    "answer is",
    "answer:",
    "answers are",
    "answer would be",
    "answer =",
    "answer to the question is",
    "solution is",
    "result is",
];
/// Words that only sentences have.
const SENTENCE: [&str; 31] = [
    "is",
    "are",
    "was",
    "were",
    "be",
    "equals",
    "so",
    "thus",
    "hence",
    "therefore",
    "we",
    "get",
    "find",
    "conclude",
    "since",
    "because",
    "which",
    "that",
    "answer",
    "means",
    "i",
    "it",
    "have",
    "has",
    "gives",
    "obtain",
    "then",
    "must",
    "cannot",
    "can",
    "do",
];
/// So many words around a number are a sentence, whichever they are.
const FEWEST_WORDS: usize = 4;
/// Words in front of a range.
const RANGES: [&str; 6] = ["between", "range", "ranges", "from", "to", "through"];
/// Only so much of a long text is searched for prose.
const MOST_BYTES: usize = 16_384;

/// Without the decoration of a text at its ends.
pub(super) fn trimmed(answer: &str) -> &str {
    let mut answer = answer.trim();
    loop {
        let before = answer;
        answer = answer.trim_matches(|c: char| c.is_whitespace() || c == '*' || c == '`');
        answer = answer.trim_end_matches(['.', ',', ';', ':']).trim_start_matches([':', '=']);
        if answer == before {
            return answer;
        }
    }
}

/// The answer that a text without box and marker gives.
pub(super) fn answer(text: &str) -> Option<(String, Found)> {
    let text = tail(text);
    if let Some(stated) = statement(text) {
        return Some((stated, Found::Statement));
    }
    if !is_sentence(text) {
        return Some((text.to_owned(), Found::Whole));
    }
    if let Some(formula) = last_formulas(text) {
        return Some((formula, Found::Formula));
    }
    if let Some(ending) = ending(text) {
        return Some((ending, Found::Ending));
    }
    last_number(text).map(|number| (number, Found::Number))
}

/// The end of a long text.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(MOST_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// What follows the last phrase that leads to an answer, up to the end of its sentence.
fn statement(text: &str) -> Option<String> {
    // ASCII lower case keeps every place where it is.
    let lower = text.to_ascii_lowercase();
    let place = |lead: &&str| lower.rfind(*lead).map(|at| (at, lead.len()));
    let (at, length) = LEADS.iter().filter_map(place).max()?;
    let rest = trimmed(&text[at + length..]);
    let rest = first_sentence(rest);
    if rest.is_empty() {
        return None;
    }
    if let Some(letter) = choice(rest) {
        return Some(letter.to_string());
    }
    if is_sentence(rest) {
        return last_formulas(rest).or_else(|| last_number(rest));
    }
    Some(rest.to_owned())
}

/// The letter of "B) 24" or "(C) because …", which name a choice and then say more.
fn choice(text: &str) -> Option<char> {
    let (inside, opened) = match text.strip_prefix('(') {
        Some(inside) => (inside, true),
        None => (text, false),
    };
    let mut characters = inside.chars();
    let letter = characters.next().filter(char::is_ascii_uppercase)?;
    let closed = characters.next() == Some(')');
    let rest = characters.as_str();
    let more = !opened || (rest.starts_with(' ') && is_sentence(rest));
    (closed && more).then_some(letter)
}

/// Up to the full stop that ends the sentence, or the end of the line.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    // "p.m. " goes on.
    let end = line.match_indices(". ").map(|(at, _)| at).find(|&at| !line[..at].ends_with(".m"));
    trimmed(&line[..end.unwrap_or(line.len())])
}

/// Whether a text has words that only sentences have, outside of formulas.
fn is_sentence(text: &str) -> bool {
    let plain = without_commands(text);
    let words: Vec<String> = plain
        .split(|c: char| !c.is_alphabetic() && c != '\'')
        .filter(|word| word.len() > 1)
        .map(str::to_lowercase)
        .collect();
    let many = words.len() >= FEWEST_WORDS && plain.contains(|c: char| c.is_ascii_digit());
    many || words.iter().any(|word| SENTENCE.contains(&word.as_str()))
}

/// The text without what stands in the braces of `\text` and the names of commands.
fn without_commands(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        plain.push(' ');
        let command = &rest[at + 1..];
        let length = command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len());
        let (name, behind) = command.split_at(length);
        rest = behind;
        if name.starts_with("text") || name == "mbox" || name == "mathrm" {
            let inside = behind.strip_prefix('{').and_then(|inside| inside.find('}'));
            rest = inside.map_or(behind, |end| &behind[end + 2..]);
        } else if name.is_empty() {
            let mut characters = behind.chars();
            characters.next();
            rest = characters.as_str();
        }
    }
    plain.push_str(rest);
    plain
}

/// The last formula, with those before it that only a comma or "and" parts from it.
fn last_formulas(text: &str) -> Option<String> {
    let formulas = formulas(text);
    let (last, before) = formulas.split_last()?;
    let mut all = vec![last.inside];
    let mut start = last.start;
    for formula in before.iter().rev() {
        match text[formula.end..start].trim() {
            "," | "and" | ", and" | "or" | ", or" => all.push(formula.inside),
            _ => break,
        }
        start = formula.start;
    }
    all.reverse();
    Some(all.join(", "))
}

struct Formula<'t> {
    start: usize,
    end: usize,
    inside: &'t str,
}

/// What stands between dollar signs, `\(` and `\)`, or `\[` and `\]`.
fn formulas(text: &str) -> Vec<Formula<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let delimiters = [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];
        let opened = delimiters.iter().find(|(open, _)| rest.starts_with(open));
        if rest.starts_with("\\$") {
            at += 2;
            continue;
        }
        let closed = opened.and_then(|(open, close)| {
            let inside = &rest[open.len()..];
            inside.find(close).map(|length| (open.len(), length, close.len()))
        });
        match closed {
            Some((open, length, close)) => {
                let inside = &rest[open..open + length];
                let end = at + open + length + close;
                if !inside.trim().is_empty() {
                    found.push(Formula { start: at, end, inside });
                }
                at = end;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    found
}

/// What stands behind the last "is", "are", "equals" or `=` of the last sentence, if there is
/// a number in it.
fn ending(text: &str) -> Option<String> {
    let sentence = last_sentence(text);
    let lower = sentence.to_ascii_lowercase();
    let places = [" is ", " are ", " equals ", " be ", "=", " was "];
    let place = |word: &&str| lower.rfind(*word).map(|at| at + word.len());
    let at = places.iter().filter_map(place).max()?;
    let rest = trimmed(&sentence[at..]);
    let number = rest.contains(|c: char| c.is_ascii_digit());
    (number && !is_sentence(rest)).then(|| rest.to_owned())
}

fn last_sentence(text: &str) -> &str {
    let text = trimmed(text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.rsplit(". ").next().unwrap_or(line)
}

/// The last number of a text, unless it is the end of a range.
fn last_number(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let last = (0..bytes.len()).rev().find(|&at| digit(at))?;
    let inside = |at: usize| {
        digit(at)
            || (matches!(bytes[at], b'.' | b',' | b'/') && digit(at + 1) && at > 0 && digit(at - 1))
    };
    let mut start = last;
    while start > 0 && inside(start - 1) {
        start -= 1;
    }
    if start > 0 && bytes[start - 1] == b'-' {
        let before = text[..start - 1].trim_end();
        if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        start -= 1;
    }
    let words: Vec<&str> = text[..start].split_whitespace().collect();
    let range =
        words.iter().rev().take(4).any(|word| RANGES.contains(&word.to_lowercase().as_str()));
    (!range).then(|| text[start..=last].to_owned())
}
