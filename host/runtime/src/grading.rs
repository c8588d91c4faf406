//! Whether a program solves a problem.
//!
//! Pure: programs are run through [`Runner`](crate::program::Runner), and what is done with their
//! output is a function of it. Three rules hold throughout:
//!
//! - The expected output never enters the instance that runs the program; the
//!   comparison is made here. A checker gets it, in an instance of its own.
//! - A failure of the harness or of a checker is no verdict: the sample is
//!   void, left out of every average and counted.
//! - When an output counts as right is a rule with a name ([`Rule`]), since the
//!   graders in use differ.

mod call;
mod checker;
mod compare;
mod error;
mod examination;
mod excerpt;
mod extraction;
mod grade;
mod pass_at_k;
mod problem;
mod submission;
mod value;
mod verdict;
mod verdict_line;

pub use compare::{Rule, Tolerance, call_matches, matches};
pub use error::GradingError;
pub use extraction::Extraction;
pub use grade::{GradeOptions, Stop, grade};
pub use pass_at_k::{PassAtK, Tally, pass_at_k};
pub use problem::{LimitOverrides, Problem, StatedLimits, Test, parse_problems, read_problems};
pub use submission::{Submission, parse_submissions, read_submissions};
pub use value::Value;
pub use verdict::{Failure, Graded, Verdict};
pub use verdict_line::VerdictLine;
