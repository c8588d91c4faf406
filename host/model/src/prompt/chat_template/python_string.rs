//! The methods of Python's strings that templates call.

use minijinja::value::from_args;
use minijinja::{Error, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

/// What `value.method(…)` is.
pub(super) fn call(
    state: &State,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match (method, value.as_str()) {
        ("title", Some(text)) => {
            let () = from_args(arguments)?;
            Ok(Value::from(title(text)))
        }
        ("find", Some(text)) => {
            let (part,): (&str,) = from_args(arguments)?;
            Ok(Value::from(place(text, text.find(part))))
        }
        ("rfind", Some(text)) => {
            let (part,): (&str,) = from_args(arguments)?;
            Ok(Value::from(place(text, text.rfind(part))))
        }
        _ => unknown_method_callback(state, value, method, arguments),
    }
}

/// Characters before a byte of a text; −1 if there is none.
fn place(text: &str, byte: Option<usize>) -> i64 {
    byte.map_or(-1, |byte| text[..byte].chars().count() as i64)
}

/// Python's `str.title`: a word begins where a letter that has a case follows something that has
/// none, so also after a digit, an apostrophe or an ideogram.
fn title(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    let mut within = false;
    for letter in text.chars() {
        if within {
            titled.extend(letter.to_lowercase());
        } else {
            let mut upper = letter.to_uppercase();
            titled.extend(upper.next());
            titled.extend(upper.flat_map(char::to_lowercase));
        }
        within = letter.is_lowercase() || letter.is_uppercase();
    }
    titled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let places = |template: &str| {
            let mut environment = minijinja::Environment::new();
            environment.set_unknown_method_callback(call);
            environment.render_str(template, ()).unwrap()
        };
        assert_eq!(places("{{ '東京b🙂b'.find('b') }} {{ '東京b🙂b'.rfind('b') }}"), "2 4");
        assert_eq!(places("{{ '東京'.find('b') }} {{ '東京'.rfind('b') }}"), "-1 -1");
    }

    #[test]
    fn words_begin_where_they_do_in_python() {
        for (text, titled) in [
            ("東京naïve", "東京Naïve"),
            ("a1b it's", "A1B It'S"),
            ("9th ⅷa ßx", "9Th Ⅷa Ssx"),
            ("tWO  WORDS", "Two  Words"),
            ("ªb x\u{301}y", "ªb X\u{301}Y"),
        ] {
            assert_eq!(title(text), titled);
        }
    }
}
