//! Why problems or submissions cannot be read.

use std::path::PathBuf;

/// Why a file of problems or programs cannot be used. Found before anything
/// is graded.
#[derive(Debug, thiserror::Error)]
pub enum GradingError {
    /// The system refused the file.
    #[error("cannot read `{}`: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A line is something other than a JSON object.
    #[error("`{}` line {line} is not a JSON object: {reason}; write one record a line", file.display())]
    NotARecord {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A field is missing or holds something else.
    #[error("`{}` line {line}, field `{field}`: {reason}", file.display())]
    Field {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// Two records are of the same problem.
    #[error("`{}` has the problem `{id}` twice, on lines {first} and {second}; remove or rename one", file.display())]
    DuplicateProblem {
        /// The file.
        file: PathBuf,
        /// The problem.
        id: String,
        /// The line of the one.
        first: usize,
        /// The line of the other.
        second: usize,
    },
    /// Two programs are the same sample of the same problem.
    #[error("`{}` has sample {sample} of the problem `{id}` twice, on lines {first} and {second}; \
             number the samples apart or leave `sample` out", file.display())]
    DuplicateSample {
        /// The file.
        file: PathBuf,
        /// The problem.
        id: String,
        /// The sample.
        sample: usize,
        /// The line of the one.
        first: usize,
        /// The line of the other.
        second: usize,
    },
    /// A program is for a problem that is not there.
    #[error("`{}` line {line} is for the problem `{id}`, which the problem file lacks{hint}", file.display())]
    UnknownProblem {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem.
        id: String,
        /// What was probably meant.
        hint: String,
    },
    /// There is no compare rule of this name.
    #[error("there is no compare rule `{name}`; it is one of {}", super::compare::RULE_NAMES)]
    UnknownRule {
        /// The name.
        name: String,
    },
    /// There is no extraction rule of this name.
    #[error("there is no extraction rule `{name}`; it is one of {}", super::extraction::RULE_NAMES)]
    UnknownExtraction {
        /// The name.
        name: String,
    },
}
