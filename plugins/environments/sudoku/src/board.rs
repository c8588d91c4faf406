//! The board: digits, and what the rules of sudoku leave possible. Knows
//! nothing of clues, turns or rewards.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The place of a cell, counted row by row from 0.
pub type Cell = usize;

/// A digit from 1; 0 stands for an empty cell.
pub type Digit = u8;

/// A square of 4 × 4 to 9 × 9 cells, in boxes of as many cells as it has rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    size: usize,
    digits: Vec<Digit>,
}

impl Board {
    /// A board without digits, of a size that has boxes.
    pub fn empty(size: usize) -> Self {
        debug_assert!(box_of(size).is_some());
        Board { size, digits: vec![0; size * size] }
    }

    /// A board with these digits, row by row.
    pub fn new(size: usize, digits: Vec<Digit>) -> Self {
        debug_assert_eq!(digits.len(), size * size);
        Board { size, digits }
    }

    /// Rows, columns and digits.
    pub fn size(&self) -> usize {
        self.size
    }

    /// All cells.
    pub fn cells(&self) -> std::ops::Range<Cell> {
        0..self.digits.len()
    }

    /// All digits, row by row.
    pub fn digits(&self) -> &[Digit] {
        &self.digits
    }

    /// The digit in a cell; 0 when it is empty.
    pub fn get(&self, cell: Cell) -> Digit {
        self.digits[cell]
    }

    /// Put a digit, or with 0 nothing, into a cell.
    pub fn set(&mut self, cell: Cell, digit: Digit) {
        self.digits[cell] = digit;
    }

    /// The cells without a digit.
    pub fn blanks(&self) -> impl Iterator<Item = Cell> {
        self.cells().filter(|&cell| self.digits[cell] == 0)
    }

    /// The numbers of a cell's row, column and box.
    pub fn units(&self, cell: Cell) -> [usize; 3] {
        let (row, column) = (cell / self.size, cell % self.size);
        let (height, width) = box_of(self.size).unwrap_or((1, self.size));
        [row, column, row / height * height + column / width]
    }

    /// The digits that no other cell of the same row, column or box has.
    pub fn candidates(&self, cell: Cell) -> Digits {
        self.candidates_seen(cell, Sight::All)
    }

    /// The same for a seat that does not see all of that.
    pub fn candidates_seen(&self, cell: Cell, sight: Sight) -> Digits {
        let (row, column) = (cell / self.size, cell % self.size);
        let (height, width) = box_of(self.size).unwrap_or((1, self.size));
        let (top, left) = (row / height * height, column / width * width);
        let mut taken = Digits::NONE;
        for index in 0..self.size {
            let boxed = (top + index / width) * self.size + left + index % width;
            let lines = [row * self.size + index, index * self.size + column];
            let peers: &[Cell] = match sight {
                Sight::All => &[lines[0], lines[1], boxed],
                Sight::Lines => &lines,
                Sight::Boxes => &[boxed],
            };
            for &peer in peers.iter().filter(|&&peer| peer != cell) {
                taken.insert(self.digits[peer]);
            }
        }
        taken.complement(self.size)
    }
}

/// What a seat sees around a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Its row, its column and its box.
    All,
    /// Its row and its column.
    Lines,
    /// Its box.
    Boxes,
}

/// Rows and columns of a box on a board with so many rows, if it has boxes.
pub fn box_of(size: usize) -> Option<(usize, usize)> {
    match size {
        4 => Some((2, 2)),
        6 => Some((2, 3)),
        8 => Some((2, 4)),
        9 => Some((3, 3)),
        _ => None,
    }
}

/// A set of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits(u16);

impl Digits {
    /// No digit.
    pub const NONE: Digits = Digits(0);

    /// Every set of digits on a board of this size, the empty one first.
    pub fn sets(size: usize) -> impl Iterator<Item = Digits> {
        (0..1_u16 << size).map(|bits| Digits(bits << 1))
    }

    /// Add a digit; 0 is none.
    pub fn insert(&mut self, digit: Digit) {
        self.0 |= 1 << digit & !1;
    }

    /// Whether the digit is in the set.
    pub fn contains(self, digit: Digit) -> bool {
        digit > 0 && self.0 & 1 << digit != 0
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self == Digits::NONE
    }

    /// The digits, smallest first.
    pub fn iter(self) -> impl Iterator<Item = Digit> {
        (1..=9).filter(move |&digit| self.contains(digit))
    }

    /// The digit, if there is only one.
    pub fn single(self) -> Option<Digit> {
        (self.len() == 1).then(|| self.0.trailing_zeros() as Digit)
    }

    /// Add a digit that is not there, or take out one that is.
    pub fn toggle(&mut self, digit: Digit) {
        self.0 ^= 1 << digit;
    }

    /// What is in one of the two.
    pub fn union(self, other: Digits) -> Digits {
        Digits(self.0 | other.0)
    }

    /// The digits of a board of this size that are not in the set.
    pub fn complement(self, size: usize) -> Digits {
        Digits(!self.0 & ((1 << size) - 1) << 1)
    }
}

/// The digits in a row, such as `134`; `-` when there is none.
impl fmt::Display for Digits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return formatter.write_str("-");
        }
        self.iter().try_for_each(|digit| write!(formatter, "{digit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_what_row_column_and_box_leave() {
        let mut board = Board::empty(4);
        board.set(1, 2); // same row and box as cell 0
        board.set(12, 3); // same column
        assert_eq!(board.candidates(0).to_string(), "14");
        assert_eq!(board.candidates(15).to_string(), "124");
        board.set(0, 1);
        assert_eq!(board.candidates(0).to_string(), "14", "a cell does not hinder itself");
        board.set(5, 4);
        assert_eq!(board.candidates(4).to_string(), "-");
    }

    #[test]
    fn boxes_may_be_wider_than_high_and_some_see_only_them() {
        let mut board = Board::empty(6);
        board.set(8, 5); // row 2, column 3: the same box as cell 0
        board.set(3, 6); // row 1, column 4: the next box
        assert_eq!(board.candidates(0).to_string(), "1234");
        assert_eq!(board.candidates_seen(0, Sight::Lines).to_string(), "12345");
        assert_eq!(board.candidates_seen(0, Sight::Boxes).to_string(), "12346");
    }

    #[test]
    fn sets_know_their_digits() {
        assert_eq!(Digits::sets(4).count(), 16);
        assert_eq!(Digits::sets(9).map(Digits::len).max(), Some(9));
        let single = Digits::NONE.complement(4).iter().map(|digit| {
            let mut digits = Digits::NONE;
            digits.insert(digit);
            digits.single()
        });
        assert_eq!(single.collect::<Vec<_>>(), [Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!(Digits::NONE.single(), None);
        assert!(!Digits::NONE.contains(0));
    }
}
