//! The board: digits, and what the rules of sudoku leave possible. Knows
//! nothing of clues, turns or rewards.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The place of a cell, counted row by row from 0.
pub type Cell = usize;

/// A digit from 1; 0 stands for an empty cell.
pub type Digit = u8;

/// A square of 4 × 4 or 9 × 9 cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    size: usize,
    digits: Vec<Digit>,
}

impl Board {
    /// A board without digits; `size` is 4 or 9.
    pub fn empty(size: usize) -> Self {
        debug_assert!(size == 4 || size == 9);
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

    /// The digits that no other cell of the same row, column or box has.
    pub fn candidates(&self, cell: Cell) -> Digits {
        let (row, column) = (cell / self.size, cell % self.size);
        let side = self.size.isqrt();
        let (top, left) = (row / side * side, column / side * side);
        let mut taken = Digits::NONE;
        for index in 0..self.size {
            let boxed = (top + index / side) * self.size + left + index % side;
            for peer in [row * self.size + index, index * self.size + column, boxed] {
                if peer != cell {
                    taken.insert(self.digits[peer]);
                }
            }
        }
        taken.complement(self.size)
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

    fn complement(self, size: usize) -> Digits {
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
