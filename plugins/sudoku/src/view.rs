//! What a player sees.

use serde::{Deserialize, Serialize};

use crate::board::{Board, Digit};
use crate::game::Game;
use crate::notes;

/// The form of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum View {
    /// Pencil marks and what was written.
    Marks,
    /// The board, and below it pencil marks and what was written.
    Grid,
}

impl View {
    /// The view that a word of the `observation` setting stands for.
    pub fn from_word(word: &str) -> Self {
        if word == "grid" { View::Grid } else { View::Marks }
    }

    /// What the game looks like.
    pub fn show(self, game: &Game) -> String {
        match self {
            View::Marks => marks(game),
            View::Grid => format!("{}\n{}", grid(game.board()), marks(game)).trim_end().to_owned(),
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> String {
        match self {
            View::Marks => format!("You see notes. {NOTES}"),
            View::Grid => {
                format!(
                    "You see the board, with `.` for an empty cell, and notes below it. {NOTES}"
                )
            }
        }
    }
}

const NOTES: &str = "`r1c2:34`: the cell in row 1, column 2 is empty, and its row, column and box \
                     leave 3 and 4 to it (`-`: nothing); cells with few candidates come first. \
                     `r1c2=3`: 3 was written there. `r1c2=3?`: so was 3, but nothing forces it so \
                     far, it may be wrong. `r1c2!3`: 3 was erased from there lately.";

fn marks(game: &Game) -> String {
    let size = game.board().size();
    let open = game.open_cells().into_iter().map(|(cell, marks)| notes::marks(cell, marks, size));
    let written = game.written().into_iter();
    let written = written.map(|(cell, digit, forced)| notes::written(cell, digit, forced, size));
    let erased = game.erased().iter().map(|&(cell, digit)| notes::erased(cell, digit, size));
    open.chain(written).chain(erased).collect::<Vec<_>>().join(" ")
}

fn grid(board: &Board) -> String {
    let word = |&digit: &Digit| if digit == 0 { ".".to_owned() } else { digit.to_string() };
    let row = |digits: &[Digit]| digits.iter().map(word).collect::<Vec<_>>().join(" ");
    board.digits().chunks(board.size()).map(row).collect::<Vec<_>>().join("\n")
}

/// Every word of observations and actions on a board of this size.
pub fn vocabulary(size: usize) -> Vec<String> {
    let mut words = notes::vocabulary(size);
    let digits = (1..=size).map(|digit| digit.to_string());
    words.extend(
        digits.chain([".".to_owned()]).filter(|word| !words.contains(word)).collect::<Vec<_>>(),
    );
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::tests::game;
    use crate::notes::Edit;

    #[test]
    fn open_cells_come_first_then_written_then_erased_ones() {
        let mut game = game();
        let shown = View::Marks.show(&game);
        assert_eq!(shown, "r1c3:3 r1c4:4 r2c4:2 r3c2:1 r4c3:2 r2c3:12");
        game.edit(Edit::Write(9, 1)).expect("a candidate");
        game.edit(Edit::Erase(9)).expect("a written digit");
        game.edit(Edit::Write(6, 2)).expect("a candidate");
        game.edit(Edit::Write(3, 4)).expect("a candidate");
        let shown = View::Grid.show(&game);
        let board = "1 2 . 4\n3 4 2 .\n2 . 4 3\n4 3 . 1\n";
        assert_eq!(shown, format!("{board}r2c4:- r4c3:- r1c3:3 r3c2:1 r2c3=2? r1c4=4 r3c2!1"));
    }

    #[test]
    fn every_word_is_in_the_vocabulary_once() {
        for (size, words) in [(4, 470), (9, 2863)] {
            let vocabulary = vocabulary(size);
            assert_eq!(vocabulary.len(), words);
            assert!(vocabulary.iter().all(|word| !word.contains(char::is_whitespace)));
        }
    }
}
