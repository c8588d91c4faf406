//! The board as a drawing.

use std::fmt::Write;

use crate::board::{Board, Shape, Side};

const CELL: usize = 40;

/// The board with its discs.
pub fn svg(board: &Board) -> String {
    let Shape { rows, columns, .. } = board.shape();
    let (width, height) = (columns * CELL, rows * CELL);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {}" font-family="sans-serif" font-size="16" text-anchor="middle"><rect width="{width}" height="{height}" fill="#1d4e89"/>"##,
        height + 24,
    );
    for column in 0..columns {
        let x = column * CELL + CELL / 2;
        for row in 0..rows {
            let color = match board.at(row, column) {
                None => "white",
                Some(Side::First) => "#e63946",
                Some(Side::Second) => "#ffd166",
            };
            let y = height - row * CELL - CELL / 2;
            let _ = write!(svg, r#"<circle cx="{x}" cy="{y}" r="16" fill="{color}"/>"#);
        }
        let _ = write!(svg, r#"<text x="{x}" y="{}">{}</text>"#, height + 18, column + 1);
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::after;

    #[test]
    fn every_cell_is_drawn() {
        let svg = svg(&after("1234"));
        assert_eq!((svg.matches("<circle").count(), svg.matches("#e63946").count()), (20, 2));
    }
}
