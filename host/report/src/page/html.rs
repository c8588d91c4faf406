//! The page as a file: markup, style, script and data, which nothing outside belongs to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

const FRAME: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
/// The script's files; each uses those before it.
const SCRIPT: [&str; 12] = [
    include_str!("assets/data.js"),
    include_str!("assets/element.js"),
    include_str!("assets/address.js"),
    include_str!("assets/chart.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/roles.js"),
    include_str!("assets/siblings.js"),
    include_str!("assets/tree.js"),
    include_str!("assets/episodes.js"),
    include_str!("assets/tasks.js"),
    include_str!("assets/setup.js"),
    include_str!("assets/main.js"),
];

/// The whole page around its data.
///
/// # Errors
/// If the data cannot be written as JSON.
pub fn page_of(title: &str, data: &impl Serialize) -> Result<String, serde_json::Error> {
    let script = SCRIPT.concat();
    let data = escaped_json(&serde_json::to_string(data)?);
    // The places in their order: what was filled in is not looked at for places to fill.
    let filled = [
        ("{{title}}", &escaped_text(title)),
        ("{{script digest}}", &digest(&script)),
        ("{{style digest}}", &digest(STYLE)),
        ("{{style}}", &STYLE.to_owned()),
        ("{{data}}", &data),
        ("{{script}}", &script),
    ];
    let mut page = String::with_capacity(FRAME.len() + STYLE.len() + script.len() + data.len());
    let mut rest = FRAME;
    for (place, text) in filled {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

/// What a content security policy calls the text of an element.
fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// JSON in which nothing ends or opens an element: `<` stands only in strings, where it can be
/// written as a number.
fn escaped_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

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

/// Bytes that a text takes in the data of a page.
pub fn embedded_bytes(text: &str) -> usize {
    let of = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        b'<' | 0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(of).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element_that_it_stands_in() {
        let hostile = "</script><img onerror=x><!--<script>\u{202e}\u{0}\n\"";
        let page = page_of(hostile, &[hostile]).unwrap();
        assert_eq!(page.matches("</script").count(), 2, "the data's and the script's");
        assert_eq!(page.matches("<title>&lt;/script&gt;&lt;img onerror=x&gt;&lt;!--").count(), 1);
        assert!(!page.contains("<img onerror"));
        let (_, data) = page.split_once("type=\"application/json\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<[String; 1]>(data).unwrap(), [hostile]);
        assert_eq!(embedded_bytes(hostile) + 2, data.len());
    }

    #[test]
    fn the_policy_allows_this_script_and_style_and_nothing_else() {
        let page = page_of("t", &1).unwrap();
        let (_, script) = page.split_once("<script>").unwrap();
        let (script, _) = script.split_once("</script>").unwrap();
        let (_, style) = page.split_once("<style>").unwrap();
        let (style, _) = style.split_once("</style>").unwrap();
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri \
             'none'; form-action 'none'",
            digest(script),
            digest(style)
        );
        assert!(page.contains(&policy), "{}", &page[..2000]);
        assert!(!page.contains("{{"), "every place is filled");
        for outside in ["http:", "https:", "src=", "@import", "innerHTML", "eval("] {
            let allowed = usize::from(outside == "http:");
            assert!(page.matches(outside).count() <= allowed, "{outside}");
        }
    }
}
