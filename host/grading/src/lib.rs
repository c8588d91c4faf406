//! Grading from files: problems and programs are read, verdicts written, and pass@k estimated,
//! for `host grade` and `host check-answer`.
//!
//! The grader itself is [`troupe_grader`], whose names are here too; programs run in
//! `troupe-sandbox`, and answers are compared by `troupe-answers`. It may know nothing of models
//! and training: where programs come from does not matter.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use troupe_grading::{Rule, Tally, matches, pass_at_k};
//!
//! // A program printed the right numbers on another number of lines. The rule decides.
//! let (expected, printed) = (b"1 2\n".as_slice(), b"1\n2\n".as_slice());
//! assert!(matches(Rule::Tokens, expected, printed));
//! assert!(!matches(Rule::Lines, expected, printed));
//!
//! // Of four programs for one problem one passed: every second pair of them contains it.
//! let tally = Tally { passed: 1, failed: 3, void: 0 };
//! let tallies = BTreeMap::from([("sum".to_owned(), tally)]);
//! assert_eq!(pass_at_k(&tallies, 2).value, 0.5);
//! ```
//!
//! `examples/grade_a_program.rs` runs two programs in the sandbox.

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
