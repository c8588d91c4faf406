//! Whether a program solves a problem.
//!
//! It may know no other crate of the host, and no files but those of problems: it compiles to
//! WebAssembly, so that a plugin that was granted the sandbox gives the same verdicts as the
//! host. Programs are run by whoever implements [`Runner`](program::Runner), and a verdict is a
//! function of what they wrote. Three rules hold throughout:
//!
//! - The expected output never enters the instance that runs the program; the
//!   comparison is made here. A checker gets it, in an instance of its own.
//! - A failure of the harness or of a checker is no verdict: the sample is
//!   void, left out of every average and counted.
//! - When an output counts as right is a rule with a name ([`Rule`]), since the
//!   graders in use differ.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use troupe_grader::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};
//! use troupe_grader::{GradeOptions, Problem, Test, Verdict, grade};
//!
//! /// Stands in for the sandbox: every program prints what it reads.
//! struct Echo;
//!
//! impl Runner for Echo {
//!     fn run(
//!         &self,
//!         _: &Program,
//!         stdin: &Arc<[u8]>,
//!         _: &RunLimits,
//!     ) -> Result<Arc<Execution>, SandboxError> {
//!         Ok(Arc::new(Execution {
//!             ending: Ending::Exited { code: 0 },
//!             stdout: stdin.to_vec(),
//!             stderr: Vec::new(),
//!             fuel: 1,
//!             memory_bytes: 0,
//!             wall: Duration::ZERO,
//!         }))
//!     }
//! }
//!
//! let problem = Problem::new("echo", vec![Test::stdin("7\n", "7\n"), Test::stdin("7\n", "8\n")]);
//! let program = Program::new("python", *b"print(input())");
//! let graded = grade(&problem, Some(&program), &GradeOptions::default(), &Echo);
//! assert!(matches!(graded.verdict, Verdict::Failed(failure) if failure.test == Some(1)));
//! assert_eq!((graded.passed, graded.total), (1, 2));
//! ```

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
pub use problem::packed::{PackedError, unpack};
pub use problem::{
    LimitOverrides, Problem, Record, StatedLimits, Test, parse_problems, read_problem,
    read_problems,
};
pub use value::Value;
pub use verdict::{Failure, Graded, Verdict};
