//! The question and its documents as a drawing.

use std::fmt::Write;

use plugin_sdk::rendering::escaped;

use crate::question::Question;

const WIDTH: usize = 640;
const LINE: usize = 30;
/// Characters of a text that fit into a line.
const CHARACTERS: usize = 80;

/// The question, and for every document that it takes whether it was found.
pub fn svg(question: &Question, found: &[bool]) -> String {
    let height = (question.hops.len() + 2) * LINE;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="14"><rect width="{WIDTH}" height="{height}" fill="#f8f8f2"/><text x="12" y="24">{}</text>"##,
        escaped(start_of(&question.text)),
    );
    for (index, (title, _)) in question.hops.iter().enumerate() {
        let y = (index + 2) * LINE;
        let color = if found.get(index) == Some(&true) { "#588157" } else { "#bbb" };
        let _ = write!(
            svg,
            r#"<circle cx="24" cy="{}" r="8" fill="{color}"/><text x="44" y="{y}">{}</text>"#,
            y - 5,
            escaped(start_of(title)),
        );
    }
    svg + "</svg>"
}

/// As much of a text as the image has room for.
fn start_of(text: &str) -> &str {
    text.char_indices().nth(CHARACTERS).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_drawn_and_text_stays_text() {
        let question = Question {
            text: "<script> onload=x & more?".to_owned(),
            answers: vec!["A".to_owned()],
            hops: vec![("T".to_owned(), "T".to_owned()), ("U".to_owned(), "U".to_owned())],
            is_asked: false,
        };
        let svg = svg(&question, &[true, false]);
        assert_eq!((svg.matches("<circle").count(), svg.matches("#588157").count()), (2, 1));
        assert!(svg.contains("&#60;script&#62; onload&#61;x &#38; more&#63;"), "{svg}");
    }
}
