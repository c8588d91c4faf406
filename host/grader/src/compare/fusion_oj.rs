//! `fusion-oj`: SandboxFusion's comparison for online-judge problems.

use super::text::{float, strip};

/// As many lines, white space around the text aside; each line the same but
/// for case and white space around it, or one number each, with a difference
/// of less than 1e-5 of the expected one (of at least 1e-10).
pub(super) fn matches(expected: &str, actual: &str) -> bool {
    let expected: Vec<&str> = strip(expected).split('\n').collect();
    let actual: Vec<&str> = strip(actual).split('\n').collect();
    expected.len() == actual.len()
        && expected.iter().zip(&actual).all(|(expected, actual)| same_line(expected, actual))
}

fn same_line(expected: &str, actual: &str) -> bool {
    let (expected, actual) = (expected.to_lowercase(), actual.to_lowercase());
    if strip(&expected) == strip(&actual) {
        return true;
    }
    match (float(&expected), float(&actual)) {
        (Some(expected), Some(actual)) => {
            (actual - expected).abs() / expected.abs().max(1e-10) < 1e-5
        }
        _ => false,
    }
}
