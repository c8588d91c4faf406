//! A program that a model wrote, graded against two tests in the sandbox.
//!
//! `cargo run --release -p troupe-grading --example grade_a_program` in the project's root, after
//! `cargo xtask plugins` (the interpreter) and `cargo build --release` (the worker).

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::path::Path;

use troupe_core::program::{Program, RunLimits};
use troupe_grading::{GradeOptions, Problem, Stop, Test, Verdict, grade};
use troupe_sandbox::Sandbox;

const RIGHT: &str = "a, b = map(int, input().split())\nprint(a + b)";
const WRONG: &str = "a, b = map(int, input().split())\nprint(a * b)";

fn main() {
    // Two workers, each a process that is given nothing; the interpreter is found here.
    let sandbox =
        Sandbox::with_worker(Path::new("target/release/host"), 2, &["target/plugins".into()]);
    let options =
        GradeOptions { rule: None, limits: RunLimits::default(), stop: Stop::FirstFailure };
    let tests = vec![Test::stdin("2 2\n", "4\n"), Test::stdin("3 4\n", "7\n")];
    let problem = Problem::new("sum", tests);
    for (name, text) in [("right", RIGHT), ("wrong", WRONG)] {
        let program = Program::new("python", text.as_bytes());
        let graded = grade(&problem, Some(&program), &options, &sandbox);
        println!("{name}: {:?}, {} of {} tests", graded.verdict, graded.passed, graded.total);
        assert_eq!(matches!(graded.verdict, Verdict::Passed), name == "right");
    }
}
