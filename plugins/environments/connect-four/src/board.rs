//! The board: columns that discs fall into, and who has enough in a row.

use serde::{Deserialize, Serialize};

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Drops the first disc.
    First,
    /// Answers.
    Second,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }

    /// How its discs are written.
    pub fn letter(self) -> char {
        match self {
            Side::First => 'X',
            Side::Second => 'O',
        }
    }
}

/// How many rows and columns there are, and how many in a row win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Discs in a row, a column or a diagonal that win.
    pub connect: usize,
}

/// Discs in columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    shape: Shape,
    /// Column by column, from the bottom up.
    columns: Vec<Vec<Side>>,
}

impl Board {
    /// An empty board.
    pub fn new(shape: Shape) -> Self {
        Board { shape, columns: vec![Vec::new(); shape.columns] }
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whose disc lies there, counted from the bottom and the left.
    pub fn at(&self, row: usize, column: usize) -> Option<Side> {
        self.columns.get(column)?.get(row).copied()
    }

    /// Whose turn it is.
    pub fn turn(&self) -> Side {
        let discs: usize = self.columns.iter().map(Vec::len).sum();
        if discs.is_multiple_of(2) { Side::First } else { Side::Second }
    }

    /// Columns with room, from the left.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.shape.columns).filter(|&column| self.has_room(column))
    }

    /// Whether there is such a column, with room.
    pub fn has_room(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|discs| discs.len() < self.shape.rows)
    }

    /// Whether no column has room.
    pub fn is_full(&self) -> bool {
        self.open().next().is_none()
    }

    /// Drop a disc of the side whose turn it is into a column with room; whether
    /// that wins.
    pub fn drop_into(&mut self, column: usize) -> bool {
        let side = self.turn();
        self.columns[column].push(side);
        self.longest(column) >= self.shape.connect
    }

    /// Whether a disc of this side in a column with room would win.
    pub fn would_win(&self, column: usize, side: Side) -> bool {
        let mut board = self.clone();
        board.columns[column].push(side);
        board.longest(column) >= self.shape.connect
    }

    /// Take back the last disc of a column.
    pub fn take_from(&mut self, column: usize) {
        self.columns[column].pop();
    }

    /// The longest line through the top disc of a column.
    pub fn longest(&self, column: usize) -> usize {
        let directions = [(0, 1), (1, 0), (1, 1), (1, -1)];
        let lines = directions.map(|(rows, columns)| {
            1 + self.run(column, rows, columns) + self.run(column, -rows, -columns)
        });
        lines.into_iter().max().unwrap_or(0)
    }

    /// Discs of the same side beyond the top one of a column, in one direction.
    fn run(&self, column: usize, rows: isize, columns: isize) -> usize {
        let Some(top) = self.columns[column].len().checked_sub(1) else { return 0 };
        let side = self.at(top, column);
        let cell = |steps: isize| {
            let row = top.checked_add_signed(steps * rows)?;
            self.at(row, column.checked_add_signed(steps * columns)?)
        };
        (1..).take_while(|&steps| side.is_some() && cell(steps) == side).count()
    }

    /// The board row by row from the top, a letter a cell.
    pub fn lines(&self) -> Vec<String> {
        let letter = |row, column| self.at(row, column).map_or('.', Side::letter).to_string();
        let line = |row| {
            (0..self.shape.columns).map(|column| letter(row, column)).collect::<Vec<_>>().join(" ")
        };
        (0..self.shape.rows).rev().map(line).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const SMALL: Shape = Shape { rows: 4, columns: 5, connect: 4 };

    /// The board after drops into these columns, counted from 1.
    pub fn after(drops: &str) -> Board {
        let mut board = Board::new(SMALL);
        for digit in drops.chars() {
            board.drop_into(digit.to_digit(10).expect("a column") as usize - 1);
        }
        board
    }

    #[test]
    fn four_win_in_every_direction() {
        for (drops, last) in [("121212", 0), ("112233", 3), ("1223343445", 3), ("5443323221", 1)] {
            let mut board = after(drops);
            assert!(board.open().filter(|&column| board.would_win(column, Side::First)).eq([last]));
            assert!(board.drop_into(last), "{drops}");
            board.take_from(last);
            assert_eq!(board, after(drops));
        }
    }

    #[test]
    fn a_full_column_has_no_room() {
        let board = after("1111");
        assert!(!board.has_room(0) && !board.has_room(5) && board.has_room(4));
        assert_eq!(board.turn(), Side::First);
        assert_eq!(board.lines()[3], "X . . . .");
    }
}
