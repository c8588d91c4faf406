//! Looking ahead: alpha-beta over a few plies, and the longest lines beyond.

use crate::board::Board;

/// A won game; sooner is more.
const WON: i32 = 1_000_000;
/// Boards that are looked at for one answer at most.
const BOARDS: usize = 20_000;

/// The best column for the side whose turn it is, looking so many plies ahead;
/// of equals the one nearest to the middle. Nothing if the board is full.
pub fn best(board: &Board, plies: u32) -> Option<usize> {
    let mut search = Search { board: board.clone(), left: BOARDS };
    let columns = search.columns();
    let mut best: Option<(i32, usize)> = None;
    for column in columns {
        let bound = best.map_or(-2 * WON, |(value, _)| value);
        let value = search.after(column, plies, bound, 2 * WON);
        if best.is_none_or(|(most, _)| value > most) {
            best = Some((value, column));
        }
    }
    best.map(|(_, column)| column)
}

struct Search {
    board: Board,
    left: usize,
}

impl Search {
    /// Columns with room, from the middle outward.
    fn columns(&self) -> Vec<usize> {
        let middle = self.board.shape().columns - 1;
        let mut columns: Vec<usize> = self.board.open().collect();
        columns.sort_by_key(|&column| (2 * column).abs_diff(middle));
        columns
    }

    /// What the column is worth to the side that drops into it.
    fn after(&mut self, column: usize, plies: u32, low: i32, high: i32) -> i32 {
        let won = self.board.drop_into(column);
        let value = match won {
            true => WON + plies as i32,
            false => -self.value(plies.saturating_sub(1), -high, -low),
        };
        self.board.take_from(column);
        value
    }

    /// What the board is worth to whose turn it is.
    fn value(&mut self, plies: u32, low: i32, high: i32) -> i32 {
        if self.board.is_full() {
            return 0;
        }
        self.left = self.left.saturating_sub(1);
        if plies == 0 || self.left == 0 {
            return self.outlook();
        }
        let mut best = low;
        for column in self.columns() {
            best = best.max(self.after(column, plies, best, high));
            if best >= high {
                break;
            }
        }
        best
    }

    /// A guess: the discs that lie well, near the middle.
    fn outlook(&self) -> i32 {
        let (shape, turn) = (self.board.shape(), self.board.turn());
        let middle = shape.columns - 1;
        let cells =
            (0..shape.columns).flat_map(|column| (0..shape.rows).map(move |row| (row, column)));
        cells
            .filter_map(|(row, column)| {
                let worth = shape.columns as i32 - (2 * column).abs_diff(middle) as i32;
                self.board.at(row, column).map(|side| if side == turn { worth } else { -worth })
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::after;

    #[test]
    fn what_wins_is_taken_and_what_would_lose_is_blocked() {
        assert_eq!(best(&after("112233"), 1), Some(3));
        assert_eq!(best(&after("11223"), 2), Some(3));
        assert_eq!(best(&after(""), 4), Some(2));
        let full = "1111222233334444".to_owned() + "5555";
        assert_eq!(best(&after(&full), 4), None);
    }

    #[test]
    fn a_fork_is_seen_ahead() {
        // With two in the middle of an empty row, a third makes two threats.
        let column = best(&after("3345"), 5);
        assert!(column.is_some());
        let won = best(&after("2233"), 4);
        assert_eq!(won, Some(3), "three in a row, open on both sides");
    }
}
