//! JSON as Python's `json.dumps` writes it.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};
use serde_json::Value as Json;

/// The filter `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub(super) fn filter(value: &Value, options: Kwargs) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, "`tojson` is given an undefined value"));
    }
    let indent: Option<usize> = options.get("indent")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    let (item, key) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => {
            let reason = "`separators` of `tojson` must be two texts";
            return Err(Error::new(ErrorKind::InvalidOperation, reason));
        }
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
    };
    let style = Style {
        item,
        key,
        indent,
        ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    let json = serde_json::to_value(value)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    let mut text = String::new();
    style.write(&json, 0, &mut text);
    Ok(text)
}

/// The options of `json.dumps`.
struct Style {
    item: String,
    key: String,
    indent: Option<usize>,
    ascii: bool,
    sorted: bool,
}

impl Style {
    fn write(&self, value: &Json, depth: usize, text: &mut String) {
        match value {
            Json::Null => text.push_str("null"),
            Json::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
            Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
                Some(float) => text.push_str(&python_float(float)),
                None => text.push_str(&number.to_string()),
            },
            Json::String(content) => self.write_text(content, text),
            Json::Array(items) => {
                self.write_all('[', ']', items, depth, text, |item, text| {
                    self.write(item, depth + 1, text);
                });
            }
            Json::Object(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                if self.sorted {
                    entries.sort_by_key(|(key, _)| *key);
                }
                self.write_all('{', '}', entries, depth, text, |(key, value), text| {
                    self.write_text(key, text);
                    text.push_str(&self.key);
                    self.write(value, depth + 1, text);
                });
            }
        }
    }

    fn write_all<T>(
        &self,
        open: char,
        close: char,
        items: impl IntoIterator<Item = T>,
        depth: usize,
        text: &mut String,
        write: impl Fn(T, &mut String),
    ) {
        text.push(open);
        let mut empty = true;
        for item in items {
            if !empty {
                text.push_str(&self.item);
            }
            empty = false;
            self.break_line(depth + 1, text);
            write(item, text);
        }
        if !empty {
            self.break_line(depth, text);
        }
        text.push(close);
    }

    fn break_line(&self, depth: usize, text: &mut String) {
        if let Some(indent) = self.indent {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }

    fn write_text(&self, content: &str, text: &mut String) {
        let quoted = Json::from(content).to_string();
        if !self.ascii {
            return text.push_str(&quoted);
        }
        for letter in quoted.chars() {
            if letter <= '~' {
                text.push(letter);
                continue;
            }
            for unit in letter.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}

/// `repr` of a float: the shortest digits, in scientific notation below 10⁻⁴
/// and from 10¹⁶ on.
fn python_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if float != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{float:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (float, text) in [
            (0.0, "0.0"),
            (-2.0, "-2.0"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.234_567_890_123_456_8e17, "1.2345678901234568e+17"),
            (0.1, "0.1"),
        ] {
            assert_eq!(python_float(float), text);
        }
    }

    fn dump(value: serde_json::Value, arguments: &[(&str, Value)]) -> String {
        let options = Kwargs::from_iter(arguments.iter().cloned());
        filter(&Value::from_serialize(value), options).unwrap()
    }

    #[test]
    fn options_mean_what_they_mean_in_python() {
        let value = serde_json::json!({ "b": [1, 2.0, {}], "a": "é😀\u{7f}\n", "c": [] });
        assert_eq!(
            dump(value.clone(), &[]),
            "{\"b\": [1, 2.0, {}], \"a\": \"é😀\u{7f}\\n\", \"c\": []}"
        );
        assert_eq!(
            dump(value.clone(), &[("indent", Value::from(2)), ("sort_keys", Value::from(true))]),
            "{\n  \"a\": \"é😀\u{7f}\\n\",\n  \"b\": [\n    1,\n    2.0,\n    {}\n  ],\n  \"c\": []\n}"
        );
        let separators = Value::from(vec![",", ":"]);
        assert_eq!(
            dump(value, &[("ensure_ascii", Value::from(true)), ("separators", separators)]),
            "{\"b\":[1,2.0,{}],\"a\":\"\\u00e9\\ud83d\\ude00\\u007f\\n\",\"c\":[]}"
        );
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(filter(&Value::UNDEFINED, Kwargs::from_iter::<[(&str, Value); 0]>([])).is_err());
    }
}
