//! A line of the file of verdicts.

use serde::{Deserialize, Serialize};

use troupe_grader::{Graded, Verdict};

/// What is written about one sample. All but `wall_ms` is a function of the
/// problem, the program, the options and the interpreter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictLine {
    /// The problem.
    pub problem: String,
    /// The sample's number within the problem.
    pub sample: usize,
    /// `passed`, `failed` or `void`.
    pub verdict: String,
    /// Tests that accepted.
    pub passed: usize,
    /// Tests of the problem.
    pub total: usize,
    /// The first test that did not accept, from 0.
    pub first_failure: Option<usize>,
    /// A word for counting.
    pub cause: Option<String>,
    /// For people.
    pub detail: Option<String>,
    /// Fuel of all runs of the program.
    pub fuel: u64,
    /// Time of all runs, in milliseconds.
    pub wall_ms: u64,
    /// The most memory a run had, in bytes.
    pub memory_bytes: u64,
    /// The program's language.
    pub language: String,
    /// Digest of the interpreter that ran it.
    pub interpreter: String,
}

impl VerdictLine {
    /// The line about a graded sample.
    pub fn new(
        problem: &str,
        sample: usize,
        language: &str,
        interpreter: &str,
        graded: &Graded,
    ) -> Self {
        let (first_failure, cause, detail) = match &graded.verdict {
            Verdict::Passed => (None, None, None),
            Verdict::Failed(failure) => {
                (failure.test, Some(failure.cause.to_owned()), Some(failure.detail.clone()))
            }
            Verdict::Void { reason } => (None, None, Some(reason.clone())),
        };
        VerdictLine {
            problem: problem.to_owned(),
            sample,
            verdict: graded.verdict.word().to_owned(),
            passed: graded.passed,
            total: graded.total,
            first_failure,
            cause,
            detail,
            fuel: graded.fuel,
            wall_ms: u64::try_from(graded.wall.as_millis()).unwrap_or(u64::MAX),
            memory_bytes: graded.memory_bytes,
            language: language.to_owned(),
            interpreter: interpreter.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_grader::Failure;

    #[test]
    fn a_line_has_every_field_and_is_read_back() {
        let failure = Failure { test: Some(1), cause: "wrong_answer", detail: "d".to_owned() };
        let mut graded = Graded::begun(3);
        graded.verdict = Verdict::Failed(failure);
        let line = VerdictLine::new("p", 4, "python", "abc", &graded);
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            r#"{"problem":"p","sample":4,"verdict":"failed","passed":0,"total":3,"first_failure":1,"cause":"wrong_answer","detail":"d","fuel":0,"wall_ms":0,"memory_bytes":0,"language":"python","interpreter":"abc"}"#
        );
        assert_eq!(serde_json::from_str::<VerdictLine>(&text).unwrap(), line);
    }

    #[test]
    fn a_void_line_says_why_and_names_no_cause() {
        let mut graded = Graded::begun(0);
        graded.verdict = Verdict::Void { reason: "broken".to_owned() };
        let line = VerdictLine::new("p", 0, "python", "", &graded);
        assert_eq!(
            (line.verdict.as_str(), line.cause, line.detail.as_deref()),
            ("void", None, Some("broken"))
        );
    }
}
