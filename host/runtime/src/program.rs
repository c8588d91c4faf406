//! Model-written programs, as the grader's crate has them: plugins need them, too.

pub use grader::program::{Ending, Execution, Program, RunLimits, Runner, SandboxError};
