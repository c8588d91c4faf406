//! Tests that a tester wrote: how they are read, and which of them count.

use serde::{Deserialize, Serialize};
use troupe_grader::{Test, Value};

use crate::challenge::Challenge;
use crate::spoken;
use crate::trial::Trial;

/// Tests that are looked at.
pub const MOST: usize = 8;
/// Bytes of one of them, and of all that is read.
const TEST_BYTES: usize = 4 << 10;
const TEXT_BYTES: usize = 64 << 10;
/// Brackets at which a list is taken to end, the last one first.
const ENDS: usize = 16;
/// What the two parts of a test are called.
const INPUTS: [&str; 3] = ["input", "stdin", "in"];
const OUTPUTS: [&str; 5] = ["output", "expected_output", "expected", "stdout", "out"];

/// A team's own tests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Suite {
    /// The tests, no two with the same input and none that was shown.
    pub tests: Vec<Test>,
    /// What they say of the latest program, if there is one.
    pub trials: Vec<Trial>,
}

/// The tests in a text. A test that was shown, or that has the input of another
/// one, does not count.
///
/// # Errors
/// There is none, and why.
pub fn read(text: &str, challenge: &Challenge) -> Result<Vec<Test>, String> {
    if text.len() > TEXT_BYTES {
        return Err("The tests are too long.".to_owned());
    }
    if !challenge.takes_tests() {
        return Err("No tests can be written for this problem.".to_owned());
    }
    let answer = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    let is_called = challenge.is_called();
    let mut tests: Vec<Test> = Vec::new();
    let read = of_json(answer, is_called).unwrap_or_else(|| of_blocks(answer));
    let read = if read.is_empty() { spoken::read(answer) } else { read };
    for test in read {
        let known = |other: &Test| key(other) == key(&test);
        let fits = size(&test) <= TEST_BYTES && matches!(test, Test::Call { .. }) == is_called;
        if fits && tests.len() < MOST && !tests.iter().chain(challenge.examples()).any(known) {
            tests.push(test);
        }
    }
    match tests.is_empty() {
        true => Err("There is no test in this that was not shown already.".to_owned()),
        false => Ok(tests),
    }
}

/// How tests are written, for people who have not seen them.
pub fn notation(challenge: &Challenge) -> &'static str {
    match challenge.is_called() {
        true => "[{\"arguments\": [1, \"a\"], \"expected\": [2]}]",
        false => "[{\"input\": \"5 a\\n\", \"output\": \"a a\\n\"}]",
    }
}

/// The first of the tests that would be looked at.
pub fn worth_writing(tests: &[Test]) -> Vec<Test> {
    tests.iter().filter(|test| size(test) <= TEST_BYTES).take(MOST).cloned().collect()
}

/// Some tests in that notation; only those of one right output have one.
pub fn written(tests: &[Test]) -> String {
    let string = |bytes: &[u8]| Value::Str(String::from_utf8_lossy(bytes).into_owned()).to_string();
    let one = |test: &Test| match test {
        Test::Stdin { input, outputs } => {
            let output = outputs.first().map_or(&[][..], Vec::as_slice);
            Some(format!("{{\"input\": {}, \"output\": {}}}", string(input), string(output)))
        }
        Test::Call { arguments, expected } => {
            let arguments = String::from_utf8_lossy(arguments);
            Some(format!("{{\"arguments\": {arguments}, \"expected\": {expected}}}"))
        }
        Test::Code { .. } => None,
    };
    let tests: Vec<String> = tests.iter().filter_map(one).collect();
    format!("[{}]", tests.join(", "))
}

/// What makes a test this test: its input, whatever the white space.
fn key(test: &Test) -> String {
    let bytes = match test {
        Test::Stdin { input, .. } => input,
        Test::Call { arguments, .. } => arguments,
        Test::Code { code } => return code.clone(),
    };
    let text = String::from_utf8_lossy(bytes);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn size(test: &Test) -> usize {
    match test {
        Test::Stdin { input, outputs } => input.len() + outputs.iter().map(Vec::len).sum::<usize>(),
        Test::Call { arguments, expected } => arguments.len() + expected.to_string().len(),
        Test::Code { .. } => usize::MAX,
    }
}

/// The tests of a list of objects in JSON, whatever is written around it; none if
/// there is no such list.
fn of_json(text: &str, is_called: bool) -> Option<Vec<Test>> {
    let begins = |(start, _): &(usize, &str)| text[start + 1..].trim_start().starts_with('{');
    let (start, _) = text.match_indices('[').find(begins)?;
    let ends = text[start..].rmatch_indices(']').take(ENDS);
    let list = ends.filter_map(|(end, _)| Value::parse(&text[start..=start + end]).ok()).next()?;
    let Value::List(items) = list else { return None };
    let tests: Vec<Test> = items.iter().filter_map(|item| of_item(item, is_called)).collect();
    (!tests.is_empty()).then_some(tests)
}

fn of_item(item: &Value, is_called: bool) -> Option<Test> {
    let part = |names: &[&str]| names.iter().find_map(|name| item.get(name));
    let expected = part(&OUTPUTS)?;
    match (is_called, part(&["arguments", "args"]).or_else(|| part(&INPUTS))) {
        (true, Some(Value::List(arguments))) => {
            Some(Test::call(arguments.clone(), expected.clone()))
        }
        (false, Some(input)) => Some(Test::stdin(&as_lines(input)?, &as_lines(expected)?)),
        _ => None,
    }
}

/// A text, a number, or a list of lines.
fn as_lines(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.clone()),
        Value::Int(_) | Value::Float(_) => Some(value.to_string()),
        Value::List(lines) => {
            let lines: Option<Vec<String>> = lines.iter().map(as_lines).collect();
            Some(lines?.join("\n"))
        }
        _ => None,
    }
}

/// Pairs of fenced blocks: one that is called an input, by its tag or by the
/// line above it, and one that is called an output.
fn of_blocks(text: &str) -> Vec<Test> {
    let (mut tests, mut title) = (Vec::new(), String::new());
    let mut input: Option<String> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(tag) = line.trim().strip_prefix("```") else {
            if !line.trim().is_empty() {
                title = line.to_lowercase();
            }
            continue;
        };
        let block: Vec<&str> =
            lines.by_ref().take_while(|line| !line.trim().starts_with("```")).collect();
        let (block, name) = (block.join("\n"), format!("{title} {}", tag.to_lowercase()));
        match (name.contains("output") || name.contains("expected"), input.take()) {
            (true, Some(given)) => tests.push(Test::stdin(&given, &block)),
            (true, None) => {}
            (false, _) if name.contains("input") => input = Some(block),
            (false, other) => input = other,
        }
        title.clear();
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(function: Option<&str>) -> Challenge {
        let mut problem = troupe_grader::Problem::new(
            "p",
            vec![Test::stdin("1 2\n", "3\n"), Test::stdin("8", "8")],
        );
        problem.function = function.map(str::to_owned);
        let (statement, starter) = (String::new(), String::new());
        Challenge { statement, starter, problem, shown: 1, solution: None, is_asked: false }
    }

    fn read_as(text: &str) -> String {
        read(text, &challenge(None)).map_or_else(|error| error, |tests| written(&tests))
    }

    #[test]
    fn tests_are_read_in_whatever_way_they_are_written() {
        let one = r#"[{"input": "4 5", "output": "9"}]"#;
        for text in [
            one,
            "Here [as asked]:\n```json\n[{\"input\": \"4 5\", \"output\": \"9\"}]\n```\nDone [really].\n",
            "<think>[{\"input\": \"0\", \"output\": \"0\"}]</think> [{\"stdin\": \"4 5\", \"expected_output\": 9}]",
            "**Test Input:**\n```\n4 5\n```\n**Test Output:**\n```\n9\n```\n",
            "```input\n4 5\n```\n```output\n9\n```",
            "Input:\n\n```txt\n4 5\n```\nExpected:\n```\n9",
        ] {
            assert_eq!(read_as(text), one, "{text}");
        }
    }

    #[test]
    fn repeated_tests_and_those_that_were_shown_do_not_count() {
        let three = r#"[{"input": "4", "output": "9"}, {"input": " 4\n", "output": "7"}, {"input": "1  2", "output": "3"}]"#;
        assert_eq!(read_as(three), r#"[{"input": "4", "output": "9"}]"#);
        assert!(read_as(r#"[{"input": "1 2", "output": "3"}]"#).starts_with("There is no test"));
        let many: Vec<String> =
            (0..99).map(|n| format!(r#"{{"input": "{n}", "output": ""}}"#)).collect();
        let read = read(&format!("[{}]", many.join(",")), &challenge(None)).expect("tests");
        assert_eq!(read.len(), MOST);
    }

    #[test]
    fn functions_are_called_with_arguments() {
        let text =
            r#"[{"arguments": [1, "a"], "expected": {"k": null}}, {"input": "1", "output": "2"}]"#;
        let tests = read(text, &challenge(Some("f"))).expect("a test");
        assert_eq!(written(&tests), r#"[{"arguments": [1, "a"], "expected": {"k": null}}]"#);
    }

    #[test]
    fn hostile_text_is_no_test_and_no_panic() {
        for text in ["", "[", "]", "][", "[{}]", "```input", "\u{1F9E8}[⊥]", "[[[[[[[[", "[1e999]"]
        {
            assert!(read(text, &challenge(None)).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(60_000), &challenge(None)).is_err());
        assert!(read(&"[".repeat(70_000), &challenge(None)).is_err());
    }
}
