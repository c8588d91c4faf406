//! A challenge: what is to be programmed, and the tests that decide.

use serde::{Deserialize, Serialize};
use troupe_grader::{Problem, Test};

/// One problem with everything that is known about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Challenge {
    /// What the program has to do.
    pub statement: String,
    /// Code to begin with, where there is some.
    pub starter: String,
    /// The golden tests, and when an output is right. No seat is told of them
    /// but of the first ones.
    pub problem: Problem,
    /// So many of the tests are shown.
    pub shown: usize,
    /// A program that is right.
    pub solution: Option<String>,
    /// Whether somebody asks for a program who has no tests for it: nobody knows whether one is
    /// right.
    #[serde(default)]
    pub is_asked: bool,
}

impl Challenge {
    /// The tests that everybody may see.
    pub fn examples(&self) -> &[Test] {
        &self.problem.tests[..self.shown.min(self.problem.tests.len())]
    }

    /// The tests that decide: the hidden ones, or all if all are shown.
    pub fn hidden(&self) -> std::ops::Range<usize> {
        let all = self.problem.tests.len();
        if self.shown < all { self.shown..all } else { 0..all }
    }

    /// Whether a team can write tests of its own: where the golden ones are code
    /// and no function is named, it is unknown what to call.
    pub fn takes_tests(&self) -> bool {
        self.is_called() || self.problem.tests.iter().all(|test| !matches!(test, Test::Code { .. }))
    }

    /// Bytes of all tests.
    pub fn bytes(&self) -> usize {
        self.problem.tests.iter().map(size).sum()
    }

    /// Whether a program is called and not given input.
    pub fn is_called(&self) -> bool {
        self.problem.function.is_some()
    }
}

/// Bytes of a test.
pub fn size(test: &Test) -> usize {
    match test {
        Test::Stdin { input, outputs } => input.len() + outputs.iter().map(Vec::len).sum::<usize>(),
        Test::Call { arguments, expected } => arguments.len() + expected.to_string().len(),
        Test::Code { code } => code.len(),
    }
}

/// How many tests are kept of a problem.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Those that are shown, at most; of a record that calls some public, none but these.
    pub shown: usize,
    /// Those that are hidden, at most; by default all of a record's. If only a part of
    /// the tests is run, it is unknown whether the task is solved.
    pub hidden: Option<usize>,
    /// Those of a generated problem, which has as many as one likes.
    pub generated: usize,
}
