//! When an output is accepted: a rule, by name.
//!
//! Graders in use differ, so whose rule counts has to be said. Where a rule
//! carries another grader's name it gives that grader's verdict, its oddities
//! included; `compare/cases.rs` is a table of them. The originals compare
//! Python strings: output that is not UTF-8 is decoded lossily, except by
//! `exact` and `lines`, which compare bytes. One difference is known: digits of
//! scripts other than ASCII are text here, and numbers in Python.

mod apps;
mod call;
#[cfg(test)]
mod cases;
mod decimal;
mod fusion_oj;
mod lcb;
mod lines;
mod text;
mod tolerance;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::GradingError;

pub use call::call_matches;
pub use tolerance::Tolerance;

/// The rules, for messages.
pub(super) const RULE_NAMES: &str = "`lines`, `exact`, `tokens`, `float`, `float(rel,abs)`, `lcb`, \
     `apps`, `prime`, `fusion-oj`, `verl-sandbox`, `checker`";

/// When an output is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Rule {
    /// The same lines: white space at a line's end and empty lines at the end
    /// are forgiven, nothing else. Our own, for problems that state none.
    #[default]
    Lines,
    /// The same bytes.
    Exact,
    /// The same words between white space, whatever the lines: `test_if_eq`
    /// of PettingLLMs.
    Tokens,
    /// The same words, numbers within a tolerance. `float` alone is
    /// `float(1e-6,1e-6)`.
    Float(Tolerance),
    /// LiveCodeBench (`lcb_runner/evaluation/testing_util.py`): lines without
    /// the white space around them; a line is equal or consists of the same
    /// decimal numbers.
    Lcb,
    /// APPS (hendrycks/apps, `eval/testing_util.py`): ever more lenient
    /// attempts, at last without order, repetition and the fourth decimal.
    Apps,
    /// The copy of APPS in PRIME and verl (`reward_score/prime_code`): without
    /// the last attempts, and whole numbers exactly.
    Prime,
    /// SandboxFusion (`sandbox/utils/testing.py`): lines without case; a line
    /// may be one number within a relative 1e-5.
    FusionOj,
    /// verl on SandboxFusion (`reward_score/sandbox_fusion`): the same text
    /// but for line ends at its end.
    VerlSandbox,
    /// The problem's own checker decides.
    Checker,
}

impl Rule {
    /// Whether a program that ends itself with an exit code other than 0 is
    /// judged by what it wrote all the same. `lcb`, `apps` and `prime` run a
    /// program inside their own process and take `SystemExit` for an ordinary
    /// end; under all other rules such a program has failed.
    pub fn forgives_exit_codes(self) -> bool {
        matches!(self, Rule::Lcb | Rule::Apps | Rule::Prime)
    }
}

/// Whether the rule accepts `actual` where `expected` is the right output.
/// [`Rule::Checker`] accepts nothing here: it needs a run.
pub fn matches(rule: Rule, expected: &[u8], actual: &[u8]) -> bool {
    match rule {
        Rule::Lines => return lines::matches(expected, actual),
        Rule::Exact => return expected == actual,
        Rule::Checker => return false,
        _ => {}
    }
    let (expected, actual) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(actual));
    match rule {
        Rule::Tokens => text::words(&expected).eq(text::words(&actual)),
        Rule::Float(tolerance) => tolerance.matches(&expected, &actual),
        Rule::Lcb => lcb::matches(&expected, &actual),
        Rule::Apps => apps::matches(&expected, &actual),
        Rule::Prime => apps::matches_prime(&expected, &actual),
        Rule::FusionOj => fusion_oj::matches(&expected, &actual),
        Rule::VerlSandbox => expected.trim_end_matches('\n') == actual.trim_end_matches('\n'),
        Rule::Lines | Rule::Exact | Rule::Checker => false,
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Lines => "lines",
            Rule::Exact => "exact",
            Rule::Tokens => "tokens",
            Rule::Float(tolerance) => return write!(f, "float({tolerance})"),
            Rule::Lcb => "lcb",
            Rule::Apps => "apps",
            Rule::Prime => "prime",
            Rule::FusionOj => "fusion-oj",
            Rule::VerlSandbox => "verl-sandbox",
            Rule::Checker => "checker",
        })
    }
}

impl FromStr for Rule {
    type Err = GradingError;

    fn from_str(name: &str) -> Result<Self, GradingError> {
        Ok(match name.trim() {
            "lines" => Rule::Lines,
            "exact" => Rule::Exact,
            "tokens" => Rule::Tokens,
            "float" => Rule::Float(Tolerance::default()),
            "lcb" => Rule::Lcb,
            "apps" => Rule::Apps,
            "prime" => Rule::Prime,
            "fusion-oj" => Rule::FusionOj,
            "verl-sandbox" => Rule::VerlSandbox,
            "checker" => Rule::Checker,
            other => other
                .strip_prefix("float(")
                .and_then(|rest| rest.strip_suffix(')'))
                .and_then(|numbers| numbers.parse().ok())
                .map(Rule::Float)
                .ok_or_else(|| GradingError::UnknownRule { name: name.to_owned() })?,
        })
    }
}

impl TryFrom<String> for Rule {
    type Error = GradingError;

    fn try_from(name: String) -> Result<Self, GradingError> {
        name.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules() -> impl Strategy<Value = Rule> {
        prop::sample::select(vec![
            Rule::Lines,
            Rule::Exact,
            Rule::Tokens,
            Rule::Float(Tolerance::default()),
            Rule::Lcb,
            Rule::Apps,
            Rule::Prime,
            Rule::FusionOj,
            Rule::VerlSandbox,
        ])
    }

    proptest! {
        #[test]
        fn every_rule_accepts_the_expected_output_itself(
            text in "[ -~é\n\t]{0,40}", rule in rules(),
        ) {
            // With other line ends than \n, `prime` does not: see the table.
            prop_assert!(matches(rule, text.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn every_rule_but_exact_accepts_a_missing_line_end(text in "[a-z0-9 .\n]{0,40}[a-z]", rule in rules()) {
            prop_assume!(rule != Rule::Exact);
            let ended = format!("{text}\n");
            prop_assert!(matches(rule, ended.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn what_lines_accepts_is_accepted_by_every_lenient_rule(
            expected in "[ab1. \n]{0,12}", actual in "[ab1. \n]{0,12}",
        ) {
            if matches(Rule::Lines, expected.as_bytes(), actual.as_bytes()) {
                for rule in [Rule::Tokens, Rule::Float(Tolerance::default()), Rule::Apps] {
                    prop_assert!(matches(rule, expected.as_bytes(), actual.as_bytes()), "{rule}");
                }
            }
        }

        #[test]
        fn a_rule_is_read_as_it_is_written(rule in rules()) {
            prop_assert_eq!(rule.to_string().parse::<Rule>().unwrap(), rule);
        }
    }

    #[test]
    fn a_tolerance_can_be_named() {
        let rule: Rule = "float(1e-3, 0.5)".parse().unwrap();
        assert_eq!(rule, Rule::Float(Tolerance { relative: 1e-3, absolute: 0.5 }));
        assert_eq!(rule.to_string(), "float(0.001,0.5)");
        for wrong in ["float(1)", "float(-1,0)", "float(nan,1)", "float(1,2", "", "Lines"] {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }
}
