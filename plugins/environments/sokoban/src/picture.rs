//! A level as an image.

use std::fmt::Write;

use crate::level::{Cell, Level, Position};

/// Pixels of a cell's side.
const SIDE: i32 = 40;

/// The level as svg.
pub fn svg(level: &Level, position: &Position) -> String {
    let (width, height) = (SIDE * i32::from(level.width()), SIDE * i32::from(level.height()));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#f4efe6\"/>"
    );
    level.cells().for_each(|cell| draw(&mut svg, level, position, cell));
    svg.push_str("</svg>");
    svg
}

fn draw(svg: &mut String, level: &Level, position: &Position, cell: Cell) {
    let (row, column) = level.place(cell);
    let (left, top) = (SIDE * column, SIDE * row);
    let square = |inset: i32, color: &str| {
        let (x, y, side) = (left + inset, top + inset, SIDE - 2 * inset);
        format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" rx=\"3\" \
             fill=\"{color}\"/>"
        )
    };
    let disc = |radius: i32, color: &str| {
        let (x, y) = (left + SIDE / 2, top + SIDE / 2);
        format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{color}\"/>")
    };
    let is_home = position.has_box(cell) && level.is_goal(cell);
    let shapes = [
        (!level.is_floor(cell), square(0, "#5b5348")),
        (level.is_goal(cell), disc(8, "#c0392b")),
        (position.has_box(cell), square(5, if is_home { "#5a8f4e" } else { "#c58b3b" })),
        (position.player == cell, disc(14, "#2f6690")),
    ];
    for (_, shape) in shapes.iter().filter(|(is_here, _)| *is_here) {
        // Writing to a string cannot fail.
        let _ = write!(svg, "{shape}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::tests::read;

    #[test]
    fn walls_goals_boxes_and_the_player_are_drawn() {
        let (level, position) = read("#####\n#@$.#\n#####");
        let svg = svg(&level, &position);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
        assert_eq!(svg.matches("#5b5348").count(), 12);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("#c58b3b").count(), 1);
    }
}
