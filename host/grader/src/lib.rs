//! Whether a program solves a problem.
//!
//! Pure: programs are run through [`Runner`](program::Runner), and what is done with their
//! output is a function of it. So the host grades with it, and a plugin that was granted the
//! sandbox gives the same verdicts. Three rules hold throughout:
//!
//! - The expected output never enters the instance that runs the program; the
//!   comparison is made here. A checker gets it, in an instance of its own.
//! - A failure of the harness or of a checker is no verdict: the sample is
//!   void, left out of every average and counted.
//! - When an output counts as right is a rule with a name ([`Rule`]), since the
//!   graders in use differ.

pub mod program;

mod bytes;
mod call;
mod checker;
mod compare;
mod error;
mod examination;
mod excerpt;
mod extraction;
mod grade;
mod problem;
mod value;
mod verdict;

pub use compare::{Rule, Tolerance, call_matches, matches};
pub use error::GradingError;
pub use extraction::Extraction;
pub use grade::{GradeOptions, Stop, grade};
pub use problem::{
    LimitOverrides, Problem, Record, StatedLimits, Test, parse_problems, read_problems,
};
pub use value::Value;
pub use verdict::{Failure, Graded, Verdict};
