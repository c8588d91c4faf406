//! What may be printed: text that a terminal shows, and does not obey.

use std::borrow::Cow;

/// Whether a terminal would obey it, or would not show it. Lines stay lines.
pub fn is_hidden(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let breaks = matches!(letter, '\u{2028}' | '\u{2029}');
    (letter.is_control() && letter != '\n' && letter != '\t') || turns || breaks
}

/// The text with what [`is_hidden`] written out as `\u001b`, which JSON reads as
/// the same.
///
/// ```
/// use plugin_sdk::printing::visible;
///
/// assert_eq!(visible("a\u{1b}[2Jb\n"), "a\\u001b[2Jb\n");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let write = |letter: char| match is_hidden(letter) {
        true => format!("\\u{:04x}", u32::from(letter)),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(write).collect())
}
