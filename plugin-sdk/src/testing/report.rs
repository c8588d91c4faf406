//! What the suite found out.

use std::fmt;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plugin keeps what is asked.
    Passed,
    /// It does not.
    Failed,
    /// It cannot be told, or does not apply.
    Skipped,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was checked, in a word.
    pub check: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub sentence: String,
}

/// The results of all checks of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The plugin's name.
    pub subject: String,
    /// One finding a check, in the order in which they were made.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict != Verdict::Failed)
    }

    /// The finding of one check, if it was made.
    pub fn finding(&self, check: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.check == check)
    }

    /// Panic with the whole list if a check failed: for tests.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.subject)?;
        self.findings.iter().try_for_each(|finding| write!(formatter, "\n{finding}"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Passed => "ok",
            Verdict::Failed => "FAILED",
            Verdict::Skipped => "skipped",
        };
        write!(formatter, "  {verdict:<8} {:<12} {}", self.check, self.sentence)
    }
}

/// Why a check did not pass.
pub(super) enum Objection {
    Failed(String),
    Skipped(String),
}

/// What a check returns: a sentence in either case.
pub(super) type Checked = Result<String, Objection>;

/// A finding from what a check returned.
pub(super) fn finding(check: &'static str, checked: Checked) -> Finding {
    let (verdict, sentence) = match checked {
        Ok(sentence) => (Verdict::Passed, sentence),
        Err(Objection::Failed(sentence)) => (Verdict::Failed, sentence),
        Err(Objection::Skipped(sentence)) => (Verdict::Skipped, sentence),
    };
    Finding { check, verdict, sentence }
}

/// Fail with a sentence unless something holds.
pub(super) fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Objection> {
    if holds { Ok(()) } else { Err(Objection::Failed(otherwise())) }
}

/// Skip with a sentence.
pub(super) fn skip<T>(sentence: &str) -> Result<T, Objection> {
    Err(Objection::Skipped(sentence.to_owned()))
}

impl From<crate::environment::Problem> for Objection {
    fn from(problem: crate::environment::Problem) -> Self {
        Objection::Failed(format!("there was a problem: {problem}"))
    }
}

impl From<crate::workflow::Problem> for Objection {
    fn from(problem: crate::workflow::Problem) -> Self {
        Objection::Failed(format!("there was a problem: {problem}"))
    }
}
