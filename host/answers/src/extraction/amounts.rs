//! The numbers and formulas of a clause, each with its sign, its currency and its unit.

use super::Found;
use super::formulas::formulas;
use super::markdown::{STRONG, WEAK};
use super::turns::{
    MOST_WORDS, ends_in_number, is_range, is_refused, is_turned, spoils, words_before,
};
use super::words::{COPULAS, FILLERS, PREPOSITIONS, STOPS, among, is_sentence};
use crate::judgment::check;
use crate::lexer::vulgar;
use crate::lexicon;
use crate::rules::Rules;
use crate::verdict::Verdict;

/// A number or formula of a clause.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    /// Where it begins.
    start: usize,
    /// Behind its last character, its unit left aside.
    end: usize,
    /// It as an answer, with its unit.
    pub text: String,
    /// The unit, as it was written.
    unit: String,
    strong: bool,
    /// Whether "is" or the like stands in front of it.
    after_copula: bool,
    /// Whether the words around it say that it is not the answer.
    turned: bool,
    formula: bool,
    /// Whether it is part of a phrase beside what is said: "in 2 hours".
    aside: bool,
}

/// Bytes of a sum in a sentence.
const MOST_RUN: usize = 400;
/// So many bytes around a number say what it is.
const MOST_NEAR: usize = 160;
/// Bytes of a unit; what is longer is prose.
const MOST_UNIT: usize = 40;

/// The numbers of a clause, read as answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The clause has no number.
    Nothing,
    /// Its number is no answer: "more than 5", "not 5".
    NoAnswer,
    /// These, each a possible reading.
    Answers(Vec<String>, Found),
}

/// The answers that a clause commits itself to.
pub(super) fn reading(clause: &str) -> Reading {
    let all = amounts(clause);
    let strong: Vec<&Amount> = all.iter().filter(|amount| amount.strong).collect();
    let chosen = match strong.is_empty() {
        true => behind_copula(clause, all.iter().collect()),
        false => behind_copula(clause, strong),
    };
    let (Some(first), Some(last)) = (chosen.first(), chosen.last()) else {
        return Reading::Nothing;
    };
    let certain = first.after_copula || first.strong;
    // Behind "is", the first one is what is; of formulas it is the last, and else any may be.
    let picked = if certain { leading(clause, &chosen) } else { joined(clause, &chosen) };
    if picked.iter().any(|amount| amount.turned) {
        return Reading::NoAnswer;
    }
    let found = match last {
        _ if picked.iter().all(|amount| amount.formula) => Found::Formula,
        _ if certain => Found::Ending,
        _ => Found::Number,
    };
    let mut answers = vec![listed(&picked)];
    if !certain && !last.formula && picked.len() < chosen.len() {
        answers.extend(
            chosen.iter().filter(|amount| !amount.turned).map(|amount| amount.text.clone()),
        );
    }
    Reading::Answers(answers, found)
}

/// What a clause begins with, if that is a number or formula and may be the answer.
pub(super) fn first(clause: &str) -> Option<String> {
    let amounts = amounts(clause);
    let first = amounts.first().filter(|first| !first.turned)?;
    let near = clause[..first.start].split_whitespace().count() < MOST_WORDS;
    near.then(|| first.text.clone())
}

/// From the first amount of those that the last "is" stands in front of; all, if none does.
fn behind_copula<'a>(clause: &str, all: Vec<&'a Amount>) -> Vec<&'a Amount> {
    let Some(last) = all.iter().rposition(|amount| amount.after_copula) else {
        let main: Vec<&Amount> = all.iter().copied().filter(|amount| !amount.aside).collect();
        return if main.is_empty() { all } else { main };
    };
    let first = last + 1 - joined(clause, &all[..=last]).len();
    all[first..].to_vec()
}

/// Several amounts as one answer: a list, or one of them if they say the same.
fn listed(amounts: &[&Amount]) -> String {
    let texts: Vec<&str> = amounts.iter().map(|amount| amount.text.as_str()).collect();
    let same = |other: &&str| check(texts[0], other, &Rules::default()) == Verdict::Correct;
    match texts.as_slice() {
        [first, rest @ ..] if rest.len() < 3 && rest.iter().all(same) => (*first).to_owned(),
        _ => texts.join(", "),
    }
}

/// The last amounts, as far as only a comma or "and" parts them.
fn joined<'a>(clause: &str, amounts: &[&'a Amount]) -> Vec<&'a Amount> {
    let mut run: Vec<&Amount> = amounts.last().copied().into_iter().collect();
    for pair in amounts.windows(2).rev() {
        if !joins(pair[0], &clause[pair[0].end..pair[1].start]) {
            break;
        }
        run.insert(0, pair[0]);
    }
    run
}

/// The first amounts, as far as only a comma or "and" parts them.
fn leading<'a>(clause: &str, amounts: &[&'a Amount]) -> Vec<&'a Amount> {
    let mut run: Vec<&Amount> = amounts.first().copied().into_iter().collect();
    for pair in amounts.windows(2) {
        if !joins(pair[0], &clause[pair[0].end..pair[1].start]) {
            break;
        }
        run.push(pair[1]);
    }
    run
}

fn joins(first: &Amount, between: &str) -> bool {
    let between: String = between.chars().filter(|c| !matches!(*c, STRONG | WEAK)).collect();
    let between = between.trim_start();
    let between = between.strip_prefix(first.unit.trim()).unwrap_or(between);
    matches!(between.trim(), "," | "and" | ", and" | "or" | ", or" | ";" | "&")
}

fn amounts(clause: &str) -> Vec<Amount> {
    let mut amounts: Vec<Amount> = Vec::new();
    let formulas = formulas(clause);
    let mut at = 0;
    while at < clause.len() {
        if let Some(formula) = formulas.iter().find(|formula| formula.start == at) {
            amounts.push(amount(clause, (at, formula.end), formula.inside.trim(), true));
            at = formula.end;
            continue;
        }
        let limit =
            formulas.iter().find(|formula| formula.start > at).map_or(clause.len(), |f| f.start);
        match run(clause, at, limit) {
            Some((start, end)) => {
                amounts.push(amount(clause, (start, end), &clause[start..end], false));
                at = amounts.last().map_or(end, |amount| amount.end);
            }
            None => at += clause[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    amounts
}

/// The numbers and signs that begin at `start`, if a number is among them.
fn run(clause: &str, start: usize, limit: usize) -> Option<(usize, usize)> {
    let rest = boundary(clause, start, limit.min(start + MOST_RUN));
    let first = rest.chars().next()?;
    let before = clause[..start].chars().next_back();
    let joined = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '\''));
    let sign = matches!(first, '-' | '−' | '–' | '±' | '+' | '=' | '.' | '(' | '√')
        || lexicon::currency(first).is_some();
    let opens = first.is_ascii_digit()
        || vulgar(first).is_some()
        || (sign && !joined)
        || rest.starts_with("\\$");
    if !opens || (first.is_ascii_digit() && before.is_some_and(char::is_alphabetic)) {
        return None;
    }
    let part = |c: char| {
        c.is_ascii_digit()
            || vulgar(c).is_some()
            || lexicon::currency(c).is_some()
            || " .,/*×·÷+-−–±=^()%:\\²³√!".contains(c)
    };
    let length = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
    let mut end = start + length;
    // A letter right after a digit belongs to it: `3x`, `2i`.
    let text = clause[start..end]
        .trim_end_matches([' ', '.', ',', ':', '(', '-', '–', '+', '=', '\\', '!', '*']);
    end = start + text.len();
    let open = text.matches('(').count();
    let close = text.matches(')').count();
    if close > open {
        end -= text.len() - text.trim_end_matches(')').len();
    }
    clause[start..end]
        .contains(|c: char| c.is_ascii_digit() || vulgar(c).is_some())
        .then_some((start, end))
}

fn amount(clause: &str, (start, end): (usize, usize), written: &str, formula: bool) -> Amount {
    let before = &clause[..start];
    let mut text = exact(written.trim()).to_owned();
    let share = share(clause, end).filter(|_| !formula);
    let end = share.map_or(end, |(whole, end)| {
        text = format!("{text}/{whole}");
        end
    });
    let behind = boundary(clause, end, end + MOST_NEAR);
    let mut turned = !formula && is_range(&text);
    if !formula && let Some((_, value)) = text.rsplit_once('=') {
        text = value.trim().to_owned();
    }
    let words = words_before(boundary(clause, start.saturating_sub(MOST_NEAR), start));
    let last = words.last().map(String::as_str).unwrap_or_default();
    if matches!(last, "minus" | "negative") && !formula {
        text.insert(0, '-');
        turned |= words.len() > 1 && ends_in_number(&words[words.len() - 2]);
    }
    if !formula && let Some(name) = named(before) {
        text = format!("{name} = {text}");
    }
    let money =
        text.trim_start_matches(['-', '−', '\\']).starts_with(|c| lexicon::currency(c).is_some());
    let (unit, spoiled) = tail(before, behind, formula || money);
    text.push_str(&unit);
    let spoken = &words[..words.len() - usize::from(matches!(last, "minus" | "negative"))];
    turned |= spoiled || is_turned(spoken) || is_refused(behind);
    turned |= !formula && before.ends_with(['~', '≈', '<', '>', '≤', '≥', '≠', '|']);
    let equated = !formula && (written.contains('=') || before.trim_end().ends_with('='));
    let left = ["remain", "are left", "is left", "left"];
    let stays = behind.trim_start_matches([' ', WEAK]);
    let stays = left.iter().any(|word| stays.starts_with(word));
    let after_copula = among(COPULAS, last) || equated || stays;
    let strong = before.rfind(STRONG) > before.rfind(WEAK);
    let near = &words[words.len().saturating_sub(2)..];
    let aside = near.iter().any(|word| among(PREPOSITIONS, word)) && !after_copula;
    Amount { start, end, text, unit, strong, after_copula, turned, formula, aside }
}

/// The text between two places; the outer one is moved to the start of a character.
fn boundary(text: &str, mut from: usize, to: usize) -> &str {
    let mut to = to.min(text.len());
    while !text.is_char_boundary(from) {
        from += 1;
    }
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    &text[from..to]
}

/// Without what it is about: `\sqrt{3} \approx 1.73`.
pub(super) fn exact(formula: &str) -> &str {
    let about = ["\\approx", "≈"].iter().filter_map(|sign| formula.find(sign)).min();
    let before = about.map(|at| formula[..at].trim_end());
    before.filter(|before| before.contains(|c: char| c.is_ascii_digit())).unwrap_or(formula)
}

/// Of "1 in 4" and "3 out of 4" in a sentence on chances, the second number and where it ends.
fn share(clause: &str, end: usize) -> Option<(&str, usize)> {
    let lower = clause.to_ascii_lowercase();
    ["probability", "chance", "odds", "likelihood"].iter().find(|word| lower.contains(**word))?;
    let behind =
        clause[end..].strip_prefix(" in ").or_else(|| clause[end..].strip_prefix(" out of "))?;
    let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let start = clause.len() - behind.len();
    (digits > 0).then(|| (&behind[..digits], start + digits))
}

/// The name that is said to be what follows: `x = `.
fn named(before: &str) -> Option<&str> {
    let name = before.trim_end().strip_suffix('=')?.trim_end();
    let start = name.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let name = name.get(start..)?;
    (name.len() == 1 && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

/// The unit behind a number; whether what stands there makes it another one: "and a half".
fn tail(before: &str, behind: &str, known_only: bool) -> (String, bool) {
    let clean: String = behind.chars().filter(|c| !matches!(*c, STRONG | WEAK)).collect();
    if let Some(sign) = ["\\%", "%", "°"].iter().find(|sign| clean.starts_with(**sign)) {
        return ((*sign).to_owned(), false);
    }
    let quoted = before.ends_with(['\'', '"']);
    if let Some(minutes) = clean.chars().next().filter(|c| "'′″".contains(*c) && !quoted) {
        return (minutes.to_string(), false);
    }
    let glued = clean.len() - clean.trim_start_matches(char::is_alphanumeric).len();
    let mut unit = clean[..glued].to_owned();
    let mut rest = clean[glued..].trim_start();
    if glued > 0 && !clean[glued..].starts_with([' ', '/']) {
        return (unit, false);
    }
    while !spoils(rest) && unit.len() < MOST_UNIT {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        let lower = bare.to_lowercase();
        let letters = bare.chars().all(|c| c.is_alphabetic() || matches!(c, '/' | '²' | '³'));
        let rate = lower == "per" && !unit.is_empty() && !known_only;
        if bare.is_empty() || !letters || (among(STOPS, &lower) && !rate) {
            return (unit, false);
        }
        let known = lexicon::unit(bare).is_some() || lexicon::magnitude(bare).is_some();
        let filler = among(FILLERS, &lower) && unit.is_empty();
        if known_only && !known && lower != "percent" && !filler {
            return (unit, false);
        }
        if !filler {
            unit.push(' ');
            unit.push_str(bare);
        }
        if bare.len() < word.len() {
            return (unit, false);
        }
        rest = rest[word.len()..].trim_start();
    }
    let spoiled = spoils(rest);
    (unit, spoiled)
}

/// The only number that a clause says in words, with what it counts: "one million".
pub(super) fn spelled(clause: &str) -> Option<String> {
    let words: Vec<&str> = clause.split(|c: char| !c.is_alphabetic()).collect();
    let part = |word: &str| lexicon::number(word).is_some() || lexicon::magnitude(word).is_some();
    let mut runs = words.split(|word| !part(word)).filter(|run| in_words(&run.join(" ")));
    let only = runs.next().filter(|_| in_words(clause))?;
    let turned = super::turns::is_turned(&words_before(&clause[..clause.find(only[0])?]));
    (runs.next().is_none() && !turned).then(|| only.join(" "))
}

/// Whether a clause says a number in words; a magnitude makes one of "one".
pub(super) fn in_words(clause: &str) -> bool {
    clause.split(|c: char| !c.is_alphabetic()).any(|word| {
        lexicon::number(word).is_some_and(|number| number != 1)
            || lexicon::magnitude(word).is_some()
    })
}

/// What stands behind the last "is" or `=` of a clause, if it is algebra and no sentence.
pub(super) fn algebra(clause: &str) -> Option<String> {
    let lower = clause.to_ascii_lowercase();
    let places = [" is ", " are ", " equals ", " be ", " was ", " get "];
    let at = places.iter().filter_map(|word| Some(lower.rfind(word)? + word.len())).max();
    let rest: String =
        clause[at.unwrap_or(0)..].chars().filter(|c| !matches!(*c, STRONG | WEAK)).collect();
    let rest = super::prose::trimmed(&rest).to_owned();
    let mixed = rest
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic());
    let symbols = rest.contains(['\\', '^', '√', '=', '(', '{']) || mixed;
    let number = rest.contains(|c: char| c.is_ascii_digit());
    let words = rest.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 3).count();
    (at.is_some() && symbols && number && words == 0 && !is_sentence(&rest) && !rest.contains('$'))
        .then_some(rest)
}
