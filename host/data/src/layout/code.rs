//! What the sets of programming problems share: their tests as `host grade` reads them.

use super::Entry;
use crate::refusal::Refusal;
use crate::row::Row;
use troupe_grading::{Problem, Value, read_problem};

/// Read a row's tests by its layout.
pub(super) fn problem_of(row: Row) -> Result<Problem, Refusal> {
    let problem = read_problem(row.into_fields()).map_err(|(field, reason)| {
        // Which of many tests it is belongs to the detail.
        let name = field.split(['[', '.']).next().unwrap_or_default();
        Refusal::new(format!("`{name}` is not as published"), format!("{field}: {reason}"))
    })?;
    match problem.tests.as_slice() {
        [] => Err(Refusal::plain("no tests")),
        _ => Ok(problem),
    }
}

/// Add the problem's tests in our own layout.
pub(super) fn add_tests(entry: &mut Entry, problem: &Problem) -> Result<(), Refusal> {
    let tests = problem.tests_json().ok_or_else(|| Refusal::plain("its tests have no notation"))?;
    entry.text("function", problem.function.as_deref());
    entry.json("tests", tests);
    if let Some(rule) = problem.compare {
        entry.text("compare", Some(&rule.to_string()));
    }
    Ok(())
}

/// The first program of a list, of JSON that holds one or is one itself.
pub(super) fn first_program(value: Option<&Value>) -> Option<String> {
    let first = |items: &[Value]| {
        items.iter().find_map(|item| match item {
            Value::Str(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        })
    };
    match value? {
        Value::List(items) => first(items),
        Value::Str(text) => match Value::parse(text).ok()? {
            Value::List(items) => first(&items),
            _ => None,
        },
        _ => None,
    }
}
