//! What the checker says.

use std::fmt;

/// Whether an answer is the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is.
    Correct,
    /// It is not, or there is no answer.
    Wrong,
    /// Undecidable. This is not a verdict and has to be counted separately.
    Undecided(Reason),
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The gold is not in a notation that is understood, and the answer is not the same text.
    GoldUnreadable,
    /// The answer is not in a notation that is understood.
    AnswerUnreadable,
    /// The gold or the answer is too long, too deep or too large a number.
    TooLarge,
    /// Comparing the two takes more work than one pair may cost.
    TooMuchWork,
    /// They are equal in one usual reading and differ in another, as `log 2` and `ln 2`.
    Ambiguous,
}

impl Verdict {
    /// The verdict as one word.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Correct => "correct",
            Verdict::Wrong => "wrong",
            Verdict::Undecided(_) => "undecided",
        }
    }

    /// Why there is none.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Verdict::Undecided(reason) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            Some(reason) => write!(f, "undecided: {reason}"),
            None => f.write_str(self.word()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::GoldUnreadable => "the gold cannot be read",
            Reason::AnswerUnreadable => "the answer cannot be read",
            Reason::TooLarge => "the gold or the answer is too large",
            Reason::TooMuchWork => "it takes too much work to compare them",
            Reason::Ambiguous => "it depends on how one of them is read",
        })
    }
}
