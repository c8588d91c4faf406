//! What verdicts depend on, so that two gradings are never mixed in one file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::super::args::GradeArgs;
use crate::{Extraction, Problem, Rule};
use troupe_core::program::RunLimits;
use troupe_core::storage::digest_file;
use troupe_sandbox::Sandbox;

/// The language that checkers are written in.
const CHECKERS: &str = "python";

/// Everything but the clock that can change a verdict.
#[derive(Serialize)]
pub struct GradeSettings {
    /// The version of this program: compare rules are part of it.
    version: &'static str,
    /// SHA-256 of the file of problems.
    problems: String,
    /// SHA-256 of the file of programs.
    programs: String,
    language: String,
    extract: Extraction,
    /// The rule for all problems, if there is one.
    compare: Option<Rule>,
    all_tests: bool,
    limits: RunLimits,
    /// Digests by language.
    interpreters: BTreeMap<String, String>,
}

impl GradeSettings {
    /// Those of the command line.
    ///
    /// # Errors
    /// An interpreter is missing or cannot be used, or a file cannot be read.
    pub fn new(args: &GradeArgs, problems: &[Problem], sandbox: &Sandbox) -> anyhow::Result<Self> {
        let checked = problems.iter().any(|problem| problem.checker.is_some());
        let mut interpreters = BTreeMap::new();
        for language in [args.language.as_str()].into_iter().chain(checked.then_some(CHECKERS)) {
            interpreters.insert(language.to_owned(), sandbox.interpreter(language)?.digest);
        }
        Ok(GradeSettings {
            version: env!("CARGO_PKG_VERSION"),
            problems: digest_file(&args.problems)?,
            programs: digest_file(&args.programs)?,
            language: args.language.clone(),
            extract: args.extraction(),
            compare: args.compare,
            all_tests: args.all_tests,
            limits: args.limits.limits(),
            interpreters,
        })
    }

    /// Digest of the interpreter of the programs.
    pub fn interpreter(&self) -> &str {
        self.interpreters.get(&self.language).map_or("", String::as_str)
    }
}

/// What differs between the settings of an earlier grading and these, in words.
pub fn differences(earlier: &Value, now: &Value) -> Vec<String> {
    let (earlier, now) = (flat(earlier), flat(now));
    let names: BTreeSet<_> = earlier.keys().chain(now.keys()).collect();
    let shown = |value: Option<&String>| value.map_or("not set".to_owned(), |text| short(text));
    names
        .into_iter()
        .filter(|name| earlier.get(*name) != now.get(*name))
        .map(|name| match name.as_str() {
            "problems" | "programs" => format!("the content of the {name} changed"),
            _ => {
                let (was, is) = (shown(earlier.get(name)), shown(now.get(name)));
                format!("`{name}` was {was} and is {is}")
            }
        })
        .collect()
}

/// The values by their path, such as `limits.fuel`; those that are null are not set.
fn flat(value: &Value) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    let mut pending = vec![(String::new(), value)];
    while let Some((path, value)) = pending.pop() {
        match value {
            Value::Object(fields) => pending.extend(fields.iter().map(|(name, value)| {
                let dot = if path.is_empty() { "" } else { "." };
                (format!("{path}{dot}{name}"), value)
            })),
            Value::Null => {}
            Value::String(text) => _ = leaves.insert(path, text.clone()),
            other => _ = leaves.insert(path, other.to_string()),
        }
    }
    leaves
}

/// The beginning of what is as long as a digest.
fn short(text: &str) -> String {
    if text.len() < 64 {
        return text.to_owned();
    }
    format!("{}…", text.chars().take(12).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_named_by_its_path() {
        let earlier = json!({"problems": "a", "limits": {"fuel": 5, "timeout_ms": 7}, "gone": 1});
        let now = json!({"problems": "b", "limits": {"fuel": 6, "timeout_ms": 7}, "compare": null});
        assert_eq!(
            differences(&earlier, &now),
            [
                "`gone` was 1 and is not set",
                "`limits.fuel` was 5 and is 6",
                "the content of the problems changed"
            ]
        );
        assert!(differences(&now, &now).is_empty());
    }

    #[test]
    fn digests_are_shortened() {
        let (before, after) = ("a".repeat(64), "b".repeat(64));
        let differences = differences(&json!({"digest": before}), &json!({"digest": after}));
        assert_eq!(differences, ["`digest` was aaaaaaaaaaaa… and is bbbbbbbbbbbb…"]);
    }
}
