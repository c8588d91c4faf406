//! A board as an image.

use std::fmt::Write;

use crate::board::Board;

/// Pixels of a cell's side.
const SIDE: usize = 36;

/// The board as svg: given queens black, placed ones blue.
pub fn svg(board: &Board, given: &Board) -> String {
    let size = board.size();
    let side = SIDE * size;
    let mut svg =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\">");
    for cell in 0..size * size {
        let (row, column) = (cell / size, cell % size);
        let (x, y) = (column * SIDE, row * SIDE);
        let color = if (row + column) % 2 == 0 { "#f0d9b5" } else { "#b58863" };
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"{color}\"/>"
        );
        if board.has(cell) {
            let color = if given.has(cell) { "#222222" } else { "#2f6690" };
            let (x, y) = (x + SIDE / 2, y + SIDE / 2);
            let _ = write!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"12\" fill=\"{color}\"/>");
        }
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queen_is_drawn() {
        let mut given = Board::empty(4);
        given.set(1, true);
        let mut board = given.clone();
        board.set(7, true);
        let svg = svg(&board, &given);
        assert_eq!((svg.matches("<circle").count(), svg.matches("#2f6690").count()), (2, 1));
    }
}
