//! Text as Python's `str` sees it: white space, lines and numbers.

/// Whether `str.isspace` holds: Unicode's white space, and the four ASCII
/// separators that Unicode does not count.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// `str.strip()`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.split()`.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// `str.splitlines()`: more characters end a line than `\n`, `\r\n` is one
/// end, and after the last end there is no line.
pub(super) fn split_lines(text: &str) -> Vec<&str> {
    let ends = |c| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(end) = rest.find(ends) else {
            lines.push(rest);
            break;
        };
        lines.push(&rest[..end]);
        let after = &rest[end..];
        let length = if after.starts_with("\r\n") {
            2
        } else {
            after.chars().next().map_or(0, char::len_utf8)
        };
        rest = &after[length..];
    }
    lines
}

/// `float()`: white space around, `_` between digits, `inf` and `nan` are fine.
pub(super) fn float(text: &str) -> Option<f64> {
    // In a text of ASCII alone, Python strips what C calls white space.
    let c_space = |c| matches!(c, ' ' | '\t'..='\r');
    let text = if text.is_ascii() { text.trim_matches(c_space) } else { strip(text) };
    let bytes = text.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let underscores_separate = bytes
        .iter()
        .enumerate()
        .all(|(index, &byte)| byte != b'_' || index > 0 && digit(index - 1) && digit(index + 1));
    if !underscores_separate {
        return None;
    }
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_python_ends_them() {
        assert_eq!(
            split_lines("a\r\nb\rc\n\nd\u{b}e\u{2028}f\n"),
            ["a", "b", "c", "", "d", "e", "f"]
        );
        assert_eq!(split_lines("\n"), [""]);
        assert!(split_lines("").is_empty());
        assert_eq!(split_lines("a\u{1f}b"), ["a\u{1f}b"]);
    }

    #[test]
    fn numbers_are_what_python_takes_for_numbers() {
        for (text, number) in [
            (" 1.5\n", Some(1.5)),
            ("1_000", Some(1000.0)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("1_.5", None),
            ("1e3", Some(1000.0)),
            ("1e1_0", Some(1e10)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            (".", None),
            ("+2", Some(2.0)),
            ("--2", None),
            ("iNf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("1e999", Some(f64::INFINITY)),
            ("0x10", None),
            ("1,5", None),
            ("1\u{1f}", None),
            ("1\u{1f}\u{a0}", Some(1.0)),
            ("", None),
        ] {
            assert_eq!(float(text), number, "{text:?}");
        }
        assert!(float("nan").is_some_and(f64::is_nan));
    }
}
