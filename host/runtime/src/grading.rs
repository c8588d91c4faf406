//! Files of programs and of verdicts: what is graded, and what is said of it.
//! The grader itself is the crate `grader`.

mod pass_at_k;
mod submission;
mod verdict_line;

pub use grader::{
    Extraction, Failure, GradeOptions, Graded, GradingError, LimitOverrides, PackedError, Problem,
    Rule, StatedLimits, Stop, Test, Tolerance, Value, Verdict, call_matches, grade, matches,
    parse_problems, read_problem, read_problems, unpack,
};

pub use pass_at_k::{PassAtK, Tally, chance_of_one, pass_at_k, usual_ks};
pub use submission::{Submission, parse_submissions, read_submissions};
pub use verdict_line::VerdictLine;

use crate::error::{Coded, ExitCode};

impl Coded for GradingError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}
