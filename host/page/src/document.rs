//! A page as a file: markup, style, and perhaps a script and its data, which nothing outside
//! belongs to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::text::{escaped_json, escaped_text};

/// What all pages look like.
pub const STYLE: &str = include_str!("page.css");

/// A page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'d> {
    /// What the window is called.
    pub title: &'d str,
    /// What it looks like besides [`STYLE`].
    pub style: &'d str,
    /// Its markup, in which every text is escaped.
    pub body: &'d str,
    /// What runs in it; nothing can if there is none.
    pub script: Option<Script<'d>>,
}

/// What runs in a page.
#[derive(Clone, Copy, Debug)]
pub struct Script<'d> {
    /// JSON, which it finds in the element `data`.
    pub data: &'d str,
    /// The script.
    pub code: &'d str,
}

impl Document<'_> {
    /// The page as a file.
    pub fn to_html(&self) -> String {
        let style = format!("{STYLE}{}", self.style);
        let (allowed, scripts) = match &self.script {
            None => (String::new(), String::new()),
            Some(Script { data, code }) => (
                format!("script-src '{}'; ", digest(code)),
                format!(
                    "<script id=\"data\" type=\"application/json\">{}</script>\n<script>{code}</script>\n",
                    escaped_json(data)
                ),
            ),
        };
        [
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
            &escaped_text(self.title),
            "</title>\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ",
            &allowed,
            "style-src '",
            &digest(&style),
            "'; img-src data:; base-uri 'none'; form-action 'none'\">\n<style>",
            &style,
            "</style>\n</head>\n<body>\n",
            self.body,
            &scripts,
            "</body>\n</html>\n",
        ]
        .concat()
    }
}

/// What a content security policy calls the text of an element.
fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded_bytes;

    const HOSTILE: &str = "</script><img onerror=x><!--<script>\u{202e}\u{0}\n\"";

    #[test]
    fn no_text_ends_the_element_that_it_stands_in() {
        let data = serde_json::to_string(&[HOSTILE]).unwrap();
        let script = Script { data: &data, code: "show()" };
        let page = Document { title: HOSTILE, script: Some(script), ..Document::default() };
        let page = page.to_html();
        assert_eq!(page.matches("</script").count(), 2, "the data's and the script's");
        assert_eq!(page.matches("<title>&lt;/script&gt;&lt;img onerror=x&gt;&lt;!--").count(), 1);
        assert!(!page.contains("<img onerror"));
        let (_, data) = page.split_once("type=\"application/json\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<[String; 1]>(data).unwrap(), [HOSTILE]);
        assert_eq!(embedded_bytes(HOSTILE) + 2, data.len());
    }

    #[test]
    fn the_policy_allows_this_style_and_script_and_nothing_else() {
        let script = Script { data: "1", code: "show()" };
        for script in [None, Some(script)] {
            let page = Document { style: "p { margin: 0 }", script, ..Document::default() };
            let page = page.to_html();
            let (_, style) = page.split_once("<style>").unwrap();
            let (style, _) = style.split_once("</style>").unwrap();
            assert!(style.ends_with("p { margin: 0 }"));
            let runs = script.map(|it| format!("script-src '{}'; ", digest(it.code)));
            let policy = format!(
                "content=\"default-src 'none'; {}style-src '{}'; img-src data:; base-uri 'none'; \
                 form-action 'none'\"",
                runs.unwrap_or_default(),
                digest(style)
            );
            assert!(page.contains(&policy), "{}", &page[..2000]);
            for outside in ["http:", "https:", "src=", "@import"] {
                assert!(!page.contains(outside), "{outside}");
            }
        }
    }
}
