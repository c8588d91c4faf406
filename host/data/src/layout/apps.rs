//! APPS: `input_output` and `solutions` are JSON in texts. In its folder form
//! each problem is a folder of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Entry;
use super::code::{add_tests, first_program, problem_of};
use crate::bounds::Bounds;
use crate::refusal::Refusal;
use crate::row::Row;
use troupe_grading::Value;

pub(super) const COLUMNS: &[&str] = &[
    "problem_id",
    "id",
    "question",
    "solutions",
    "input_output",
    "difficulty",
    "url",
    "starter_code",
];

pub(super) fn read(mut row: Row) -> Result<Entry, Refusal> {
    let id = row.name(&["problem_id", "id"])?;
    let mut entry = Entry::new(id.clone(), row.required(&["question"])?);
    for name in ["difficulty", "starter_code", "url"] {
        entry.copy(name, &row, name);
    }
    let solution = first_program(row.take("solutions").as_ref());
    row.put("id", Value::Str(id.unwrap_or_default()));
    if row.get("input_output").is_none() {
        return Err(Refusal::plain("no tests"));
    }
    add_tests(&mut entry, &problem_of(row)?)?;
    entry.text("solution", solution.as_deref());
    Ok(entry)
}

/// The row that a folder of APPS is, named by the folder.
pub(crate) fn folder_fields(folder: &Path, bounds: &Bounds) -> Result<Value, Refusal> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let number = name.trim_start_matches('0');
    let id = if number.is_empty() { "0" } else { number };
    let mut fields = vec![("problem_id", Value::Str(id.to_owned()))];
    for (field, file) in [
        ("question", "question.txt"),
        ("input_output", "input_output.json"),
        ("solutions", "solutions.json"),
        ("starter_code", "starter_code.py"),
    ] {
        if let Some(text) = content(&folder.join(file), bounds)? {
            fields.push((field, Value::Str(text)));
        }
    }
    if let Some(text) = content(&folder.join("metadata.json"), bounds)? {
        let metadata = Value::parse(&text)
            .map_err(|reason| Refusal::new("`metadata.json` is not JSON", reason))?;
        for field in ["difficulty", "url"] {
            fields.extend(metadata.get(field).map(|value| (field, value.clone())));
        }
    }
    let key = |(name, value): (&str, Value)| (Value::Str(name.to_owned()), value);
    Ok(Value::Dict(fields.into_iter().map(key).collect()))
}

/// The text of a file, if it is there.
fn content(path: &Path, bounds: &Bounds) -> Result<Option<String>, Refusal> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut bytes = Vec::new();
    file.take(bounds.bytes as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|reason| Refusal::new(format!("`{name}` cannot be read"), reason.to_string()))?;
    bounds.check(&bytes)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(Refusal::new("not UTF-8", format!("`{name}`: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(entry: &Entry, name: &str) -> Option<String> {
        entry.fields.iter().find(|(field, _)| *field == name).map(|(_, json)| json.clone())
    }

    #[test]
    fn tests_become_those_of_our_own_layout() {
        let entry = read(Row::of(
            r#"{"problem_id": 7, "question": "Add.", "solutions": "[\"\", \"print(1)\"]", "input_output": "{\"inputs\": [[\"1\", \"2\"], \"3\\n\"], \"outputs\": [\"3\", [\"a\", \"b\"]]}", "difficulty": "interview", "starter_code": "", "url": "u"}"#,
        ))
        .unwrap();
        assert_eq!(entry.id.as_deref(), Some("7"));
        assert_eq!(
            field(&entry, "tests").unwrap(),
            r#"[{"input":"1\n2","output":"3"},{"input":"3\n","output":"a\nb"}]"#
        );
        assert_eq!(field(&entry, "compare").unwrap(), r#""apps""#);
        assert_eq!(field(&entry, "solution").unwrap(), r#""print(1)""#);
        assert_eq!(field(&entry, "starter_code"), None);
    }

    #[test]
    fn a_call_keeps_integers_of_any_length() {
        let digits = "7".repeat(5000);
        let entry = read(Row::of(&format!(
            r#"{{"problem_id": 7, "question": "Add.", "solutions": "", "input_output": {{"fn_name": "f", "inputs": [[{digits}]], "outputs": [[1]]}}}}"#
        )))
        .unwrap();
        assert_eq!(
            field(&entry, "tests").unwrap(),
            format!(r#"[{{"arguments":[{digits}],"expected":[1]}}]"#)
        );
        assert_eq!(field(&entry, "function").unwrap(), r#""f""#);
        assert_eq!(field(&entry, "solution"), None);
    }

    #[test]
    fn a_problem_without_readable_tests_is_refused() {
        for (tests, reason) in [
            (r#""""#, "no tests"),
            ("null", "no tests"),
            (r#""{""#, "`input_output` is not as published"),
            (r#"{"inputs": ["1"], "outputs": []}"#, "`input_output` is not as published"),
            (r#"{"inputs": [1], "outputs": ["1"]}"#, "`input_output` is not as published"),
        ] {
            let row = Row::of(&format!(r#"{{"question": "q", "input_output": {tests}}}"#));
            assert_eq!(read(row).unwrap_err().reason, reason, "{tests}");
        }
    }
}
