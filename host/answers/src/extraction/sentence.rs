//! Sentences, and which part of one commits itself.

use super::formulas::formulas;
use super::prose::trimmed;
use super::words::{ABBREVIATIONS, CONCLUSIONS, OPENERS, REASONS, is_sentence, phrases};
use crate::judgment::check;
use crate::rules::Rules;
use crate::verdict::Verdict;

/// The sentences of a line, each with the mark that ends it. No formula is taken apart.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let formulas = formulas(line);
    let inside =
        |at: usize| formulas.iter().any(|formula| (formula.start..formula.end).contains(&at));
    let mut sentences = Vec::new();
    let mut from = 0;
    for (at, mark) in line.match_indices(['.', '?', '!', ';']) {
        let behind = &line[at + 1..];
        let ends = behind.trim_start_matches(super::markdown::WEAK).starts_with(' ');
        let before = line[from..at].rsplit(' ').next().unwrap_or_default().to_lowercase();
        let abbreviated = mark == "."
            && (phrases(ABBREVIATIONS).any(|known| known == before) || before.ends_with(".m"));
        if ends && !abbreviated && !inside(at) {
            sentences.push(&line[from..=at]);
            from = at + 1;
        }
    }
    sentences.push(&line[from..]);
    sentences.retain(|sentence| !trimmed(sentence).is_empty());
    sentences
}

/// The part of a sentence that says what is so, without why.
pub(super) fn committed(sentence: &str) -> &str {
    without_reason(behind_conclusion(behind_opening(sentence)))
}

/// Up to the reason.
pub(super) fn without_reason(sentence: &str) -> &str {
    let lower = masked(sentence);
    let says = |end: &usize| says_something(&sentence[..*end]);
    let places = phrases(REASONS).flat_map(|reason| lower.match_indices(reason));
    let places = places.map(|(at, _)| at).chain(asides(&lower)).chain(brackets(sentence, &lower));
    let end = places.filter(says).min();
    &sentence[..end.unwrap_or(sentence.len())]
}

/// Where a dash or a colon leads on to more words.
fn asides(lower: &str) -> Vec<usize> {
    let leads_on =
        |behind: &str| behind.starts_with(|c: char| c.is_alphabetic()) && is_sentence(behind);
    let marks = [" — ", "—", " – ", " - ", ": "].iter();
    let places = marks.flat_map(|mark| lower.match_indices(mark));
    let places = places.filter(|(at, mark)| leads_on(&lower[at + mark.len()..]));
    let equations = lower.match_indices(" as ").filter(|(at, _)| lower[*at..].contains('='));
    places.chain(equations).map(|(at, _)| at).collect()
}

/// Where a bracket begins that holds words, or says once more what stands before it.
fn brackets<'t>(sentence: &'t str, lower: &'t str) -> impl Iterator<Item = usize> {
    lower.match_indices(" (").map(|(at, _)| at).filter(|&at| {
        let inside = lower[at + 2..].split(')').next().unwrap_or_default();
        let words = inside.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2);
        let words: Vec<&str> = words.collect();
        let before = sentence[..at].rsplit(' ').next().unwrap_or_default();
        let again = || check(before, inside, &Rules::default()) == Verdict::Correct;
        !matches!(words.as_slice(), ["mod"] | ["negative"]) && (!words.is_empty() || again())
    })
}

/// What a sentence adds to what it committed itself to, if that is said to be the same, or
/// stands against it: ", which is $2.50", ", but 6 works as well".
pub(super) fn addition(sentence: &str) -> Option<&str> {
    let lower = masked(sentence);
    let leads = [
        ", of which ",
        ", which is ",
        " which is ",
        ", which equals ",
        ", but ",
        ", i.e. ",
        ", that is, ",
    ];
    let place = |lead: &&str| lower.rfind(*lead).map(|at| at + lead.len());
    leads.iter().filter_map(place).max().map(|at| &sentence[at..])
}

/// Behind "Because 25 = 5 * 5, ".
fn behind_opening(sentence: &str) -> &str {
    let lower = masked(sentence);
    let opened = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    if !phrases(OPENERS).any(|opener| opened.starts_with(opener)) {
        return sentence;
    }
    let commas = lower.match_indices(", ").map(|(at, _)| at + 2);
    let main = commas.filter(|&at| says_something(&sentence[at..])).max();
    main.map_or(sentence, |at| &sentence[at..])
}

/// Behind the last ", so ".
fn behind_conclusion(sentence: &str) -> &str {
    let lower = masked(sentence);
    let places = phrases(CONCLUSIONS).filter_map(|word| Some(lower.rfind(word)? + word.len()));
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
