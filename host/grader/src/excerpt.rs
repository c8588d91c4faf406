//! The place where two texts part, for people.

/// Characters shown around the place.
const WIDTH: usize = 80;

/// Excerpts of both texts around the first character in which they differ,
/// each with its line number.
pub(super) fn around_difference(expected: &[u8], actual: &[u8]) -> (String, String) {
    let (expected, actual) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(actual));
    let place = expected.chars().zip(actual.chars()).take_while(|(a, b)| a == b).count();
    (excerpt(&expected, place), excerpt(&actual, place))
}

/// The beginning of a text.
pub(super) fn beginning(text: &str) -> String {
    clipped(text, 0)
}

fn excerpt(text: &str, place: usize) -> String {
    let line = text.chars().take(place).filter(|&c| c == '\n').count() + 1;
    format!("line {line}: {}", clipped(text, place.saturating_sub(WIDTH / 2)))
}

fn clipped(text: &str, start: usize) -> String {
    let shown: String = text.chars().skip(start).take(WIDTH).flat_map(char::escape_debug).collect();
    let more = text.chars().nth(start + WIDTH).is_some();
    let (before, after) = (if start > 0 { "…" } else { "" }, if more { "…" } else { "" });
    format!("\"{before}{shown}{after}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_in_sight_with_its_line() {
        let expected = format!("{}right\n", "same\n".repeat(100));
        let actual = format!("{}wrong\n", "same\n".repeat(100));
        let (expected, actual) = around_difference(expected.as_bytes(), actual.as_bytes());
        assert!(expected.starts_with("line 101: \"…") && expected.contains("right"), "{expected}");
        assert!(actual.contains("wrong"), "{actual}");
        assert!(expected.chars().count() < 150);
    }

    #[test]
    fn short_texts_are_shown_whole() {
        let (expected, actual) = around_difference(b"1\n", b"");
        assert_eq!((expected.as_str(), actual.as_str()), ("line 1: \"1\\n\"", "line 1: \"\""));
        assert_eq!(beginning(&"x".repeat(81)), format!("\"{}…\"", "x".repeat(80)));
    }
}
