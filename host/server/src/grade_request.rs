//! What `POST /grade` reads.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::languages::Languages;
use super::refusal::Refusal;
use troupe_core::program::{Program, RunLimits};
use troupe_grading::{
    Extraction, GradeOptions, GradingError, LimitOverrides, Problem, Rule, Stop, parse_problems,
};

/// The fields. Unknown ones are refused: a misspelt one would
/// change verdicts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// Kept as text: the grader reads numbers more exactly than serde_json.
    problem: Option<Box<RawValue>>,
    tests: Option<Box<RawValue>>,
    function: Option<String>,
    #[serde(default, deserialize_with = "present")]
    program: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    completion: Option<Option<String>>,
    programs: Option<Vec<Option<String>>>,
    completions: Option<Vec<Option<String>>>,
    extract: Option<Extraction>,
    language: Option<String>,
    compare: Option<Rule>,
    fuel: Option<u64>,
    timeout_ms: Option<u64>,
    memory_mib: Option<u64>,
    all_tests: Option<bool>,
}

/// A field that is null is there all the same.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Programs to be graded, and how.
#[derive(Debug)]
pub(super) struct GradeRequest {
    /// What they are to solve.
    pub problem: Problem,
    /// The programs; none where a completion holds none.
    pub programs: Vec<Option<Program>>,
    /// Whether they came as a list.
    pub is_batch: bool,
    /// How to grade.
    pub options: GradeOptions,
    /// Their language.
    pub language: &'static str,
    /// Digest of its interpreter.
    pub interpreter: String,
}

impl GradeRequest {
    /// Reads a body.
    pub(super) fn parse(
        body: &[u8],
        languages: &Languages,
        caps: &RunLimits,
    ) -> Result<Self, Refusal> {
        let fields: Fields = serde_json::from_slice(body).map_err(|error| Refusal::json(&error))?;
        let name = fields.language.as_deref().unwrap_or("python");
        let Some((language, digest)) = languages.find(name) else {
            return Err(Refusal::unprocessable(languages.missing(name)));
        };
        let (sources, is_batch) = fields.sources(language)?;
        let (problem, limits) = (fields.problem()?, fields.limits().within(caps));
        let allowed = languages.allow(language, &problem.limits.within(&limits));
        allowed.map_err(Refusal::unprocessable)?;
        let program = |source: Option<String>| {
            let source = source.filter(|source| !source.trim().is_empty())?;
            Some(Program::new(language, source.into_bytes()))
        };
        Ok(GradeRequest {
            problem,
            programs: sources.into_iter().map(program).collect(),
            is_batch,
            options: GradeOptions {
                rule: fields.compare,
                limits,
                stop: match fields.all_tests {
                    Some(true) => Stop::AllTests,
                    _ => Stop::FirstFailure,
                },
            },
            language,
            interpreter: digest.to_owned(),
        })
    }
}

impl Fields {
    fn limits(&self) -> LimitOverrides {
        LimitOverrides { fuel: self.fuel, timeout_ms: self.timeout_ms, memory_mib: self.memory_mib }
    }

    /// The programs' texts, and whether there is a list of them.
    fn sources(&self, language: &str) -> Result<(Vec<Option<String>>, bool), Refusal> {
        let by_default = || Extraction::LastFence { language: language.to_owned() };
        let rule = self.extract.clone().unwrap_or_else(by_default);
        let extracted = |completion: &Option<String>| rule.apply(completion.as_deref()?);
        let extracts_in_vain =
            self.extract.is_some() && self.completion.is_none() && self.completions.is_none();
        match (&self.program, &self.completion, &self.programs, &self.completions) {
            _ if extracts_in_vain => Err(Refusal::unprocessable(
                "`extract` is for completions; a program is taken whole",
            )),
            (Some(program), None, None, None) => Ok((vec![program.clone()], false)),
            (None, Some(completion), None, None) => Ok((vec![extracted(completion)], false)),
            (None, None, Some(programs), None) => Ok((programs.clone(), true)),
            (None, None, None, Some(completions)) => {
                Ok((completions.iter().map(extracted).collect(), true))
            }
            _ => Err(Refusal::unprocessable(
                "give one of `program`, `completion`, `programs` and `completions`",
            )),
        }
    }

    fn problem(&self) -> Result<Problem, Refusal> {
        let record = match (&self.problem, &self.tests) {
            (Some(problem), None) if self.function.is_none() => problem.get().to_owned(),
            (None, Some(tests)) => self.record(tests.get()),
            _ => {
                return Err(Refusal::unprocessable(
                    "give either `problem`, a record as in a file of problems, or `tests` with a \
                     `function` if they call one",
                ));
            }
        };
        // Line ends between the fields would make several records of it.
        let line = record.replace(['\n', '\r'], " ");
        let wrong = |error: GradingError| Refusal::unprocessable(error.to_string());
        let mut problems = parse_problems(Path::new("problem"), &line).map_err(wrong)?;
        problems.pop().ok_or_else(|| Refusal::unprocessable("`problem` is empty"))
    }

    /// A record in our own layout.
    fn record(&self, tests: &str) -> String {
        let function = serde_json::Value::from(self.function.as_deref());
        format!("{{\"id\": \"\", \"tests\": {tests}, \"function\": {function}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_grading::Test;

    fn parse(body: &str) -> Result<GradeRequest, String> {
        let languages = Languages::pretended(&["javascript", "python"]);
        let parsed = GradeRequest::parse(body.as_bytes(), &languages, &RunLimits::default());
        parsed.map_err(|refusal| format!("{refusal:?}"))
    }

    fn sources(body: &str) -> Vec<Option<String>> {
        let text = |program: Program| String::from_utf8(program.source.to_vec()).unwrap();
        parse(body).unwrap().programs.into_iter().map(|program| program.map(text)).collect()
    }

    const TESTS: &str = r#""tests": [{"input": "1", "output": "1"}]"#;

    #[test]
    fn programs_and_completions_come_alone_or_in_lists() {
        let one = |field: &str| sources(&format!("{{{TESTS}, {field}}}"));
        assert_eq!(one(r#""program": "a""#), [Some("a".to_owned())]);
        assert_eq!(one(r#""program": null"#), [None]);
        assert_eq!(one(r#""program": " ""#), [None]);
        assert_eq!(one(r#""programs": ["a", null]"#), [Some("a".to_owned()), None]);
        assert_eq!(one(r#""completion": "```py\na\n```""#), [Some("a\n".to_owned())]);
        assert_eq!(one(r#""completion": "none""#), [None]);
        assert_eq!(
            one(r#""completions": ["a", "b"], "extract": "whole-text""#),
            [Some("a".to_owned()), Some("b".to_owned())]
        );
    }

    #[test]
    fn a_problem_may_be_of_any_layout_and_span_lines() {
        let request = parse(
            "{\"problem\": {\n\"problem_id\": 7,\r\n\"input_output\": \"{\\\"inputs\\\": [\\\"1\\\"], \
             \\\"outputs\\\": [\\\"2\\\"]}\"\n}, \"program\": \"a\"}",
        )
        .unwrap();
        assert_eq!((request.problem.id.as_str(), request.problem.compare), ("7", Some(Rule::Apps)));
    }

    #[test]
    fn numbers_keep_every_digit() {
        let request = parse(
            r#"{"tests": [{"arguments": [123456789012345678901234567890], "expected": 1.0}],
                "function": "f", "program": "a", "language": "nodejs"}"#,
        )
        .unwrap();
        let Test::Call { arguments, .. } = &request.problem.tests[0] else { panic!("not a call") };
        assert_eq!(arguments.as_ref(), b"[123456789012345678901234567890]");
        assert_eq!(
            (request.language, request.interpreter.as_str()),
            ("javascript", "digest of javascript")
        );
    }

    #[test]
    fn the_options_are_read_and_the_limits_capped() {
        let request = parse(&format!(
            r#"{{{TESTS}, "program": "a", "compare": "tokens", "fuel": 5, "memory_mib": 999999, "all_tests": true}}"#
        ))
        .unwrap();
        let limits = RunLimits { fuel: 5, ..RunLimits::default() };
        let options = GradeOptions { rule: Some(Rule::Tokens), limits, stop: Stop::AllTests };
        assert_eq!(request.options, options);
    }

    #[test]
    fn null_is_as_good_as_nothing() {
        for field in [
            "problem",
            "function",
            "programs",
            "completions",
            "extract",
            "language",
            "compare",
            "fuel",
            "timeout_ms",
            "memory_mib",
            "all_tests",
        ] {
            let body = |more: &str| parse(&format!("{{{TESTS}, \"program\": \"a\"{more}}}"));
            let (plain, none) = (body("").unwrap(), body(&format!(", \"{field}\": null")));
            let none = none.unwrap_or_else(|error| panic!("{field}: {error}"));
            assert_eq!((&none.options, none.language), (&plain.options, plain.language));
        }
    }

    #[test]
    fn a_mistake_is_named() {
        for (fields, part) in [
            (r#""program": "a", "time_limit": 1"#, "unknown field `time_limit`"),
            (r#""program": "a", "completion": "b""#, "give one of"),
            (r#""compare": "tokens""#, "give one of"),
            (r#""program": "a", "extract": "first-fence""#, "`extract` is for completions"),
            (r#""completion": "a", "extract": "fence""#, "no extraction rule `fence`"),
            (r#""program": "a", "compare": "tolkens""#, "no compare rule `tolkens`"),
            (r#""program": "a", "language": "cobol""#, "`cobol`"),
            (r#""program": "a", "fuel": -1"#, "-1"),
            (r#""program": "a", "fuel": 0"#, "0 units of fuel"),
            (r#""program": "a", "memory_mib": 1"#, "1 MiB of memory"),
            (r#""program": "a", "problem": {}"#, "either `problem`"),
        ] {
            let error = parse(&format!("{{{TESTS}, {fields}}}")).unwrap_err();
            assert!(error.contains(part) && error.contains("422"), "{error}");
        }
        for (body, part) in [
            (r#"{"program": "a"}"#, "either `problem`"),
            (r#"{"program": "a", "problem": {"tests": []}}"#, "field `id`"),
            (r#"{"program": "a", "problem": []}"#, "not a JSON object"),
            (r#"{"program": "a", "tests": [{"arguments": [], "expected": 1}]}"#, "`function`"),
        ] {
            let error = parse(body).unwrap_err();
            assert!(error.contains(part) && error.contains("422"), "{error}");
        }
        assert!(parse("{").unwrap_err().contains("400"));
    }
}
