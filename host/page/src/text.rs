//! Texts that somebody else wrote: in the markup of a page, and in its data.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A text that stays a text in HTML and SVG, also within quotation marks.
pub fn escaped_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The address of a drawing, which as an image can only be looked at, whatever stands in it.
pub fn image(svg: &str) -> String {
    format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg))
}

/// JSON in which nothing ends or opens an element: `<` stands only in strings, where it can be
/// written as a number.
pub(crate) fn escaped_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Bytes that a text takes in the data of a page.
pub fn embedded_bytes(text: &str) -> usize {
    let of = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        b'<' | 0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(of).sum::<usize>() + 2
}
