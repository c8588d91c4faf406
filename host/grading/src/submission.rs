//! Programs to be graded.
//!
//! A file holds one record a line: the problem's name (`id`, `problem_id`,
//! `question_id`, `task_id` or `name`) and either one sample or a list of them.
//! A program stands under `program`, `code` or `solution` (lists: `programs`,
//! `code_list`, `solutions`); what a model wrote, from which a program has yet
//! to be taken, under `completion`, `response`, `output` or `generation` (lists:
//! `completions`, `output_list`). Programs count before completions. `sample`
//! numbers a single sample; without it they are counted per problem in the
//! order of the file. Null or white space is a sample without a program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use troupe_core::error::nearest;
use troupe_grader::{Extraction, GradingError, Problem, Record, Value};

const PROGRAM: [&str; 3] = ["program", "code", "solution"];
const PROGRAMS: [&str; 3] = ["programs", "code_list", "solutions"];
const COMPLETION: [&str; 4] = ["completion", "response", "output", "generation"];
const COMPLETIONS: [&str; 2] = ["completions", "output_list"];

/// One sample of one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The problem's place in the list of problems.
    pub problem: usize,
    /// The sample's number within the problem.
    pub sample: usize,
    /// The program's text; none if the completion holds no program.
    pub source: Option<String>,
    /// The line it stands on, from 1.
    pub line: usize,
}

/// Read a file of programs for these problems, in the order of the file.
///
/// # Errors
/// The file cannot be read, a record holds no program, is for an unknown
/// problem, or is the same sample as another.
pub fn read_submissions(
    file: &Path,
    problems: &[Problem],
    extraction: &Extraction,
) -> Result<Vec<Submission>, GradingError> {
    let text = fs::read_to_string(file)
        .map_err(|reason| GradingError::Io { file: file.to_owned(), reason })?;
    parse_submissions(file, &text, problems, extraction)
}

/// [`read_submissions`] of a text; `file` is for messages.
///
/// # Errors
/// As [`read_submissions`].
pub fn parse_submissions(
    file: &Path,
    text: &str,
    problems: &[Problem],
    extraction: &Extraction,
) -> Result<Vec<Submission>, GradingError> {
    let places: BTreeMap<&str, usize> =
        problems.iter().enumerate().map(|(place, problem)| (problem.id.as_str(), place)).collect();
    let mut counts = vec![0; problems.len()];
    let mut lines: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut submissions = Vec::new();
    for record in Record::all(file, text) {
        let record = record?;
        let id = record.id(&["id", "problem_id", "question_id", "task_id", "name"])?;
        let Some(&problem) = places.get(id.as_str()) else {
            let hint = hint(&id, problems);
            return Err(GradingError::UnknownProblem {
                file: file.to_owned(),
                line: record.line(),
                id,
                hint,
            });
        };
        for (number, source) in samples(&record, extraction, problems[problem].prompt.is_some())? {
            let sample = number.unwrap_or(counts[problem]);
            counts[problem] += 1;
            let second = record.line();
            if let Some(first) = lines.insert((problem, sample), second) {
                return Err(GradingError::DuplicateSample {
                    file: file.to_owned(),
                    id,
                    sample,
                    first,
                    second,
                });
            }
            submissions.push(Submission { problem, sample, source, line: second });
        }
    }
    Ok(submissions)
}

fn hint(id: &str, problems: &[Problem]) -> String {
    match nearest(id, problems.iter().map(|problem| problem.id.as_str())) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; do the two files belong together?".to_owned(),
    }
}

type Sample = (Option<usize>, Option<String>);

/// The record's samples: their numbers, if given, and their programs.
fn samples(
    record: &Record<'_>,
    extraction: &Extraction,
    continues: bool,
) -> Result<Vec<Sample>, GradingError> {
    let plain = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
    let extracted = |text: &str| match extraction.apply(text) {
        // A continuation of a prompt is usually written without a fence.
        None if continues && !text.contains("```") => Extraction::WholeText.apply(text),
        program => program,
    };
    let find = |names: &[&'static str]| names.iter().copied().find(|name| record.has(name));
    let number = record.count("sample")?.map(|number| number as usize);
    if let Some(name) = find(&PROGRAM) {
        return Ok(vec![(number, single_program(record, name, &plain)?)]);
    }
    if let Some(name) = find(&PROGRAMS) {
        return program_list(record, name, &plain);
    }
    if let Some(name) = find(&COMPLETION) {
        return Ok(vec![(number, single_program(record, name, &extracted)?)]);
    }
    if let Some(name) = find(&COMPLETIONS) {
        return program_list(record, name, &extracted);
    }
    Err(record.wrong(
        "program",
        "the record holds no program; give one as `program` or what the model wrote as `completion`",
    ))
}

type Reading<'a> = &'a dyn Fn(&str) -> Option<String>;

fn single_program(
    record: &Record<'_>,
    name: &str,
    reading: Reading<'_>,
) -> Result<Option<String>, GradingError> {
    Ok(record.text(name)?.and_then(reading))
}

fn program_list(
    record: &Record<'_>,
    name: &str,
    reading: Reading<'_>,
) -> Result<Vec<Sample>, GradingError> {
    if record.has("sample") {
        let reason =
            format!("`{name}` holds several samples, which are counted; leave `sample` out");
        return Err(record.wrong("sample", reason));
    }
    let items = match record.get(name) {
        Some(Value::List(items)) => items,
        other => {
            return Err(record.unlike(name, "a list of strings", other.unwrap_or(&Value::Null)));
        }
    };
    let item = |(index, item): (usize, &Value)| match item {
        Value::Str(text) => Ok((None, reading(text))),
        Value::Null => Ok((None, None)),
        other => Err(record.unlike(&format!("{name}[{index}]"), "a string", other)),
    };
    items.iter().enumerate().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Submission>, String> {
        let problems = [Problem::new("sum", Vec::new()), Problem::new("7", Vec::new())];
        let rule = "last-python-fence".parse().unwrap();
        parse_submissions(Path::new("s.jsonl"), text, &problems, &rule)
            .map_err(|error| error.to_string())
    }

    fn shown(text: &str) -> Vec<(usize, usize, Option<String>)> {
        read(text).unwrap().into_iter().map(|s| (s.problem, s.sample, s.source)).collect()
    }

    #[test]
    fn programs_and_completions_may_stand_alone_or_in_lists() {
        let text = r#"{"id": "sum", "program": "a"}
{"problem_id": 7, "completion": "```python\nb\n```"}
{"task_id": "sum", "code_list": ["c", null]}

{"name": "7", "completions": ["```\nd\n```", "no code"], "other": 1}
{"id": "sum", "sample": 9, "solution": " "}"#;
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown(text),
            [
                (0, 0, some("a")),
                (1, 0, some("b\n")),
                (0, 1, some("c")),
                (0, 2, None),
                (1, 1, some("d\n")),
                (1, 2, None),
                (0, 9, None),
            ]
        );
    }

    #[test]
    fn mistakes_name_the_lines() {
        for (text, part) in [
            (
                "{\"id\": \"sum\", \"sample\": 0, \"program\": \"\"}\n{\"id\": \"sum\", \"sample\": 0, \"program\": \"\"}",
                "lines 1 and 2",
            ),
            (r#"{"id": "summ", "program": ""}"#, "did you mean `sum`?"),
            (r#"{"id": "zzz", "program": ""}"#, "line 1 is for the problem `zzz`"),
            (r#"{"id": "sum"}"#, "field `program`"),
            (r#"{"id": "sum", "program": 1}"#, "a string is expected"),
            (r#"{"id": "sum", "programs": ["a"], "sample": 1}"#, "leave `sample` out"),
            (r#"{"id": "sum", "programs": [1]}"#, "`programs[0]`"),
            (r#"{"program": ""}"#, "`task_id`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
