//! The pegs as a drawing.

use std::fmt::Write;

use crate::pegs::{Peg, Pegs};

const DISC: usize = 16;
const GAP: usize = 10;

/// The discs on the pegs; the target has a mark.
pub fn svg(pegs: &Pegs, target: Peg) -> String {
    let discs = pegs.of_disc().len();
    let widest = (discs + 1) * DISC;
    let (width, ground) = (usize::from(pegs.count()) * (widest + GAP) + GAP, (discs + 2) * DISC);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {}" font-family="sans-serif" font-size="14" text-anchor="middle">"#,
        ground + 30,
    );
    for peg in 0..pegs.count() {
        let middle = GAP + usize::from(peg) * (widest + GAP) + widest / 2;
        let (mark, color) = if peg == target { (" (goal)", "#bc4749") } else { ("", "#555") };
        let _ = write!(
            svg,
            r#"<path d="M{middle} {DISC}V{ground}M{} {ground}h{widest}" stroke="{color}" stroke-width="4"/><text x="{middle}" y="{}">{}{mark}</text>"#,
            middle - widest / 2,
            ground + 20,
            peg + 1,
        );
        for (level, disc) in pegs.on(peg).into_iter().enumerate() {
            let (broad, y) = ((disc + 1) * DISC, ground - (level + 1) * DISC);
            let _ = write!(
                svg,
                r##"<rect x="{}" y="{y}" width="{broad}" height="{DISC}" rx="6" fill="#81b29a" stroke="black"/><text x="{middle}" y="{}">{disc}</text>"##,
                middle - broad / 2,
                y + 13,
            );
        }
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disc_is_drawn_and_the_target_is_marked() {
        let svg = svg(&Pegs::new(4, vec![0, 2, 0]), 1);
        assert_eq!((svg.matches("<rect").count(), svg.matches("(goal)").count()), (3, 1));
        assert!(svg.ends_with("</svg>"));
    }
}
