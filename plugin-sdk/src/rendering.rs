//! How episodes look, for people who play, watch or read about them.

pub use crate::bindings::contract::rendering::Rendering;

use crate::environment::Environment;
use crate::require;

/// Bytes of a drawing in characters, and of one as an image.
const TEXT_BYTES: usize = 64 << 10;
const SVG_BYTES: usize = 1 << 20;
/// What an image could load something with, or run something by; small letters.
const FORBIDDEN: [&str; 8] =
    ["<script", "<foreignobject", "<!", "<?", "href", "url(", "@import", "javascript:"];

/// An environment that can be drawn. It has to save its states, because a
/// drawing is made of one.
///
/// ```
/// use plugin_sdk::rendering::Rendering;
///
/// let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\"></svg>";
/// let rendering = Rendering { text: "@ . $".to_owned(), svg: svg.to_owned() };
/// assert_eq!(rendering.check(), Ok(()));
/// ```
pub trait Rendered: Environment {
    /// Draw what there is to see now, for a spectator who may see everything.
    fn render(&self) -> Rendering;
}

impl Rendering {
    /// What is wrong with it, if something is: it is too long, it is no image, or
    /// it could do more than be looked at.
    pub fn check(&self) -> Result<(), String> {
        let Rendering { text, svg } = self;
        for (what, bytes, most) in [("text", text, TEXT_BYTES), ("svg", svg, SVG_BYTES)] {
            let length = bytes.len();
            require(length <= most, || format!("its {what} has {length} bytes, more than {most}"))?;
        }
        require(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), || {
            "its svg does not begin with `<svg` and end with `</svg>`".to_owned()
        })?;
        let low = svg.to_ascii_lowercase();
        match FORBIDDEN.iter().find(|part| low.contains(*part)) {
            Some(part) => Err(format!("its svg contains `{part}`")),
            None => check_attributes(&low),
        }
    }
}

/// Text as it may stand in an image: whatever it says, the image can only be
/// looked at. Signs are written as numbers, and so is `f`, without which `href` cannot
/// be spelled; every other word that is refused has a sign in it.
pub fn escaped(text: &str) -> String {
    let plain = |letter: char| {
        letter == ' ' || (letter.is_ascii_alphanumeric() && !matches!(letter, 'f' | 'F'))
    };
    let written = |letter: char| match letter {
        _ if plain(letter) => letter.to_string(),
        _ if letter.is_control() => " ".to_owned(),
        _ => format!("&#{};", u32::from(letter)),
    };
    text.chars().map(written).collect()
}

/// An attribute that begins with `on` is run by the image's viewer.
fn check_attributes(svg: &str) -> Result<(), String> {
    let parts = svg.split(|c: char| c.is_whitespace() || c == '/' || c == '"' || c == '\'');
    let handler = |part: &&str| {
        let name = part.split('=').next().unwrap_or_default();
        part.contains('=') && name.len() > 2 && name.starts_with("on")
    };
    match parts.into_iter().find(handler) {
        Some(part) => Err(format!("its svg contains `{part}`")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(inside: &str) -> Option<String> {
        let svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\">{inside}</svg>");
        Rendering { text: String::new(), svg }.check().err()
    }

    #[test]
    fn an_image_can_only_be_looked_at() {
        assert_eq!(fault("<rect x=\"1\" fill=\"#abc\"/><text>one = 1</text>"), None);
        for inside in [
            "<SCRIPT>1</SCRIPT>",
            "<image href=\"x.png\"/>",
            "<rect style=\"fill:url(x)\"/>",
            "<rect onload=\"x()\"/>",
            "<rect/onclick='x()'/>",
            "<!ENTITY x>",
        ] {
            assert!(fault(inside).is_some(), "{inside}");
        }
    }

    #[test]
    fn whatever_a_text_says_it_can_be_shown() {
        let words = FORBIDDEN.join(" ");
        for text in [words.as_str(), "a onload=\"x\" b", "</text><script>", "\u{0}é\n1 < 2"] {
            assert_eq!(fault(&format!("<text>{}</text>", escaped(text))), None, "{text}");
        }
        assert_eq!(escaped("of 1 & 2"), "o&#102; 1 &#38; 2");
    }

    #[test]
    fn a_drawing_is_bounded() {
        assert!(fault(&" ".repeat(SVG_BYTES)).unwrap().contains("more than"));
        let text = "x".repeat(TEXT_BYTES + 1);
        let svg = "<svg></svg>".to_owned();
        assert!(Rendering { text, svg }.check().unwrap_err().starts_with("its text has"));
        let none = Rendering { text: String::new(), svg: "<p>".to_owned() };
        assert!(none.check().unwrap_err().contains("does not begin"));
    }
}
