//! Sentences, and which part of one commits itself.

use super::formulas::formulas;
use super::prose::trimmed;

/// What leads from an answer to its reason, or to what it is not.
const REASONS: [&str; 31] = [
    " because",
    " since ",
    ", as ",
    " given that",
    " due to ",
    " considering ",
    ", for ",
    ", where ",
    ", while ",
    " whereas ",
    ", although ",
    ", but ",
    " but not ",
    ", not ",
    " and not ",
    " rather than ",
    " instead of ",
    ", which ",
    " which is ",
    ", that is ",
    " (since",
    " (because",
    " (as ",
    " (not ",
    " that are ",
    " that is ",
    " so that ",
    " as we ",
    ", making ",
    ", after ",
    " as required",
];
/// Words that begin a reason in front of what it is the reason of.
const OPENERS: [&str; 9] =
    ["because ", "since ", "as ", "if ", "when ", "given ", "for ", "although ", "while "];
/// What leads from a reason to what follows from it.
const CONCLUSIONS: [&str; 16] = [
    ", so ",
    "; so ",
    " so the ",
    ", thus ",
    "; thus ",
    ", hence ",
    "; hence ",
    ", therefore ",
    "; therefore ",
    ", giving ",
    ", we get ",
    ", which gives ",
    ", which means ",
    ", meaning ",
    ", it is ",
    " therefore ",
];
/// Abbreviations whose point ends no sentence.
const ABBREVIATIONS: [&str; 12] =
    [".m", "i.e", "e.g", "approx", "ans", "no", "vs", "eq", "fig", "dr", "mr", "mrs"];

/// The sentences of a line, each with the mark that ends it. No formula is taken apart.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let formulas = formulas(line);
    let inside =
        |at: usize| formulas.iter().any(|formula| (formula.start..formula.end).contains(&at));
    let mut found = Vec::new();
    let mut from = 0;
    for (at, mark) in line.match_indices(['.', '?', '!', ';']) {
        let behind = &line[at + 1..];
        let ends = behind.trim_start_matches(super::markdown::WEAK).starts_with(' ');
        let before = line[from..at].rsplit(' ').next().unwrap_or_default().to_lowercase();
        let abbreviated =
            mark == "." && (ABBREVIATIONS.contains(&before.as_str()) || before.ends_with(".m"));
        if ends && !abbreviated && !inside(at) {
            found.push(&line[from..=at]);
            from = at + 1;
        }
    }
    found.push(&line[from..]);
    found.retain(|sentence| !trimmed(sentence).is_empty());
    found
}

/// The part of a sentence that says what is so, without why.
pub(super) fn committed(sentence: &str) -> &str {
    without_reason(behind_conclusion(behind_opening(sentence)))
}

/// Up to the reason.
pub(super) fn without_reason(sentence: &str) -> &str {
    let lower = masked(sentence);
    let says = |end: &usize| says_something(&sentence[..*end]);
    let places = REASONS.iter().flat_map(|reason| lower.match_indices(reason));
    let end = places.map(|(at, _)| at).filter(says).min();
    &sentence[..end.unwrap_or(sentence.len())]
}

/// Behind "Because 25 = 5 * 5, ".
fn behind_opening(sentence: &str) -> &str {
    let lower = masked(sentence);
    let opened = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    if !OPENERS.iter().any(|opener| opened.starts_with(opener)) {
        return sentence;
    }
    let commas = lower.match_indices(", ").map(|(at, _)| at + 2);
    let main = commas.filter(|&at| says_something(&sentence[at..])).max();
    main.map_or(sentence, |at| &sentence[at..])
}

/// Behind the last ", so ".
fn behind_conclusion(sentence: &str) -> &str {
    let lower = masked(sentence);
    let places = CONCLUSIONS.iter().filter_map(|word| Some(lower.rfind(word)? + word.len()));
    let at = places.filter(|&at| says_something(&sentence[at..])).max();
    at.map_or(sentence, |at| &sentence[at..])
}

/// The sentence in lower case, its formulas blotted out; every place is where it was.
pub(super) fn masked(sentence: &str) -> String {
    let mut masked = sentence.to_ascii_lowercase();
    for formula in formulas(sentence) {
        let blot = "\u{1}".repeat(formula.end - formula.start);
        masked.replace_range(formula.start..formula.end, &blot);
    }
    masked
}

/// Whether there is a number, a formula or a letter by itself.
fn says_something(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit() || c == '$' || c == '\\')
        || super::amounts::in_words(text)
}
