//! The page as a file: its own style and script, and its data.

use serde::Serialize;

use troupe_page::{Document, Script};

const STYLE: &str = include_str!("assets/report.css");
/// The script's files; each uses those before it.
const SCRIPT: [&str; 13] = [
    include_str!("assets/data.js"),
    include_str!("assets/element.js"),
    include_str!("assets/address.js"),
    include_str!("assets/chart.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/roles.js"),
    include_str!("assets/siblings.js"),
    include_str!("assets/tree.js"),
    include_str!("assets/course.js"),
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
    let (code, data) = (SCRIPT.concat(), serde_json::to_string(data)?);
    let script = Some(Script { data: &data, code: &code });
    Ok(Document { title, style: STYLE, body: "", script }.to_html())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_asks_for_nothing_and_makes_no_markup_of_texts() {
        let page = page_of("t", &1).unwrap();
        assert!(page.contains("script-src 'sha256-"));
        for outside in ["http:", "https:", "src=", "@import", "innerHTML", "eval("] {
            // SVG's namespace is an address that nobody visits.
            let allowed = usize::from(outside == "http:");
            assert!(page.matches(outside).count() <= allowed, "{outside}");
        }
    }
}
