//! The stacks as a drawing.

use std::fmt::Write;

use crate::stacks::{Block, Stacks};

/// Side of a block, and what is between blocks.
const SIDE: usize = 40;
const GAP: usize = 10;
const COLORS: [&str; 8] =
    ["#e07a5f", "#3d405b", "#81b29a", "#f2cc8f", "#6d597a", "#457b9d", "#bc4749", "#606c38"];

/// What stands now, and beside it the goal.
pub fn svg(stacks: &Stacks, goal: &Stacks) -> String {
    let blocks = stacks.blocks().count();
    let half = blocks * (SIDE + GAP) + GAP;
    let (width, height) = (2 * half + GAP, (blocks + 1) * SIDE + GAP);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="20" text-anchor="middle">"#
    );
    for (title, stacks, left) in [("now", stacks, 0), ("goal", goal, half + GAP)] {
        let _ = write!(
            svg,
            r#"<text x="{}" y="20" font-size="16">{title}</text><path d="M{left} {ground}h{half}" stroke="black" stroke-width="3"/>"#,
            left + half / 2,
            ground = height - GAP,
        );
        for (index, tower) in stacks.towers().iter().enumerate() {
            for (level, &block) in tower.iter().enumerate() {
                let x = left + GAP + index * (SIDE + GAP);
                svg += &square(block, x, height - GAP - (level + 1) * SIDE);
            }
        }
    }
    svg + "</svg>"
}

fn square(block: Block, x: usize, y: usize) -> String {
    let color = COLORS[usize::from(block.0) % COLORS.len()];
    format!(
        r#"<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="{color}" stroke="black"/><text x="{}" y="{}" fill="white">{}</text>"#,
        x + SIDE / 2,
        y + SIDE / 2 + 7,
        block.name(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::tests::stacks;

    #[test]
    fn every_block_is_drawn_now_and_in_the_goal() {
        let svg = svg(&stacks("AB C"), &stacks("CBA"));
        assert_eq!(svg.matches("<rect").count(), 6);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
    }
}
