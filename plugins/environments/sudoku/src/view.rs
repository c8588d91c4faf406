//! What a player sees.

use serde::{Deserialize, Serialize};

use crate::board::{Board, Digit, Sight, box_of};
use crate::game::Game;
use crate::notes;

/// The form of an observation, by its word in the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Pencil marks and what was written.
    Marks,
    /// The board, and below it pencil marks and what was written.
    Grid,
    /// The board as a drawing.
    Text,
}

impl View {
    /// What the game looks like.
    pub fn show(self, game: &Game, sight: Sight) -> String {
        let marks = || match sight {
            Sight::All => marks(game),
            sight => marks_seen(game, sight),
        };
        match self {
            View::Marks => marks(),
            View::Grid => format!("{}\n{}", grid(game.board()), marks()).trim_end().to_owned(),
            View::Text => {
                let blanks = game.board().blanks().count();
                format!("{}\nThere are {blanks} blanks left.", drawn(game.board()))
            }
        }
    }

    /// How to read an observation.
    pub fn legend(self, sight: Sight) -> String {
        let seen = match sight {
            Sight::All => "row, column and box",
            Sight::Lines => "row and column (its box you do not see)",
            Sight::Boxes => "box (its row and column you do not see)",
        };
        if sight != Sight::All {
            return format!(
                "You see notes. `r1c2:34`: the cell in row 1, column 2 is empty, and its {seen} \
                 leave 3 and 4 to it. `r1c2=3`: 3 was written there. `r1c2!3`: 3 was erased from \
                 there lately."
            );
        }
        match self {
            View::Text => "You see the board with `.` for a blank and lines between the boxes. \
                           `rXcY=D` writes the digit D into row X, column Y."
                .to_owned(),
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

/// The notes of a seat that does not see everything: what is forced is not said.
fn marks_seen(game: &Game, sight: Sight) -> String {
    let size = game.board().size();
    let open = game.open_cells_seen(sight).into_iter();
    let open = open.map(|(cell, marks)| notes::marks(cell, marks, size));
    let mut written = game.written();
    written.sort_unstable_by_key(|&(cell, _, _)| cell);
    let written =
        written.into_iter().map(|(cell, digit, _)| notes::written(cell, digit, true, size));
    let erased = game.erased().iter().map(|&(cell, digit)| notes::erased(cell, digit, size));
    open.chain(written).chain(erased).collect::<Vec<_>>().join(" ")
}

/// The board with lines between the boxes.
pub fn drawn(board: &Board) -> String {
    let size = board.size();
    let (height, width) = box_of(size).unwrap_or((size, size));
    let digit = |&digit: &Digit| if digit == 0 { ".".to_owned() } else { digit.to_string() };
    let part = |digits: &[Digit]| digits.iter().map(digit).collect::<Vec<_>>().join(" ");
    let row = |digits: &[Digit]| digits.chunks(width).map(part).collect::<Vec<_>>().join(" | ");
    let rows: Vec<String> = board.digits().chunks(size).map(row).collect();
    let line = format!("\n{}\n", vec!["-".repeat(2 * width - 1); size / width].join("-+-"));
    rows.chunks(height).map(|rows| rows.join("\n")).collect::<Vec<_>>().join(&line)
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
        let shown = View::Marks.show(&game, Sight::All);
        assert_eq!(shown, "r1c3:3 r1c4:4 r2c4:2 r3c2:1 r4c3:2 r2c3:12");
        game.edit(Edit::Write(9, 1)).expect("a candidate");
        game.edit(Edit::Erase(9)).expect("a written digit");
        game.edit(Edit::Write(6, 2)).expect("a candidate");
        game.edit(Edit::Write(3, 4)).expect("a candidate");
        let shown = View::Grid.show(&game, Sight::All);
        let board = "1 2 . 4\n3 4 2 .\n2 . 4 3\n4 3 . 1\n";
        assert_eq!(shown, format!("{board}r2c4:- r4c3:- r1c3:3 r3c2:1 r2c3=2? r1c4=4 r3c2!1"));
    }

    #[test]
    fn who_sees_less_is_told_less() {
        let mut game = game();
        let shown = |game: &Game, sight| View::Marks.show(game, sight);
        assert_eq!(shown(&game, Sight::Lines), "r1c3:3 r1c4:4 r2c4:2 r3c2:1 r4c3:2 r2c3:12");
        assert_eq!(
            shown(&game, Sight::Boxes),
            "r3c2:1 r4c3:2 r1c3:1234 r1c4:1234 r2c3:1234 r2c4:1234"
        );
        game.edit(Edit::Write(6, 2)).expect("a candidate");
        assert!(shown(&game, Sight::Lines).ends_with(" r2c3=2"), "not that nothing forces it");
    }

    #[test]
    fn a_drawing_has_lines_between_the_boxes() {
        let shown = View::Text.show(&game(), Sight::All);
        let board = "1 2 | . 4\n3 4 | . .\n----+----\n2 . | 4 3\n4 3 | . 1\n";
        assert_eq!(
            shown,
            format!("{}There are 6 blanks left.", board.replace("1 2 | . 4", "1 2 | . ."))
        );
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
