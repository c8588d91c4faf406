//! A gold, an answer, and the expected verdict.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use troupe_answers::{Rules, Tolerance, Verdict, check_answer};

use troupe_core::error::{Coded, ExitCode};

/// Why a file of pairs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The system refused the file.
    #[error("cannot read `{}`: {reason}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A line is no pair.
    #[error("`{}` line {line} is no pair: {reason}", file.display())]
    NotAPair {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it, and what to do.
        reason: String,
    },
}

impl Coded for PairError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// One record of a file of pairs.
#[derive(Debug, Deserialize)]
pub struct Pair {
    /// Its line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
    /// The publisher's name for it.
    pub id: Option<Value>,
    /// What kind of pair it is.
    #[serde(default)]
    pub class: String,
    /// What is asked for.
    pub gold: String,
    /// What was answered: all that was written.
    pub answer: String,
    /// The expected verdict.
    #[serde(default)]
    pub expect: Expectation,
    /// The rules of this pair alone.
    rules: Option<String>,
    /// Tolerances of this pair: a number, a text, or several.
    #[serde(alias = "error", alias = "precision")]
    tolerance: Option<Value>,
    /// A remark; an object with `precision` in it sets the tolerances.
    note: Option<Value>,
    #[serde(skip)]
    own_rules: Option<Rules>,
    #[serde(skip)]
    tolerances: Vec<Tolerance>,
}

/// The verdict that is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expectation {
    /// Correct.
    Correct,
    /// Wrong.
    Wrong,
    /// Whatever it is, it is not counted.
    #[default]
    Either,
}

impl Expectation {
    /// Whether a verdict can be right or wrong about it.
    pub fn counts(self) -> bool {
        self != Expectation::Either
    }

    /// It as a word.
    pub fn word(self) -> &'static str {
        match self {
            Expectation::Correct => "correct",
            Expectation::Wrong => "wrong",
            Expectation::Either => "either",
        }
    }
}

impl Pair {
    /// What the checker says.
    pub fn verdict(&self, rules: &Rules) -> Verdict {
        let rules = self.own_rules.as_ref().unwrap_or(rules);
        if self.tolerances.is_empty() {
            return check_answer(&self.gold, &self.answer, rules);
        }
        let rules = rules.clone().with_tolerances(self.tolerances.clone());
        check_answer(&self.gold, &self.answer, &rules)
    }

    fn parse(text: &str, line: usize) -> Result<Pair, String> {
        let mut pair: Pair = serde_json::from_str(text)
            .map_err(|error| format!("{}; it needs `gold` and `answer` as text", fault(&error)))?;
        pair.line = line;
        if let Some(name) = &pair.rules {
            let rules = Rules::named(name).ok_or_else(|| format!("there are no rules `{name}`"))?;
            pair.own_rules = Some(rules);
        }
        let noted = pair.note.as_ref().and_then(precision);
        if let Some(tolerance) = pair.tolerance.as_ref().or(noted.as_ref()) {
            pair.tolerances = tolerances(tolerance)
                .ok_or_else(|| format!("{tolerance} is no tolerance such as 0.01 or \"1e-6\""))?;
        }
        Ok(pair)
    }
}

/// Reads all pairs of a file.
///
/// # Errors
/// If the file cannot be read, or a line of it is no pair.
pub fn read(file: &Path) -> Result<Vec<Pair>, PairError> {
    let text = fs::read_to_string(file)
        .map_err(|reason| PairError::Io { file: file.to_owned(), reason })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            Pair::parse(line, index + 1).map_err(|reason| PairError::NotAPair {
                file: file.to_owned(),
                line: index + 1,
                reason,
            })
        })
        .collect()
}

/// What is wrong, without the place in the record, which is all on one line.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// The tolerance in a note, which may be an object or one as text.
fn precision(note: &Value) -> Option<Value> {
    let object = match note {
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    object.get("precision").cloned()
}

fn tolerances(value: &Value) -> Option<Vec<Tolerance>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Number(number) => Some(vec![Tolerance::parse(&number.to_string())?]),
        Value::String(text) if text.trim().is_empty() => Some(Vec::new()),
        Value::String(text) => Tolerance::parse_all(text),
        Value::Array(several) => {
            let each: Option<Vec<_>> = several.iter().map(tolerances).collect();
            Some(each?.into_iter().flatten().collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Verdict {
        Pair::parse(text, 1).unwrap().verdict(&Rules::default())
    }

    #[test]
    fn a_tolerance_is_taken_from_its_field_or_from_the_note() {
        let near = r#""gold": "4.2", "answer": "4.25""#;
        assert_eq!(verdict(&format!("{{{near}}}")), Verdict::Wrong);
        for field in [
            r#""error": "1e-1""#,
            r#""precision": 0.1"#,
            r#""tolerance": ["0.1"]"#,
            r#""note": "{\"precision\": [1e-1]}""#,
        ] {
            assert_eq!(verdict(&format!("{{{near}, {field}}}")), Verdict::Correct, "{field}");
        }
    }

    #[test]
    fn a_pair_may_have_rules_of_its_own() {
        let share = r#""gold": "50\\%", "answer": "50""#;
        assert_eq!(verdict(&format!("{{{share}}}")), Verdict::Wrong);
        assert_eq!(verdict(&format!("{{{share}, \"rules\": \"math\"}}")), Verdict::Correct);
        assert!(Pair::parse(&format!("{{{share}, \"rules\": \"mth\"}}"), 1).is_err());
    }
}
