//! The verdict on a program.

use std::time::Duration;

/// Three values: what the harness or a checker broke is neither right nor wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every test accepted.
    Passed,
    /// A test did not accept, or there was no program.
    Failed(Failure),
    /// Nothing can be said; counted, and left out of averages.
    Void {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// `passed`, `failed` or `void`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Void { .. } => "void",
        }
    }
}

/// The first thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The test, from 0; none if there was no program.
    pub test: Option<usize>,
    /// A word for counting: `wrong_answer`, `presentation` or `partial` (a
    /// checker's), `no_result` (a function did not return), `no_code`, or the
    /// word of the run's ending, such as `error` or `out_of_fuel`.
    pub cause: &'static str,
    /// For people: what was expected and what was there, or how the run ended.
    pub detail: String,
}

/// A verdict and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graded {
    /// The verdict.
    pub verdict: Verdict,
    /// Tests that accepted.
    pub passed: usize,
    /// Tests that were run; fewer than `total` after an early stop.
    pub run: usize,
    /// Tests of the problem.
    pub total: usize,
    /// Fuel of all runs of the program; a checker's is not the program's.
    pub fuel: u64,
    /// Time of all runs, the checker's included.
    pub wall: Duration,
    /// The most memory a run of the program had, in bytes.
    pub memory_bytes: u64,
}

impl Graded {
    /// Nothing run yet.
    pub fn begun(total: usize) -> Self {
        Graded {
            verdict: Verdict::Passed,
            passed: 0,
            run: 0,
            total,
            fuel: 0,
            wall: Duration::ZERO,
            memory_bytes: 0,
        }
    }

    /// Accepted tests over all tests; a lower bound after an early stop, 0
    /// without tests.
    pub fn share(&self) -> f64 {
        self.passed as f64 / self.total.max(1) as f64
    }
}
