//! Solving a board by trying, fewest candidates first.

use plugin_sdk::Random;

use crate::board::{Board, Cell, Digit, Digits};

/// Whether exactly one completion of the board keeps the rules.
pub fn is_unique(board: &Board) -> bool {
    let mut found = 0;
    search(&mut board.clone(), &mut |_| {}, &mut |_| {
        found += 1;
        found == 2
    });
    found == 1
}

/// What is known of the completions of a board.
#[derive(Clone, Debug, PartialEq)]
pub enum Completions {
    /// There is none.
    None,
    /// There is exactly this one.
    One(Board),
    /// There are several.
    Several,
    /// That would take too long to find out.
    Unknown,
}

/// Look for completions, at so many boards at most.
pub fn completions(board: &Board, boards: usize) -> Completions {
    let (mut left, mut first, mut count) = (boards, None, 0);
    let mut bound = |digits: &mut Vec<Digit>| match left {
        0 => digits.clear(),
        _ => left -= 1,
    };
    search(&mut board.clone(), &mut bound, &mut |full| {
        first.get_or_insert_with(|| full.clone());
        count += 1;
        count == 2
    });
    match (count, first) {
        (2, _) => Completions::Several,
        _ if left == 0 => Completions::Unknown,
        (_, Some(full)) => Completions::One(full),
        (_, None) => Completions::None,
    }
}

/// A full board, drawn at random.
pub fn full_board(size: usize, random: &mut Random) -> Board {
    let mut full = Board::empty(size);
    let mut shuffle = |digits: &mut Vec<Digit>| random.shuffle(digits);
    search(&mut Board::empty(size), &mut shuffle, &mut |board| {
        full = board.clone();
        true
    });
    full
}

/// Show every completion to `found` until it returns true; `order` arranges the
/// digits to try in a cell, or leaves some out. Returns whether the search was ended so.
fn search(
    board: &mut Board,
    order: &mut impl FnMut(&mut Vec<Digit>),
    found: &mut impl FnMut(&Board) -> bool,
) -> bool {
    let taken = Taken::on(board);
    Search { board, taken, order, found }.go_on()
}

/// A search under way.
struct Search<'a, O, F> {
    board: &'a mut Board,
    taken: Taken,
    order: &'a mut O,
    found: &'a mut F,
}

impl<O: FnMut(&mut Vec<Digit>), F: FnMut(&Board) -> bool> Search<'_, O, F> {
    fn go_on(&mut self) -> bool {
        let Some(cell) = self.most_constrained() else { return (self.found)(self.board) };
        let mut digits: Vec<Digit> = self.taken.leave(cell).iter().collect();
        (self.order)(&mut digits);
        for digit in digits {
            self.board.set(cell, digit);
            self.taken.toggle(cell, digit);
            if self.go_on() {
                return true;
            }
            self.taken.toggle(cell, digit);
        }
        self.board.set(cell, 0);
        false
    }

    /// The empty cell with the fewest candidates.
    fn most_constrained(&self) -> Option<Cell> {
        self.board.blanks().min_by_key(|&cell| self.taken.leave(cell).len())
    }
}

/// The digits that rows, columns and boxes have, kept while cells are tried:
/// a search asks for little else.
struct Taken {
    size: usize,
    /// The row, the column and the box of every cell.
    units: Vec<[usize; 3]>,
    digits: [[Digits; 9]; 3],
}

impl Taken {
    fn on(board: &Board) -> Self {
        let units = board.cells().map(|cell| board.units(cell)).collect();
        let mut taken = Taken { size: board.size(), units, digits: [[Digits::NONE; 9]; 3] };
        for cell in board.cells() {
            for (kind, unit) in taken.units[cell].into_iter().enumerate() {
                taken.digits[kind][unit].insert(board.get(cell));
            }
        }
        taken
    }

    /// What may stand in an empty cell.
    fn leave(&self, cell: Cell) -> Digits {
        let [row, column, boxed] = self.units[cell];
        let [rows, columns, boxes] = &self.digits;
        rows[row].union(columns[column]).union(boxes[boxed]).complement(self.size)
    }

    /// Put one of these digits into the cell, or take it out again.
    fn toggle(&mut self, cell: Cell, digit: Digit) {
        for (kind, unit) in self.units[cell].into_iter().enumerate() {
            self.digits[kind][unit].toggle(digit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plugin_sdk::environment::Split;

    #[test]
    fn full_boards_keep_the_rules() {
        for (size, seed) in [(4, 0), (4, 1), (6, 0), (8, 0), (9, 0), (9, 1)] {
            let board = full_board(size, &mut Random::new(Split::Train, seed, "test"));
            for cell in board.cells() {
                assert_eq!(board.candidates(cell).single(), Some(board.get(cell)));
            }
        }
    }

    #[test]
    fn a_board_with_two_completions_is_not_unique() {
        // Rows 1 and 3 with the same two columns can be swapped.
        let full = Board::new(4, vec![1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]);
        let without = |cells: &[Cell]| {
            let mut board = full.clone();
            cells.iter().for_each(|&cell| board.set(cell, 0));
            board
        };
        assert!(is_unique(&full));
        assert!(is_unique(&without(&[0, 5, 10, 15])));
        assert!(!is_unique(&without(&[0, 1, 8, 9])));
        let mut broken = without(&[0]);
        broken.set(1, 1);
        assert!(!is_unique(&broken), "no completion at all");
        assert_eq!(completions(&without(&[0, 5]), 99), Completions::One(full.clone()));
        assert_eq!(completions(&without(&[0, 1, 8, 9]), 99), Completions::Several);
        assert_eq!(completions(&broken, 99), Completions::None);
        assert_eq!(completions(&without(&[0, 5, 10, 15]), 2), Completions::Unknown);
    }
}
