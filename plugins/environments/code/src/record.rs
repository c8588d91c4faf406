//! Challenges of a data set: records in the layouts that `host grade` reads.

use std::path::Path;

use plugin_sdk::environment::Problem;
use troupe_grader::{Test, Value, parse_problems};

use crate::challenge::{Challenge, Counts, size};
use crate::spoken;

/// Where layouts have the statement, and code to begin with.
const STATEMENT: [&str; 7] =
    ["statement", "question", "description", "question_content", "text", "prompt", "problem"];
const STARTER: [&str; 2] = ["starter_code", "starter"];
/// Where they have one program that is right: the rest of the prompt, and a whole one.
const CANONICAL: &str = "canonical_solution";
const SOLUTION: [&str; 2] = ["solution", "code"];
/// Bytes of a test; larger ones are not shown, and left out where only some tests decide.
const TEST_BYTES: usize = 64 << 10;
/// Bytes of a statement, and of a program that is right.
const TEXT_BYTES: usize = 64 << 10;
/// The number of Python 3 in CodeContests.
const PYTHON_3: &str = "3";

/// The challenge of a record.
///
/// # Errors
/// It is no record of a problem with tests.
pub fn read(entry: &str, counts: Counts) -> Result<Challenge, Problem> {
    let wrong = |reason: String| Problem::task(format!("the record cannot be used: {reason}"));
    let problems = parse_problems(Path::new("record"), entry);
    let problem = problems.map_err(|error| wrong(error.to_string()))?.into_iter().next();
    let mut problem = problem.ok_or_else(|| wrong("it is empty".to_owned()))?;
    let fields = Value::parse(entry).map_err(wrong)?;
    let statement = text(&fields, &STATEMENT).filter(|text| text.len() <= TEXT_BYTES);
    let statement =
        statement.ok_or_else(|| wrong("it has no statement, or a long one".to_owned()))?;
    let shown = keep(&mut problem.tests, marked(&fields).map_err(wrong)?, counts);
    if problem.tests.is_empty() {
        return Err(wrong("it has no tests, or all of them are long".to_owned()));
    }
    let solution = solution(&fields).map_err(wrong)?.filter(|text| text.len() <= TEXT_BYTES);
    let starter = text(&fields, &STARTER).unwrap_or_default();
    Ok(Challenge { statement, starter, problem, shown, solution, is_asked: false })
}

/// What somebody asks a program for, without tests.
///
/// # Errors
/// It is empty or too long, or has to be in single words and is not.
pub fn asked(statement: String, is_spoken: bool) -> Result<Challenge, Problem> {
    if statement.is_empty() || statement.len() > TEXT_BYTES {
        return Err(Problem::task("the question is empty, or too long"));
    }
    if is_spoken {
        spoken::check(&statement)?;
    }
    let problem = troupe_grader::Problem::new("asked", Vec::new());
    let starter = String::new();
    Ok(Challenge { statement, starter, problem, shown: 0, solution: None, is_asked: true })
}

/// Keeps as many tests as are wanted, those that are shown first; says how many
/// these are. What could be shown and is not decides with the hidden ones.
fn keep(tests: &mut Vec<Test>, marked: Option<usize>, counts: Counts) -> usize {
    let is_small = |test: &Test| matches!(test, Test::Code { .. }) || size(test) <= TEST_BYTES;
    // One test has to stay hidden. A check of everything at once gives all away.
    let usual = match tests.len() {
        0 | 1 => 0,
        all => counts.shown.min(all - 1),
    };
    let public = marked.unwrap_or(usual);
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for (index, test) in tests.drain(..).enumerate() {
        let is_shown = index < public && shown.len() < counts.shown && is_small(&test);
        if is_shown { shown.push(test) } else { hidden.push(test) }
    }
    if let Some(most) = counts.hidden {
        hidden.retain(is_small);
        let step = hidden.len().div_ceil(most.max(1)).max(1);
        hidden = hidden.into_iter().step_by(step).take(most).collect();
    }
    let count = shown.len();
    tests.append(&mut shown);
    tests.append(&mut hidden);
    count
}

/// How many tests the record itself calls public; they come first.
fn marked(fields: &Value) -> Result<Option<usize>, String> {
    match fields.get("public") {
        None | Some(Value::Null) => Ok(listed_public(fields)),
        Some(Value::Int(count)) if !count.starts_with('-') => {
            Ok(Some(count.parse().unwrap_or(usize::MAX)))
        }
        Some(_) => Err("`public` is no number of tests".to_owned()),
    }
}

/// The same, where layouts list the public tests.
fn listed_public(fields: &Value) -> Option<usize> {
    let unpacked = |value: &Value| match value {
        Value::Str(json) => Value::parse(json).ok(),
        other => Some(other.clone()),
    };
    if let Some(Value::List(cases)) = fields.get("public_test_cases").and_then(unpacked) {
        return Some(cases.len());
    }
    match fields.get("public_tests")? {
        Value::List(pairs) => Some(pairs.len()),
        columns => match columns.get("input")? {
            Value::List(inputs) => Some(inputs.len()),
            _ => None,
        },
    }
}

/// A program in Python that is right.
fn solution(fields: &Value) -> Result<Option<String>, String> {
    let is_text = |name: &str| matches!(fields.get(name), None | Some(Value::Null | Value::Str(_)));
    if let Some(name) = SOLUTION.into_iter().chain([CANONICAL]).find(|name| !is_text(name)) {
        return Err(format!("`{name}` is no text"));
    }
    if let Some(body) = text(fields, &[CANONICAL]) {
        return Ok(Some(format!("{}{body}", text(fields, &["prompt"]).unwrap_or_default())));
    }
    Ok(text(fields, &SOLUTION).or_else(|| one_of_several(fields.get("solutions")?)))
}

fn one_of_several(solutions: &Value) -> Option<String> {
    match solutions {
        Value::Str(json) => first(&Value::parse(json).ok()?),
        all @ Value::List(_) => first(all),
        columns => {
            let (Value::List(languages), Value::List(programs)) =
                (columns.get("language")?, columns.get("solution")?)
            else {
                return None;
            };
            let mut pairs = languages.iter().zip(programs);
            let is_python =
                |language: &Value| matches!(language, Value::Int(number) if number == PYTHON_3);
            pairs.find(|(language, _)| is_python(language)).and_then(|(_, program)| string(program))
        }
    }
}

fn first(programs: &Value) -> Option<String> {
    match programs {
        Value::List(programs) => programs.iter().find_map(string),
        _ => None,
    }
}

fn text(fields: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| fields.get(name).and_then(string))
}

fn string(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Counts = Counts { shown: 2, hidden: Some(4), generated: 4 };

    fn summary(entry: &str) -> (String, usize, usize, Option<String>) {
        let challenge = read(entry, COUNTS).expect("a problem");
        let all = challenge.problem.tests.len();
        (challenge.statement, challenge.shown, all, challenge.solution)
    }

    #[test]
    fn every_layout_says_what_is_asked_shown_and_right() {
        for (entry, statement, shown, all, solution) in [
            (
                r#"{"id": 1, "statement": "S", "public": 1, "solution": "p", "tests": [{"input": "1", "output": "2"}, {"input": "2", "output": "4"}]}"#,
                "S",
                1,
                2,
                Some("p"),
            ),
            (
                r#"{"problem_id": 1, "question": "Q", "solutions": "[\"a\", \"b\"]", "input_output": "{\"inputs\": [\"1\", \"2\", \"3\"], \"outputs\": [\"1\", \"2\", \"3\"]}"}"#,
                "Q",
                2,
                3,
                Some("a"),
            ),
            (
                r#"{"name": "c", "description": "D", "public_tests": {"input": ["1"], "output": ["2"]}, "private_tests": {"input": ["2"], "output": ["3"]}, "solutions": {"language": [1, 3], "solution": ["old", "new"]}}"#,
                "D",
                1,
                2,
                Some("new"),
            ),
            (
                r#"{"question_id": "d", "question_content": "C", "public_test_cases": "[{\"input\": \"1\", \"output\": \"2\", \"testtype\": \"stdin\"}]", "private_test_cases": "[{\"input\": \"2\", \"output\": \"3\", \"testtype\": \"stdin\"}]"}"#,
                "C",
                1,
                2,
                None,
            ),
            (
                r#"{"task_id": "H/0", "prompt": "def f():\n", "entry_point": "f", "canonical_solution": "    return 1\n", "test": "def check(candidate):\n    assert candidate() == 1\n"}"#,
                "def f():\n",
                0,
                1,
                Some("def f():\n    return 1\n"),
            ),
            (
                r#"{"task_id": 2, "text": "T", "code": "x", "test_list": ["assert f(1) == 1", "assert f(2) == 2", "assert f(3) == 3"]}"#,
                "T",
                2,
                3,
                Some("x"),
            ),
        ] {
            let expected = (statement.to_owned(), shown, all, solution.map(str::to_owned));
            assert_eq!(summary(entry), expected);
        }
    }

    #[test]
    fn so_many_hidden_tests_are_kept_from_all_over_and_long_ones_are_left_out() {
        let test = |n: usize| format!(r#"{{"input": "{n}", "output": "{n}"}}"#);
        let mut tests: Vec<String> = (0..42).map(test).collect();
        tests[1] = format!(r#"{{"input": "{}", "output": ""}}"#, "1".repeat(TEST_BYTES + 1));
        let entry = format!(r#"{{"id": 1, "text": "S", "tests": [{}]}}"#, tests.join(","));
        let challenge = read(&entry, COUNTS).expect("a problem");
        let inputs = challenge.problem.tests.iter().map(|test| match test {
            Test::Stdin { input, .. } => String::from_utf8_lossy(input).into_owned(),
            other => panic!("{other:?}"),
        });
        assert_eq!(
            (challenge.shown, inputs.collect::<Vec<_>>().join(" ")),
            (1, "0 2 12 22 32".to_owned())
        );
        // Where all decide, all are there, the long one, too.
        let all = read(&entry, Counts { hidden: None, ..COUNTS }).expect("a problem");
        assert_eq!((all.shown, all.problem.tests.len(), all.hidden().len()), (1, 42, 41));
        assert!(all.problem.tests[all.hidden()].iter().any(|test| size(test) > TEST_BYTES));
    }

    #[test]
    fn public_tests_that_are_not_shown_decide_with_the_hidden_ones() {
        let test = |n: usize| format!(r#"{{"input": "{n}", "output": "{n}"}}"#);
        let mut tests: Vec<String> = (0..9).map(test).collect();
        tests[0] = format!(r#"{{"input": "{}", "output": "0"}}"#, "0".repeat(TEST_BYTES + 1));
        let entry =
            format!(r#"{{"id": 1, "text": "S", "public": 5, "tests": [{}]}}"#, tests.join(","));
        let outputs = |counts: Counts| {
            let challenge = read(&entry, counts).expect("a problem");
            let output = |test: &Test| match test {
                Test::Stdin { outputs, .. } => String::from_utf8_lossy(&outputs[0]).into_owned(),
                other => panic!("{other:?}"),
            };
            let outputs: Vec<String> = challenge.problem.tests.iter().map(output).collect();
            let (shown, hidden) = outputs.split_at(challenge.shown);
            (shown.join(" "), hidden.join(" "))
        };
        let told = |shown: &str, hidden: &str| (shown.to_owned(), hidden.to_owned());
        let all = Counts { hidden: None, ..COUNTS };
        assert_eq!(outputs(all), told("1 2", "0 3 4 5 6 7 8"));
        assert_eq!(outputs(Counts { shown: 8, ..all }), told("1 2 3 4", "0 5 6 7 8"));
        assert_eq!(outputs(Counts { shown: 0, ..all }), told("", "0 1 2 3 4 5 6 7 8"));
        // A sample has none of the long ones, and as many as it may have.
        assert_eq!(outputs(Counts { hidden: Some(3), ..all }), told("1 2", "3 5 7"));
        assert_eq!(outputs(Counts { hidden: Some(6), ..all }), told("1 2", "3 4 5 6 7 8"));
    }

    #[test]
    fn columns_of_another_type_are_refused_by_name_and_empty_ones_are_none() {
        let with = |column: &str| {
            let tests = r#"[{"input": "1", "output": "1"}, {"input": "2", "output": "2"}]"#;
            read(&format!(r#"{{"id": 1, "text": "S", {column}, "tests": {tests}}}"#), COUNTS)
        };
        for (column, reason) in [
            (r#""public": "0""#, "`public` is no number of tests"),
            (r#""public": -1"#, "`public` is no number of tests"),
            (r#""solution": ["print(1)"]"#, "`solution` is no text"),
            (r#""code": 7"#, "`code` is no text"),
        ] {
            let refused = with(column).expect_err(column).sentence();
            assert!(refused.contains(reason), "{refused}");
        }
        for (column, shown) in [(r#""public": 0"#, 0), (r#""public": null"#, 1)] {
            assert_eq!(with(column).expect("a problem").shown, shown, "{column}");
        }
        assert_eq!(with(r#""solution": null"#).expect("a problem").solution, None);
    }

    #[test]
    fn a_record_that_is_none_is_refused_with_a_sentence() {
        for entry in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"id": 1, "tests": []}"#,
            r#"{"id": 1, "text": "S", "tests": []}"#,
        ] {
            let problem = read(entry, COUNTS).expect_err(entry);
            assert!(
                problem.sentence().contains("the record cannot be used"),
                "{}",
                problem.sentence()
            );
        }
    }
}
