//! `apps` and `prime`: attempts that grow more and more lenient.

use std::collections::BTreeSet;

use super::text::{float, split_lines, strip, words};

/// The grader of APPS. The attempts, in order:
/// the text without the white space around it; the same with every line
/// stripped; the lines against the expected ones, stripped and without empty
/// ones; the same without the output's empty lines; one number a line, by
/// `numpy.allclose`; the set of the lines' sets of words; that set with all
/// words as numbers rounded to three decimals.
pub(super) fn matches(expected: &str, actual: &str) -> bool {
    let (expected_lines, actual_lines) = match compare_lines(expected, actual) {
        Attempt::Accepted => return true,
        Attempt::Undecided { expected, actual } => (expected, actual),
    };
    numbers_close(&expected_lines, &actual_lines)
        || word_sets(&expected_lines, &actual_lines)
        || rounded_sets(&expected_lines, &actual_lines).unwrap_or(false)
}

/// The grader's copy in PRIME and verl: the last two attempts of APPS are gone
/// (their result is no longer looked at), and where every line of both is a
/// whole number without a sign, closeness does not count.
pub(super) fn matches_prime(expected: &str, actual: &str) -> bool {
    match compare_lines(expected, actual) {
        Attempt::Accepted => true,
        Attempt::Undecided { expected, actual } => {
            let whole = |line: &&str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
            let all_whole = expected.iter().chain(&actual).all(whole);
            !all_whole && numbers_close(&expected, &actual)
        }
    }
}

enum Attempt<'a> {
    Accepted,
    /// Expected lines, stripped, and the output's as they are; without those
    /// that were empty before stripping.
    Undecided {
        expected: Vec<&'a str>,
        actual: Vec<&'a str>,
    },
}

fn compare_lines<'a>(expected: &'a str, actual: &'a str) -> Attempt<'a> {
    let mut lines = split_lines(actual);
    let joined = lines.join("\n");
    let stripped = lines.iter().map(|line| strip(line)).collect::<Vec<_>>().join("\n");
    if strip(&joined) == strip(expected) || strip(&stripped) == strip(expected) {
        return Attempt::Accepted;
    }
    let expected: Vec<&str> =
        expected.split('\n').filter(|line| !line.is_empty()).map(strip).collect();
    if lines == expected {
        return Attempt::Accepted;
    }
    lines.retain(|line| !line.is_empty());
    if lines == expected {
        return Attempt::Accepted;
    }
    Attempt::Undecided { expected, actual: lines }
}

/// Every line is a number, and `numpy.allclose` holds with its defaults: a
/// relative 1e-5 of the expected number plus 1e-8.
fn numbers_close(expected: &[&str], actual: &[&str]) -> bool {
    let close = |(expected, actual): (&&str, &&str)| {
        let (Some(expected), Some(actual)) = (float(expected), float(actual)) else { return false };
        expected == actual
            || expected.is_finite() && (actual - expected).abs() <= 1e-8 + 1e-5 * expected.abs()
    };
    expected.len() == actual.len() && expected.iter().zip(actual).all(close)
}

fn word_sets(expected: &[&str], actual: &[&str]) -> bool {
    let expected: BTreeSet<BTreeSet<&str>> =
        expected.iter().map(|line| words(line).collect()).collect();
    // The output's blank lines are dropped once more, the expected ones are not.
    let actual: BTreeSet<BTreeSet<&str>> = actual
        .iter()
        .map(|line| words(line).collect::<BTreeSet<_>>())
        .filter(|set| !set.is_empty())
        .collect();
    expected == actual
}

/// None if a word is not a number or is NaN, which no set finds again.
fn rounded_sets(expected: &[&str], actual: &[&str]) -> Option<bool> {
    let sets = |lines: &[&str]| {
        let set = |line: &&str| words(line).map(rounded).collect::<Option<BTreeSet<String>>>();
        lines.iter().map(set).collect::<Option<BTreeSet<_>>>()
    };
    let actual: Vec<&str> =
        actual.iter().copied().filter(|line| words(line).next().is_some()).collect();
    Some(sets(expected)? == sets(&actual)?)
}

/// The number rounded to three decimals, half to even as in Python; -0 is 0.
fn rounded(word: &str) -> Option<String> {
    let number = float(word).filter(|number| !number.is_nan())?;
    let text = format!("{number:.3}");
    Some(if text == "-0.000" { "0.000".to_owned() } else { text })
}
