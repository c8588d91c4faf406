//! What a player sees, and every word it may contain.

use serde::{Deserialize, Serialize};

use crate::board::{Board, name};

/// The form of an observation, by its word in the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Queens, and cells that none attacks, one word each.
    List,
    /// The whole board, one word a cell.
    Map,
    /// The board as a drawing, and what is to be done with it.
    Text,
}

impl View {
    /// What a board looks like; `given` has the queens that stay.
    pub fn show(self, board: &Board, given: &Board) -> String {
        match self {
            View::List => list(board, given),
            View::Map => rows(board, true),
            View::Text => {
                let missing = board.size() - board.count();
                format!("{}\nThere are {missing} queens to be placed.", rows(board, false))
            }
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> &'static str {
        match self {
            View::List => {
                "What you see: `r1c2`: no queen attacks the cell in row 1, column 2; rows with few \
                 such cells come first. `r3c4=Q`: you placed a queen there."
            }
            View::Map => {
                "You see the board row by row: `Q` is a queen, `x` a cell that one attacks, `_` \
                 another cell."
            }
            View::Text => "You see the board row by row: `Q` is a queen, `_` an empty cell.",
        }
    }

    /// Every word of an observation and of edits.
    pub fn vocabulary(self, size: usize) -> Vec<String> {
        if self == View::Text {
            return Vec::new();
        }
        let cells = (0..size * size).map(|cell| name(cell, size));
        let words = cells.flat_map(|name| [format!("{name}=Q"), format!("{name}-"), name]);
        words.chain(["pass", "Q", "x", "_"].map(str::to_owned)).collect()
    }
}

fn list(board: &Board, given: &Board) -> String {
    let size = board.size();
    let free = |row: usize| -> Vec<usize> {
        let cells = row * size..(row + 1) * size;
        if cells.clone().any(|cell| board.has(cell)) {
            return Vec::new();
        }
        cells.filter(|&cell| !board.is_attacked(cell)).collect()
    };
    let mut open: Vec<Vec<usize>> = (0..size).map(free).collect();
    open.sort_by_key(Vec::len);
    let open = open.into_iter().flatten().map(|cell| name(cell, size));
    let placed = board.queens().filter(|&cell| !given.has(cell));
    let placed = placed.map(|cell| format!("{}=Q", name(cell, size)));
    open.chain(placed).collect::<Vec<_>>().join(" ")
}

/// The board, one word a cell.
pub fn rows(board: &Board, shows_attacks: bool) -> String {
    let word = |cell: usize| match cell {
        _ if board.has(cell) => "Q",
        _ if shows_attacks && board.is_attacked(cell) => "x",
        _ => "_",
    };
    let cells: Vec<&str> = (0..board.size() * board.size()).map(word).collect();
    cells.chunks(board.size()).map(|row| row.join(" ")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_cells_come_first_and_then_placed_queens() {
        let mut given = Board::empty(4);
        given.set(1, true);
        let mut board = given.clone();
        board.set(7, true);
        assert_eq!(View::List.show(&board, &given), "r3c1 r4c1 r4c3 r2c4=Q");
        assert_eq!(View::Map.show(&board, &given), "x Q x x\nx x x Q\n_ x x x\n_ x _ x");
        let text = View::Text.show(&board, &given);
        assert!(text.ends_with("_ _ _ _\nThere are 2 queens to be placed."), "{text}");
    }
}
