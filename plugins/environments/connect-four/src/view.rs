//! What players see, and every word it may contain. All see the same.

use serde::{Deserialize, Serialize};

use crate::board::{Board, Shape, Side};

/// The form of an observation, by its word in the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// A word a cell, as whose turn it is sees it.
    Map,
    /// The board drawn, and whose turn it is in a sentence.
    Text,
}

impl View {
    /// What the board looks like; `news` says what happened last.
    pub fn show(self, board: &Board, news: &str) -> String {
        match self {
            View::Map => map(board),
            View::Text => text(board, news),
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> &'static str {
        match self {
            View::Map => {
                "You see the board row by row from the top, as whose turn it is: `me`, `you` (the \
                 other one) or `.` (empty)."
            }
            View::Text => {
                "You see the board row by row from the top: `X` and `O` are discs, `.` is empty."
            }
        }
    }

    /// Every word of an observation, and the moves; none for sentences, whose
    /// words are not counted.
    pub fn vocabulary(self, shape: Shape) -> Vec<String> {
        if self == View::Text {
            return Vec::new();
        }
        let columns = (1..=shape.columns).map(|column| column.to_string());
        ["me", "you", "."].map(str::to_owned).into_iter().chain(columns).collect()
    }
}

fn map(board: &Board) -> String {
    let Shape { rows, columns, .. } = board.shape();
    let turn = board.turn();
    let word = |row, column| match board.at(row, column) {
        None => ".",
        Some(side) if side == turn => "me",
        Some(_) => "you",
    };
    let line = |row| (0..columns).map(|column| word(row, column)).collect::<Vec<_>>().join(" ");
    (0..rows).rev().map(line).collect::<Vec<_>>().join("\n")
}

fn text(board: &Board, news: &str) -> String {
    let news = if news.is_empty() { String::new() } else { format!("{news}\n\n") };
    format!(
        "{news}{}\n\nIt is {}'s turn. Answer with the number of a column, such as `column n`, a \
         number in place of the letter.",
        drawing(board),
        board.turn().letter()
    )
}

/// The board with the numbers of its columns below.
pub fn drawing(board: &Board) -> String {
    let mut lines = board.lines();
    let numbers: Vec<String> = (1..=board.shape().columns).map(|one| one.to_string()).collect();
    lines.push(numbers.join(" "));
    lines.join("\n")
}

/// Which side answered, and where.
pub fn news(side: Side, column: usize) -> String {
    format!("{} dropped a disc into column {}.", side.letter(), column + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::after;

    #[test]
    fn the_map_is_seen_by_whose_turn_it_is() {
        let last = |drops| {
            let shown = View::Map.show(&after(drops), "");
            shown.lines().last().map(str::to_owned)
        };
        assert_eq!(last("12").as_deref(), Some("me you . . ."));
        assert_eq!(last("123").as_deref(), Some("you me you . ."));
    }

    #[test]
    fn the_text_draws_the_board() {
        let shown = View::Text.show(&after("121"), &news(Side::First, 0));
        assert!(
            shown.starts_with(
                "X dropped a disc into column 1.\n\n. . . . .\n. . . . .\nX . . . .\n\
                 X O . . .\n1 2 3 4 5\n\nIt is O's turn."
            ),
            "{shown}"
        );
    }
}
