//! What a record of any layout says of when an output is right: `compare` names a
//! rule, `checker` holds a program that decides.

use super::Record;
use crate::compare::Rule;
use crate::error::GradingError;
use crate::program::Program;
use crate::value::Value;

/// The rule that a record itself asks for, and its checker. One with a checker
/// asks for it, unless it names another rule.
pub(super) fn parse(record: &Record<'_>) -> Result<(Option<Rule>, Option<Program>), GradingError> {
    let rule = |name: &str| {
        name.parse::<Rule>().map_err(|error| record.wrong("compare", error.to_string()))
    };
    let named = record.text("compare")?.map(rule).transpose()?;
    let checker =
        record.get("checker").map(|checker| parse_checker(record, checker)).transpose()?;
    if named == Some(Rule::Checker) && checker.is_none() {
        return Err(
            record.wrong("checker", "the rule is `checker`; give the checker's program here")
        );
    }
    Ok((named.or(checker.is_some().then_some(Rule::Checker)), checker))
}

fn parse_checker(record: &Record<'_>, checker: &Value) -> Result<Program, GradingError> {
    match (checker.get("language"), checker.get("source")) {
        (Some(Value::Str(language)), Some(Value::Str(source))) if language == "python" => {
            Ok(Program::new(language, source.as_bytes()))
        }
        (Some(Value::Str(language)), Some(Value::Str(_))) => Err(record.wrong(
            "checker.language",
            format!("`{language}` checkers are not supported; write it in `python`"),
        )),
        _ => Err(record.wrong(
            "checker",
            "a checker has a `language` and a `source`, both strings; write it so, or leave it out",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Problem, parse_problems};
    use super::*;

    /// A record of each layout, and the rule that its layout asks for.
    const LAYOUTS: [(&str, Option<Rule>); 6] = [
        (r#"{"id": 1, "tests": [{"input": "1", "output": "2"}]"#, None),
        (r#"{"id": 1, "input_output": {"inputs": ["1"], "outputs": ["2"]}"#, Some(Rule::Apps)),
        (r#"{"id": 1, "public_tests": {"input": ["1"], "output": ["2"]}"#, Some(Rule::Tokens)),
        (r#"{"id": 1, "public_test_cases": [{"input": "1", "output": "2"}]"#, Some(Rule::Lcb)),
        (r##"{"id": 1, "entry_point": "f", "prompt": "", "test": """##, None),
        (r#"{"id": 1, "test_list": ["assert f(1)"]"#, None),
    ];

    fn read(record: &str, more: &str) -> Result<Problem, String> {
        let text = format!("{record}{more}}}");
        parse_problems(Path::new("p.jsonl"), &text)
            .map(|mut problems| problems.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_record_asks_for_itself_comes_before_its_layout() {
        let checker = r#", "checker": {"language": "python", "source": "pass"}"#;
        for (record, of_layout) in LAYOUTS {
            let rule = |more: &str| read(record, more).map(|problem| problem.compare);
            assert_eq!(rule(""), Ok(of_layout), "{record}");
            assert_eq!(rule(r#", "compare": null, "checker": null"#), Ok(of_layout), "{record}");
            assert_eq!(rule(r#", "compare": "exact""#), Ok(Some(Rule::Exact)), "{record}");
            assert_eq!(rule(checker), Ok(Some(Rule::Checker)), "{record}");
            let both = format!(r#", "compare": "tokens"{checker}"#);
            assert_eq!(rule(&both), Ok(Some(Rule::Tokens)), "{record}");
            let program = Program::new("python", b"pass".as_slice());
            assert_eq!(read(record, checker).unwrap().checker, Some(program), "{record}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_in_every_layout() {
        for (record, _) in LAYOUTS {
            for (more, part) in [
                (r#", "compare": "tolkens""#, "no compare rule `tolkens`"),
                (r#", "compare": 1"#, "field `compare`: a string"),
                (r#", "compare": "checker""#, "field `checker`: the rule is `checker`"),
                (r#", "checker": "int main() {}""#, "field `checker`: a checker has"),
                (r#", "checker": {"language": "c++", "source": ""}"#, "`c++` checkers"),
            ] {
                let error = read(record, more).unwrap_err();
                assert!(error.contains(part), "{record}: {error}");
            }
        }
    }
}
