//! `lcb`: LiveCodeBench's comparison of standard output.

use super::decimal::Decimal;
use super::text::{strip, words};

/// As many lines, white space around the text and around each line aside; each
/// line the same, or the same decimal numbers without any tolerance.
pub(super) fn matches(expected: &str, actual: &str) -> bool {
    let expected: Vec<&str> = strip(expected).split('\n').map(strip).collect();
    let actual: Vec<&str> = strip(actual).split('\n').map(strip).collect();
    expected.len() == actual.len()
        && expected.iter().zip(&actual).all(|(expected, actual)| {
            expected == actual || same_numbers(expected, actual).unwrap_or(false)
        })
}

/// None if a word of either line is not a number.
fn same_numbers(expected: &str, actual: &str) -> Option<bool> {
    let numbers = |line| words(line).map(Decimal::parse).collect::<Option<Vec<_>>>();
    let (expected, actual) = (numbers(expected)?, numbers(actual)?);
    Some(expected.len() == actual.len() && expected.iter().zip(&actual).all(|(a, b)| a.equals(b)))
}
