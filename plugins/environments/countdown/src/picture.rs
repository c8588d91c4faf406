//! The puzzle as a drawing: cards for the numbers, the target above them.

use std::fmt::Write;

use crate::puzzle::Puzzle;

const CARD: usize = 90;
const GAP: usize = 10;

/// The target, the numbers, and what was made of them last.
pub fn svg(puzzle: &Puzzle, last: &str) -> String {
    let width = puzzle.numbers.len() * (CARD + GAP) + GAP;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 200" font-family="sans-serif" text-anchor="middle"><rect x="{GAP}" y="{GAP}" width="{}" height="70" fill="#222"/><text x="{}" y="60" font-size="40" fill="#f2cc8f">{}</text>"##,
        width - 2 * GAP,
        width / 2,
        puzzle.target,
    );
    for (index, number) in puzzle.numbers.iter().enumerate() {
        let left = GAP + index * (CARD + GAP);
        let _ = write!(
            svg,
            r##"<rect x="{left}" y="95" width="{CARD}" height="60" fill="#457b9d"/><text x="{}" y="135" font-size="22" fill="white">{number}</text>"##,
            left + CARD / 2,
        );
    }
    let last = last.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = write!(svg, r#"<text x="{}" y="185" font-size="14">{last}</text></svg>"#, width / 2);
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_card_and_text_stays_text() {
        let svg = svg(&Puzzle { numbers: vec![3, 7], target: 21 }, "`<b>` & more");
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("`&lt;b&gt;` &amp; more</text></svg>"), "{svg}");
    }
}
