//! CodeContests: three kinds of tests and the solutions, each a structure of
//! parallel lists; source, difficulty and language are numbers.

use super::Entry;
use super::code::{add_tests, problem_of};
use crate::refusal::Refusal;
use crate::row::Row;
use troupe_grading::Value;

pub(super) const COLUMNS: &[&str] = &[
    "name",
    "description",
    "public_tests",
    "private_tests",
    "generated_tests",
    "source",
    "difficulty",
    "solutions",
    "cf_rating",
    "cf_tags",
    "time_limit",
    "memory_limit_bytes",
    "input_file",
    "output_file",
];

/// Python 3 among the languages of solutions.
const PYTHON_3: &str = "3";

/// What a statement has where a picture was.
const PICTURE: &str = "<image>";

pub(super) fn read(mut row: Row) -> Result<Entry, Refusal> {
    let name = row.name(&["name"])?.ok_or_else(|| Refusal::plain("no `name`"))?;
    let mut entry = Entry::new(Some(name), row.required(&["description"])?);
    entry.note = entry.problem.contains(PICTURE).then_some("statements that lack a picture");
    for field in ["input_file", "output_file"] {
        if row.text(field)?.is_some_and(|file| !file.trim().is_empty()) {
            return Err(Refusal::plain("the program has to read or write a file"));
        }
    }
    entry.text("difficulty", row.integer("difficulty").and_then(difficulty).as_deref());
    entry.text("source", row.integer("source").and_then(source));
    if let Some(rating) = row.integer("cf_rating").filter(|rating| *rating > 0) {
        entry.json("rating", rating.to_string());
    }
    let tags = row.texts("cf_tags").unwrap_or_default().into_iter().filter(|tag| !tag.is_empty());
    let tags = serde_json::Value::from(tags.collect::<Vec<_>>());
    if tags.as_array().is_some_and(|tags| !tags.is_empty()) {
        entry.json("tags", tags.to_string());
    }
    let solution = python_solution(row.take("solutions").as_ref());
    let public = row.get("public_tests").map_or(0, count);
    let problem = problem_of(row)?;
    add_tests(&mut entry, &problem)?;
    entry.json("public", public.to_string());
    let limits = [
        ("time_limit_ms", problem.stated.time_ms),
        ("memory_limit_bytes", problem.stated.memory_bytes.filter(|bytes| *bytes > 0)),
    ];
    for (name, limit) in limits {
        entry.fields.extend(limit.map(|limit| (name, limit.to_string())));
    }
    entry.text("solution", solution.as_deref());
    Ok(entry)
}

/// How many tests a column or a list of pairs holds.
fn count(tests: &Value) -> usize {
    match tests.get("input").unwrap_or(tests) {
        Value::List(items) => items.len(),
        _ => 0,
    }
}

fn python_solution(solutions: Option<&Value>) -> Option<String> {
    let (Value::List(languages), Value::List(programs)) =
        (solutions?.get("language")?, solutions?.get("solution")?)
    else {
        return None;
    };
    // Lists of two lengths do not say which program is in which language.
    let pairs = (languages.len() == programs.len()).then(|| languages.iter().zip(programs))?;
    pairs.into_iter().find_map(|pair| match pair {
        (Value::Int(language), Value::Str(program)) if language == PYTHON_3 => {
            Some(program.clone())
        }
        _ => None,
    })
}

fn difficulty(number: i64) -> Option<String> {
    let word = match number {
        1 => "easy",
        2 => "medium",
        3 => "hard",
        4 => "harder",
        5 => "hardest",
        6 => "external",
        // A to K, and from L on one further: 18 is not used.
        7..=17 => return letter(number - 7),
        19..=33 => return letter(number - 8),
        _ => return None,
    };
    Some(word.to_owned())
}

fn letter(place: i64) -> Option<String> {
    u8::try_from(place).ok().map(|place| char::from(b'A' + place).to_string())
}

fn source(number: i64) -> Option<&'static str> {
    match number {
        1 => Some("CodeChef"),
        2 => Some("Codeforces"),
        3 => Some("HackerEarth"),
        4 => Some("Code Jam"),
        6 => Some("AtCoder"),
        7 => Some("Aizu"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"name": "1_A. Sum", "description": "Add <image>.", "public_tests": {"input": ["1 2\n"], "output": ["3\n"]}, "private_tests": {"input": [], "output": []}, "generated_tests": {"input": ["2 2\n"], "output": ["4\n"]}, "source": 2, "difficulty": 7, "solutions": {"language": [2, 1, 3], "solution": ["c", "p2", "p3"]}, "cf_rating": 800, "cf_tags": ["math", ""], "time_limit": {"seconds": 1, "nanos": 500000000}, "memory_limit_bytes": 256000000, "input_file": "", "output_file": ""}"#;

    fn with(field: &str, value: &str) -> Row {
        let mut row = Row::of(ROW);
        row.put(field, Value::parse(value).unwrap());
        row
    }

    #[test]
    fn tests_limits_and_the_first_python_3_solution_are_kept() {
        let entry = read(Row::of(ROW)).unwrap();
        assert_eq!(entry.note, Some("statements that lack a picture"));
        let fields: Vec<String> =
            entry.fields.iter().map(|(name, json)| format!("{name}={json}")).collect();
        for field in [
            r#"difficulty="A""#,
            r#"source="Codeforces""#,
            "rating=800",
            r#"tags=["math"]"#,
            r#"tests=[{"input":"1 2\n","output":"3\n"},{"input":"2 2\n","output":"4\n"}]"#,
            "public=1",
            "time_limit_ms=1500",
            r#"solution="p3""#,
        ] {
            assert!(fields.iter().any(|seen| seen == field), "{field}: {fields:?}");
        }
    }

    #[test]
    fn a_letter_is_skipped_where_the_publisher_skips_a_number() {
        let names = [0, 1, 6, 7, 17, 18, 19, 20].map(difficulty);
        let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        assert_eq!(names, ["-", "easy", "external", "A", "K", "-", "L", "M"]);
    }

    #[test]
    fn what_cannot_be_graded_through_pipes_or_has_no_tests_is_refused() {
        let reason = |row| read(row).unwrap_err().reason;
        let file = reason(with("input_file", "\"a.in\""));
        assert_eq!(file, "the program has to read or write a file");
        let uneven = reason(with("public_tests", r#"{"input": ["1"], "output": []}"#));
        assert_eq!(uneven, "`public_tests` is not as published");
        assert!(read(with("time_limit", "null")).is_ok());
        assert!(read(with("solutions", r#"{"language": [3], "solution": []}"#)).is_ok());
    }
}
