//! Call-based tests: results against expected values.

use super::Rule;
use crate::value::Value;

/// Whether the rule accepts what a function returned.
///
/// - `lcb`: a tuple is a list, at the top only; then Python's `==`.
/// - `apps`, `prime`: likewise; or `==` the only or first element of the
///   expected list; or a list of tuples that is, as lists, that element. An
///   expected dictionary has its keys turned into integers, if all can be.
/// - `float`: tuples are lists, numbers within the tolerance.
/// - all others: tuples are lists at any depth; then Python's `==`.
pub fn call_matches(rule: Rule, expected: &Value, returned: &Value) -> bool {
    match rule {
        Rule::Lcb => top_list(returned).python_eq(expected),
        Rule::Apps | Rule::Prime => apps(expected, &top_list(returned)),
        Rule::Float(tolerance) => expected
            .python_eq_with(&returned.clone().with_lists(), &|expected, actual| {
                tolerance.holds(expected, actual)
            }),
        _ => expected.python_eq(&returned.clone().with_lists()),
    }
}

fn top_list(value: &Value) -> Value {
    match value {
        Value::Tuple(items) => Value::List(items.clone()),
        other => other.clone(),
    }
}

fn apps(expected: &Value, returned: &Value) -> bool {
    let with_integer_keys = match expected {
        Value::Dict(_) => integer_keys(expected),
        Value::List(items) => items.first().and_then(integer_keys),
        _ => None,
    };
    let expected = match with_integer_keys {
        Some(dict) => &Value::List(vec![dict]),
        None => expected,
    };
    let Value::List(items) = expected else { return returned.python_eq(expected) };
    let Some(first) = items.first() else { return returned.python_eq(expected) };
    let Value::List(rows) = returned else { return returned.python_eq(first) };
    let as_lists = matches!(rows.first(), Some(Value::Tuple(_))).then(|| rows.iter().map(top_list));
    returned.python_eq(expected)
        || returned.python_eq(first)
        || as_lists.is_some_and(|rows| Value::List(rows.collect()).python_eq(first))
}

/// JSON has no integer keys; the original gives them back. None if a key is no
/// integer, or the value no dictionary.
fn integer_keys(value: &Value) -> Option<Value> {
    let Value::Dict(pairs) = value else { return None };
    let integer = |key: &Value| match key {
        Value::Str(text) => text.trim().parse::<i64>().ok().map(|n| Value::Int(n.to_string())),
        _ => None,
    };
    let pair = |(key, value): &(Value, Value)| Some((integer(key)?, value.clone()));
    pairs.iter().map(pair).collect::<Option<_>>().map(Value::dict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Tolerance;

    const TUPLE: &str = r#"{"__troupe__": ["tuple", [1, 2]]}"#;
    const ROWS: &str = r#"[{"__troupe__": ["tuple", [1, 2]]}, {"__troupe__": ["tuple", [3, 4]]}]"#;
    const KEYS: &str = r#"{"__troupe__": ["dict", [[1, "a"]]]}"#;

    const TWICE: &str = r#"{"__troupe__": ["dict", [["a", 7], ["a", 1]]]}"#;

    /// Expected, returned, and whether `lcb`, `apps` and our own rules accept.
    const CASES: &[(&str, &str, bool, bool, bool)] = &[
        ("3", "3", true, true, true),
        ("3", "3.0", true, true, true),
        ("1", "true", true, true, true),
        ("[3]", "3", false, true, false),
        ("[3, 4]", "3", false, true, false),
        ("3", "[3]", false, false, false),
        ("[1, 2]", TUPLE, true, true, true),
        ("[[1, 2]]", TUPLE, false, true, false),
        ("[[1, 2], [3, 4]]", ROWS, false, false, true),
        ("[[[1, 2], [3, 4]]]", ROWS, false, true, false),
        (r#"{"1": "a"}"#, r#"{"1": "a"}"#, true, false, true),
        (r#"{"1": "a"}"#, KEYS, false, true, false),
        (r#"[{"1": "a"}]"#, KEYS, false, true, false),
        (r#"{"a": 1}"#, r#"{"a": 1}"#, true, true, true),
        (r#"{"a": 1, "b": 2}"#, TWICE, false, false, false),
        (r#"{"a": 1}"#, TWICE, true, true, true),
        ("[]", "[]", true, true, true),
        ("null", "null", true, true, true),
        ("\"a\"", "\"a \"", false, false, false),
        ("0.3", "0.30000000000000004", false, false, false),
        ("NaN", "NaN", false, false, false),
    ];

    #[test]
    fn results_are_accepted_where_the_originals_accept_them() {
        for &(expected, returned, lcb, apps, ours) in CASES {
            let (value, result) =
                (Value::parse(expected).unwrap(), Value::parse(returned).unwrap().decoded());
            for (rule, accepted) in [
                (Rule::Lcb, lcb),
                (Rule::Apps, apps),
                (Rule::Prime, apps),
                (Rule::Lines, ours),
                (Rule::Tokens, ours),
            ] {
                assert_eq!(
                    call_matches(rule, &value, &result),
                    accepted,
                    "{rule}: {expected} and {returned}"
                );
            }
        }
    }

    #[test]
    fn float_forgives_numbers_inside_a_result() {
        let (expected, near) =
            (Value::parse("[0.3, \"a\"]").unwrap(), Value::parse("[0.30000001, \"a\"]").unwrap());
        assert!(call_matches(Rule::Float(Tolerance::default()), &expected, &near));
        assert!(!call_matches(Rule::Lines, &expected, &near));
    }
}
