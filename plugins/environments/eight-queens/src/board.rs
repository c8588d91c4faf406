//! The board: queens, what they attack, and how to complete it. Knows nothing
//! of turns, rewards or how things are shown.

use serde::{Deserialize, Serialize};

/// A place, counted row by row from 0.
pub type Cell = usize;

/// A square board with queens on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    size: usize,
    queens: Vec<bool>,
}

impl Board {
    /// A board without queens.
    pub fn empty(size: usize) -> Self {
        Board { size, queens: vec![false; size * size] }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where queens are.
    pub fn queens(&self) -> impl Iterator<Item = Cell> {
        (0..self.queens.len()).filter(|&cell| self.queens[cell])
    }

    /// How many queens there are.
    pub fn count(&self) -> usize {
        self.queens().count()
    }

    /// Whether there is a queen.
    pub fn has(&self, cell: Cell) -> bool {
        self.queens[cell]
    }

    /// Put a queen somewhere, or take it away.
    pub fn set(&mut self, cell: Cell, queen: bool) {
        self.queens[cell] = queen;
    }

    /// Whether some queen elsewhere attacks this cell.
    pub fn is_attacked(&self, cell: Cell) -> bool {
        self.queens().any(|other| other != cell && self.attacks(cell, other))
    }

    /// Whether there are as many queens as rows, and none attacks another.
    pub fn is_solved(&self) -> bool {
        self.count() == self.size && !self.queens().any(|cell| self.is_attacked(cell))
    }

    fn attacks(&self, one: Cell, other: Cell) -> bool {
        let (rows, columns) = (
            (one / self.size).abs_diff(other / self.size),
            (one % self.size).abs_diff(other % self.size),
        );
        rows == 0 || columns == 0 || rows == columns
    }

    /// A solution that keeps all queens and adds to them; `order` arranges the
    /// columns that are tried in a row.
    pub fn completed(&self, order: &mut impl FnMut(&mut [usize])) -> Option<Board> {
        if self.queens().any(|cell| self.is_attacked(cell)) {
            return None;
        }
        let has_queen =
            |row: &usize| (0..self.size).any(|column| self.has(row * self.size + column));
        let Some(row) = (0..self.size).find(|row| !has_queen(row)) else {
            return self.is_solved().then(|| self.clone());
        };
        let mut columns: Vec<usize> = (0..self.size).collect();
        order(&mut columns);
        columns.into_iter().map(|column| row * self.size + column).find_map(|cell| {
            let mut next = self.clone();
            next.set(cell, true);
            if self.is_attacked(cell) { None } else { next.completed(order) }
        })
    }
}

/// A cell's name, such as `r1c2`.
pub fn name(cell: Cell, size: usize) -> String {
    format!("r{}c{}", cell / size + 1, cell % size + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queens_attack_along_rows_columns_and_diagonals() {
        let mut board = Board::empty(5);
        board.set(6, true);
        let free: Vec<Cell> = (0..25).filter(|&cell| !board.is_attacked(cell)).collect();
        assert_eq!(free, [3, 4, 6, 13, 14, 15, 17, 19, 20, 22, 23]);
        assert!(board.is_attacked(0) && board.is_attacked(18) && !board.is_attacked(13));
    }

    #[test]
    fn every_size_from_four_on_has_a_solution_and_a_lost_board_has_none() {
        for size in 4..=12 {
            assert!(
                Board::empty(size).completed(&mut |_| {}).is_some_and(|board| board.is_solved())
            );
        }
        let mut corner = Board::empty(4);
        corner.set(0, true);
        assert_eq!(corner.completed(&mut |_| {}), None, "no solution of four has a corner");
    }
}
