//! Texts and numbers as a page shows them.

use plugin_sdk::printing::visible;

/// Bytes of a text that are shown; what is longer is cut, and it is said by how much.
const TEXT_BYTES: usize = 4000;

/// A text that somebody else wrote, as far as it is shown: what a screen would obey is written out.
pub fn shown(text: &str) -> String {
    cut(text, TEXT_BYTES)
}

/// The same of a text that ought to be short.
pub fn briefly(text: &str) -> String {
    cut(text, TEXT_BYTES / 10)
}

fn cut(text: &str, most: usize) -> String {
    let start = &text[..text.floor_char_boundary(most)];
    match text.len() - start.len() {
        0 => visible(start).into_owned(),
        missing => format!("{} … [{missing} more bytes]", visible(start)),
    }
}

/// What something is worth, with its sign.
pub fn worth(value: f64) -> String {
    let text = if value != 0.0 && value.abs() < 0.005 {
        format!("{value:+.0e}")
    } else {
        format!("{value:+.2}")
    };
    text.replace('-', "−")
}

/// The same as a range, if it is one.
pub fn range(least: f64, most: f64) -> String {
    match (worth(least), worth(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}

/// The class that colors it.
pub fn sort(value: f64) -> &'static str {
    match value {
        value if value > 0.0 => "worth good",
        value if value < 0.0 => "worth bad",
        _ => "worth even",
    }
}

/// A number and what is counted, in the plural that English has most often.
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Bytes as people say them.
pub fn bytes(count: usize) -> String {
    match count {
        0..1_000_000 => format!("{:.0} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_letters_and_one_that_turns_is_written_out() {
        assert_eq!(shown("a\u{202e}b"), "a\\u202eb");
        let long = "ä".repeat(TEXT_BYTES);
        assert_eq!(shown(&long), format!("{} … [4000 more bytes]", "ä".repeat(2000)));
        assert!(briefly(&long).len() < 500);
    }

    #[test]
    fn numbers_are_short_and_signed() {
        assert_eq!([worth(0.5), worth(-0.1), worth(0.0)], ["+0.50", "−0.10", "+0.00"]);
        assert_eq!(worth(1e-4), "+1e−4");
        assert_eq!(
            (range(0.1, 0.1001), range(-1.0, 1.0)),
            ("+0.10".into(), "−1.00 to +1.00".into())
        );
        assert_eq!((bytes(393_300), bytes(39_881_793)), ("393 kB".into(), "39.9 MB".into()));
        assert_eq!((counted(1, "role"), counted(2, "role")), ("1 role".into(), "2 roles".into()));
    }
}
