//! A board as an image.

use std::fmt::Write;

use crate::board::{Board, Cell};

/// Pixels of a cell's side.
const SIDE: i32 = 32;

/// The board as svg, with the cells that have been visited.
pub fn svg(board: &Board, here: Cell, visited: &[Cell]) -> String {
    let side = SIDE * i32::from(board.size());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\">\
         <rect width=\"{side}\" height=\"{side}\" fill=\"#f4efe6\"/>"
    );
    for cell in board.cells() {
        let (x, y) = (SIDE * i32::from(cell.column), SIDE * i32::from(cell.row));
        let color = match cell {
            _ if !board.is_free(cell) => "#5b5348",
            _ if cell == board.goal() => "#5a8f4e",
            _ if visited.contains(&cell) => "#d9e4ec",
            _ => continue,
        };
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"{color}\"/>"
        );
    }
    let middle = |index: i8| SIDE * i32::from(index) + SIDE / 2;
    let (x, y) = (middle(here.column), middle(here.row));
    let _ = write!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"11\" fill=\"#2f6690\"/></svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::board;

    #[test]
    fn walls_the_goal_and_the_player_are_drawn() {
        let svg = svg(&board(&["..#", ".#.", "..G"]), Cell { row: 1, column: 0 }, &[]);
        assert_eq!(svg.matches("#5b5348").count(), 2);
        assert_eq!(svg.matches("#5a8f4e").count(), 1);
        assert!(svg.contains("<circle cx=\"16\" cy=\"48\""), "{svg}");
    }
}
