//! A problem: tests, and when an output is right.
//!
//! A file holds one record a line, in one of six layouts, told apart by a
//! field only it has. In all of them `compare` may name a rule, and `checker`
//! hold a program that decides:
//!
//! | layout | told by | rule if none is named and no checker there |
//! |---|---|---|
//! | ours | `tests` | `lines` |
//! | APPS, TACO | `input_output` | `apps` |
//! | CodeContests | `public_tests`, `private_tests` or `generated_tests` | `tokens` |
//! | LiveCodeBench | `public_test_cases` | `lcb` |
//! | HumanEval | `entry_point` | none: its tests are code |
//! | MBPP | `test_list` | none: its tests are code |

mod apps;
mod code_contests;
mod human_eval;
mod live_code_bench;
mod mbpp;
mod native;
pub mod packed;
mod pickled;
mod record;
mod rule;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::compare::Rule;
use super::error::GradingError;
use super::value::Value;
use crate::program::{Program, RunLimits};

pub use record::Record;

/// One problem.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// Its name, unique in its file.
    pub id: String,
    /// The tests, in the order in which they are run.
    pub tests: Vec<Test>,
    /// The rule the record asks for, or else its layout.
    pub compare: Option<Rule>,
    /// The program that decides instead of a comparison; Python.
    pub checker: Option<Program>,
    /// The function that call-based tests call.
    pub function: Option<String>,
    /// Code that programs go on from, for tests that are code.
    pub prompt: Option<String>,
    /// What a run may use less than others.
    pub limits: LimitOverrides,
    /// What the dataset allows a native program. It is not enforced here:
    /// an interpreter in the sandbox is slower than the judge's machine by a
    /// factor the dataset knows nothing of.
    pub stated: StatedLimits,
}

impl Problem {
    /// A problem of stdin tests with nothing else said.
    pub fn new(id: &str, tests: Vec<Test>) -> Self {
        Problem {
            id: id.to_owned(),
            tests,
            compare: None,
            checker: None,
            function: None,
            prompt: None,
            limits: LimitOverrides::default(),
            stated: StatedLimits::default(),
        }
    }
}

/// One test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Test {
    /// The program reads standard input and writes standard output.
    Stdin {
        /// What it reads.
        #[serde(with = "crate::bytes")]
        input: Arc<[u8]>,
        /// Acceptable outputs; at least one.
        outputs: Vec<Vec<u8>>,
    },
    /// A function is called.
    Call {
        /// The arguments as one line of JSON: a list.
        #[serde(with = "crate::bytes")]
        arguments: Arc<[u8]>,
        /// What it should return.
        expected: Value,
    },
    /// Code calls the program's functions and asserts what they return.
    Code {
        /// The code; Python.
        code: String,
    },
}

impl Test {
    /// A stdin test with one right output.
    pub fn stdin(input: &str, output: &str) -> Self {
        Test::Stdin { input: input.as_bytes().into(), outputs: vec![output.as_bytes().to_vec()] }
    }

    /// A test that calls a function.
    pub fn call(arguments: Vec<Value>, expected: Value) -> Self {
        let line = Value::List(arguments).to_string();
        Test::Call { arguments: line.into_bytes().into(), expected }
    }
}

/// Limits of a problem's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitOverrides {
    /// Units of deterministic work.
    pub fuel: Option<u64>,
    /// Milliseconds of processor time.
    pub timeout_ms: Option<u64>,
    /// MiB, the interpreter's included.
    pub memory_mib: Option<u64>,
}

impl LimitOverrides {
    /// These limits where they are tighter than `limits`, which is also what
    /// the sandbox's owner allows at most.
    #[must_use]
    pub fn within(&self, limits: &RunLimits) -> RunLimits {
        let stated = RunLimits {
            fuel: self.fuel.unwrap_or(u64::MAX),
            timeout_ms: self.timeout_ms.unwrap_or(u64::MAX),
            memory_mib: self.memory_mib.unwrap_or(u64::MAX),
            output_bytes: u64::MAX,
        };
        stated.capped(limits)
    }
}

/// What a dataset says a native program may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedLimits {
    /// Milliseconds a test.
    pub time_ms: Option<u64>,
    /// Bytes.
    pub memory_bytes: Option<u64>,
}

/// Read a file of problems. Empty lines are skipped.
///
/// # Errors
/// The file cannot be read, a record is of no known layout or lacks
/// something, or an id occurs twice.
pub fn read_problems(file: &Path) -> Result<Vec<Problem>, GradingError> {
    let text = fs::read_to_string(file)
        .map_err(|reason| GradingError::Io { file: file.to_owned(), reason })?;
    parse_problems(file, &text)
}

/// [`read_problems`] of a text; `file` is for messages.
///
/// # Errors
/// As [`read_problems`].
pub fn parse_problems(file: &Path, text: &str) -> Result<Vec<Problem>, GradingError> {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    for record in Record::all(file, text) {
        let record = record?;
        let problem = parse_problem(&record)?;
        if let Some(first) = lines.insert(problem.id.clone(), record.line()) {
            return Err(GradingError::DuplicateProblem {
                file: file.to_owned(),
                id: problem.id,
                first,
                second: record.line(),
            });
        }
        problems.push(problem);
    }
    Ok(problems)
}

/// The problem that a record's fields describe, whatever file they came from.
///
/// # Errors
/// The field that is wrong and what is wrong with it.
pub fn read_problem(fields: Value) -> Result<Problem, (String, String)> {
    parse_problem(&Record::new(Path::new(""), 0, fields)).map_err(|error| match error {
        GradingError::Field { field, reason, .. } => (field, reason),
        other => (String::new(), other.to_string()),
    })
}

fn parse_problem(record: &Record<'_>) -> Result<Problem, GradingError> {
    let problem = parse_layout(record)?;
    let (asked_for, checker) = rule::parse(record)?;
    Ok(Problem { compare: asked_for.or(problem.compare), checker, ..problem })
}

fn parse_layout(record: &Record<'_>) -> Result<Problem, GradingError> {
    let has = |name| record.get(name).is_some();
    if has("input_output") {
        apps::parse(record)
    } else if has("public_test_cases") {
        live_code_bench::parse(record)
    } else if has("public_tests") || has("private_tests") || has("generated_tests") {
        code_contests::parse(record)
    } else if has("tests") {
        native::parse(record)
    } else if has("entry_point") {
        human_eval::parse(record)
    } else if has("test_list") {
        mbpp::parse(record)
    } else {
        Err(record.wrong(
            "tests",
            "the record is no problem: it has neither `tests` (our own layout) nor `input_output` \
             (APPS), `public_tests` (CodeContests), `public_test_cases` (LiveCodeBench), \
             `entry_point` (HumanEval) or `test_list` (MBPP)",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse_problems(Path::new("p.jsonl"), text).unwrap_err().to_string()
    }

    #[test]
    fn layouts_may_be_mixed_and_empty_lines_skipped() {
        let text = r#"{"id": "a", "tests": [{"input": "1", "output": "2"}]}

{"problem_id": 7, "input_output": "{\"inputs\": [\"1\"], \"outputs\": [\"2\"]}"}
{"name": "c", "public_tests": {"input": ["1"], "output": ["2"]}}
{"question_id": "d", "public_test_cases": "[{\"input\": \"1\", \"output\": \"2\", \"testtype\": \"stdin\"}]"}
"#;
        let problems = parse_problems(Path::new("p.jsonl"), text).unwrap();
        let seen: Vec<_> =
            problems.iter().map(|p| (p.id.as_str(), p.compare, p.tests.len())).collect();
        assert_eq!(
            seen,
            [
                ("a", None, 1),
                ("7", Some(Rule::Apps), 1),
                ("c", Some(Rule::Tokens), 1),
                ("d", Some(Rule::Lcb), 1)
            ]
        );
        for problem in problems {
            let Test::Stdin { input, outputs } = &problem.tests[0] else { panic!("{problem:?}") };
            assert_eq!((input.as_ref(), outputs), (b"1".as_slice(), &vec![b"2".to_vec()]));
        }
    }

    #[test]
    fn a_mistake_is_reported_with_file_line_and_field() {
        assert!(error("\n{").contains("`p.jsonl` line 2 is not a JSON object"));
        assert!(error("[1]").contains("a list"));
        assert!(error(r#"{"id": "a"}"#).contains("`p.jsonl` line 1, field `tests`"));
        assert!(error(r#"{"tests": []}"#).contains("field `id`"));
        let twice = r#"{"id": "a", "tests": []}
{"id": "a", "tests": []}"#;
        assert!(error(twice).contains("`a` twice, on lines 1 and 2"));
    }

    #[test]
    fn a_problems_own_limits_count_where_they_are_tighter() {
        let overrides =
            LimitOverrides { fuel: Some(5), timeout_ms: None, memory_mib: Some(1 << 40) };
        let limits = RunLimits::default();
        let effective = overrides.within(&limits);
        assert_eq!(effective, RunLimits { fuel: 5, ..limits });
    }
}
