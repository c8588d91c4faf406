//! What each rule says to what: the table that keeps them honest.
//!
//! The verdicts under another grader's name were obtained from the logic of
//! that grader, in Python with NumPy, not from this crate.

use super::{Rule, Tolerance, matches};

/// Expected, written, and whether the rules accept, in the order of the
/// columns: lines, exact, tokens, float, lcb, apps, prime, fusion-oj,
/// verl-sandbox.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    //                                l e t f l a p f v
    // Line ends and white space.
    ("1\n", "1\n", "Y Y Y Y Y Y Y Y Y"),
    ("1\n", "1", "Y n Y Y Y Y Y Y Y"),
    ("1\n", "1\n\n\n", "Y n Y Y Y Y Y Y Y"),
    ("1\n", "1 \n", "Y n Y Y Y Y Y Y n"),
    ("1\n", " 1\n", "n n Y Y Y Y Y Y n"),
    ("1\n", "\n1\n", "n n Y Y Y Y Y Y n"),
    ("1 2\n", "1  2\n", "n n Y Y Y Y n n n"),
    ("1 2\n", "1\t2\n", "n n Y Y Y Y n n n"),
    ("1\n2\n", "1\r\n2\r\n", "Y n Y Y Y Y Y Y n"),
    ("1\n2\n", "1\r2\r", "n n Y Y n Y Y n n"),
    ("1\n2\n", "1\n\n2\n", "n n Y Y n Y Y n n"),
    ("1\n\n2\n", "1\n2\n", "n n Y Y n Y Y n n"),
    ("1\n2\n", "1 2\n", "n n Y Y n n n n n"),
    ("1 2\n", "1\n2\n", "n n Y Y n n n n n"),
    ("a\n b\n", "a\nb\n", "n n Y Y Y Y Y Y n"),
    ("a\n", "a\u{b}", "n n Y Y Y Y Y Y n"),
    ("a\n", "a\u{1f}", "n n Y Y Y Y Y Y n"),
    ("a b\n", "a\u{a0}b\n", "n n Y Y n Y n n n"),
    ("a\n", "\u{feff}a\n", "n n n n n n n n n"),
    // Nothing at all.
    ("", "", "Y Y Y Y Y Y Y Y Y"),
    ("", "\n", "Y n Y Y Y Y Y Y Y"),
    ("", " \n \n", "Y n Y Y Y Y Y Y n"),
    ("", "0\n", "n n n n n n n n n"),
    ("0\n", "", "n n n n n n n n n"),
    ("1\n2\n", "1\n", "n n n n n n n n n"),
    // Letters and case.
    ("YES\n", "YES\n", "Y Y Y Y Y Y Y Y Y"),
    ("YES\n", "Yes\n", "n n n n n n n Y n"),
    ("yes no\n", "YES NO\n", "n n n n n n n Y n"),
    ("YES\n", "NO\n", "n n n n n n n n n"),
    ("straße\n", "STRASSE\n", "n n n n n n n n n"),
    ("é\n", "e\u{301}\n", "n n n n n n n n n"),
    ("True\n", "1\n", "n n n n n n n n n"),
    // Notations of one number.
    ("1.0\n", "1\n", "n n n Y Y Y Y Y n"),
    ("100\n", "1E2\n", "n n n Y Y Y Y Y n"),
    ("0.5\n", ".5\n", "n n n Y Y Y Y Y n"),
    ("1000\n", "1_000\n", "n n n Y Y Y Y Y n"),
    ("10\n", "1__0\n", "n n n n Y n n n n"),
    ("0\n", "-0\n", "n n n Y Y Y Y Y n"),
    ("5\n", "+5\n", "n n n Y Y Y Y Y n"),
    ("5\n", "05\n", "n n n Y Y Y n Y n"),
    ("1.0 2.0\n", "1 2\n", "n n n Y Y Y n n n"),
    ("x 1.0\n", "x 1\n", "n n n Y n n n n n"),
    ("inf\n", "Infinity\n", "n n n n Y Y Y n n"),
    ("nan\n", "NaN\n", "n n n n n n n Y n"),
    ("nan\n", "nan\n", "Y Y Y Y Y Y Y Y Y"),
    ("10\n", "0xA\n", "n n n n n n n n n"),
    ("1e400\n", "1e401\n", "n n n n n Y Y n n"),
    // Numbers that are close.
    ("0.3333333333\n", "0.3333333334\n", "n n n Y n Y Y Y n"),
    ("0.333333\n", "0.333334\n", "n n n n n Y Y Y n"),
    ("0.33333\n", "0.33334\n", "n n n n n Y n n n"),
    ("0.333\n", "0.3333\n", "n n n n n Y n n n"),
    ("0.001\n", "0.0014\n", "n n n n n Y n n n"),
    ("0.001\n", "0.0016\n", "n n n n n n n n n"),
    ("0.000000001\n", "0.000000002\n", "n n n Y n Y Y n n"),
    ("0\n", "0.000000001\n", "n n n Y n Y Y n n"),
    ("0\n", "0.0001\n", "n n n n n Y n n n"),
    ("0.0001\n", "-0.0001\n", "n n n n n Y n n n"),
    ("1000000\n", "1000001\n", "n n n Y n Y n Y n"),
    ("50000000000000000\n", "50000000000000001\n", "n n n Y n Y n Y n"),
    ("-7000000\n", "-7000001\n", "n n n Y n Y Y Y n"),
    ("1.5 2.5\n", "1.5000001 2.5\n", "n n n Y n Y n n n"),
    ("x 1.5\n", "x 1.5000001\n", "n n n Y n n n n n"),
    ("1000000.0\n", "1000000.9\n", "n n n Y n Y Y Y n"),
    // Order, repetition, several answers.
    ("1 2 3\n", "3 2 1\n", "n n n n n Y n n n"),
    ("1\n2\n", "2\n1\n", "n n n n n Y n n n"),
    ("1 1 2\n", "1 2\n", "n n n n n Y n n n"),
    ("1\n1\n2\n", "1\n2\n", "n n n n n Y n n n"),
    ("a b\nc\n", "c\nb a\n", "n n n n n Y n n n"),
    ("b a\n", " \na b\n", "n n n n n Y n n n"),
    ("a b\nc\n", "a\nb c\n", "n n Y Y n n n n n"),
    ("1\n", "1\n2\n", "n n n n n n n n n"),
    ("1\n", "1 1 1\n", "n n n n n Y n n n"),
    ("3\n1 2\n", "3.0\n2.0004 1\n", "n n n n n Y n n n"),
    (" \n1\n", "1\n\n", "n n Y Y Y Y Y Y n"),
    // Bytes.
    ("a\u{b}b\n", "a\u{b}b\n", "Y Y Y Y Y n n Y Y"),
    ("a\rb\n", "a\rb\n", "Y Y Y Y Y n n Y Y"),
    ("1\u{b}\n", "1\n", "n n Y Y Y Y Y Y n"),
    ("a\n", "a\0\n", "n n n n n n n n n"),
    ("a\n", "\0a\n", "n n n n n n n n n"),
    ("a\0b\n", "a\0b\n", "Y Y Y Y Y Y Y Y Y"),
    ("1\0\n", "1\n", "n n n n n n n n n"),
    ("a,b\n", "a, b\n", "n n n n n n n n n"),
    ("1\u{2028} 2\n", "1\n2\n", "n n Y Y n n n n n"),
];

const COLUMNS: [Rule; 9] = [
    Rule::Lines,
    Rule::Exact,
    Rule::Tokens,
    Rule::Float(Tolerance { relative: 1e-6, absolute: 1e-6 }),
    Rule::Lcb,
    Rule::Apps,
    Rule::Prime,
    Rule::FusionOj,
    Rule::VerlSandbox,
];

#[test]
fn every_rule_gives_the_verdict_of_its_original() {
    for (expected, actual, verdicts) in CASES {
        for (rule, verdict) in COLUMNS.into_iter().zip(verdicts.split(' ')) {
            let accepted = matches(rule, expected.as_bytes(), actual.as_bytes());
            assert_eq!(
                accepted,
                verdict == "Y",
                "{rule}: {expected:?} expected, {actual:?} written"
            );
        }
    }
}

#[test]
fn output_that_is_not_text_is_decoded_lossily_but_by_the_rules_on_bytes() {
    let (left, right) = (b"a\xff\n".as_slice(), b"a\xfe\n".as_slice());
    assert!(matches(Rule::Tokens, left, right));
    assert!(matches(Rule::Lcb, left, right));
    assert!(!matches(Rule::Lines, left, right));
    assert!(!matches(Rule::Exact, left, right));
}

#[test]
fn a_checker_accepts_nothing_by_comparison() {
    assert!(!matches(Rule::Checker, b"1", b"1"));
}
