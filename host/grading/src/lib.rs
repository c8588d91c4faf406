//! Files of programs and of verdicts: what is graded, and what is said of it.
//! The grader itself is the crate `grader`.

pub mod commands;

mod pass_at_k;
mod submission;
mod verdict_line;

pub use troupe_grader::{
    Extraction, Failure, GradeOptions, Graded, GradingError, LimitOverrides, PackedError, Problem,
    Rule, StatedLimits, Stop, Test, Tolerance, Value, Verdict, call_matches, grade, matches,
    parse_problems, read_problem, read_problems, unpack,
};

pub use pass_at_k::{PassAtK, Tally, pass_at_k};
pub use submission::{Submission, parse_submissions, read_submissions};
pub use verdict_line::VerdictLine;

use crate::commands::check_answer::PairError;
use crate::commands::grade::MostlyVoid;
use troupe_core::error::{Asked, ask};

/// The errors of this crate that say how the process ends.
pub const ERRORS: &[Asked] = &[ask::<MostlyVoid>, ask::<PairError>];
