//! The notation: the words in which cells, digits and changes are written.

use plugin_sdk::Unreadable;
use plugin_sdk::spelling::listed;

use crate::board::{Board, Cell, Digit, Digits};

/// The word for changing nothing.
pub const PASS: &str = "pass";

/// Characters of a player's own words that are repeated to it.
const QUOTED: usize = 24;

/// One change of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// `r1c2=3`: write a digit into an empty cell.
    Write(Cell, Digit),
    /// `r1c2-`: erase a written digit.
    Erase(Cell),
}

impl Edit {
    /// The edit that a word stands for on a board of this size.
    pub fn from_word(word: &str, size: usize) -> Option<Edit> {
        let (row, rest) = number(word.strip_prefix('r')?, size)?;
        let (column, rest) = number(rest.strip_prefix('c')?, size)?;
        let cell = (row - 1) * size + column - 1;
        if rest == "-" {
            return Some(Edit::Erase(cell));
        }
        match number(rest.strip_prefix('=')?, size)? {
            (digit, "") => Some(Edit::Write(cell, digit as Digit)),
            _ => None,
        }
    }

    /// The word for this edit.
    pub fn word(self, size: usize) -> String {
        match self {
            Edit::Write(cell, digit) => format!("{}={digit}", name(cell, size)),
            Edit::Erase(cell) => format!("{}-", name(cell, size)),
        }
    }
}

/// The edits of a text that holds nothing else; none, where it says so.
pub fn edits(text: &str, size: usize) -> Result<Vec<Edit>, Unreadable> {
    let words = listed(text);
    match words.as_slice() {
        [] => return Err(format!("No edits were given, not even `{PASS}`.").into()),
        [word] if word == PASS => return Ok(Vec::new()),
        _ => {}
    }
    let read = |word: &String| {
        Edit::from_word(word, size).ok_or_else(|| {
            let quoted: String = word.chars().take(QUOTED).collect();
            let known = |word: &str| Edit::from_word(word, size).is_some();
            let why = Unreadable::new(format!("`{quoted}` is not an edit."));
            why.among(words.iter().map(String::as_str), known)
        })
    };
    words.iter().map(read).collect()
}

/// A number from 1 to `most` at the start of `text`, and what follows it.
fn number(text: &str, most: usize) -> Option<(usize, &str)> {
    let digit = text.chars().next()?.to_digit(10)? as usize;
    (1..=most).contains(&digit).then(|| (digit, &text[1..]))
}

/// A cell's name, such as `r1c2`.
pub fn name(cell: Cell, size: usize) -> String {
    format!("r{}c{}", cell / size + 1, cell % size + 1)
}

/// An empty cell and its candidates: one word such as `r1c2:34` on a small
/// board, two such as `r1c2: 34` on a large one, where there would be too many.
pub fn marks(cell: Cell, candidates: Digits, size: usize) -> String {
    let gap = if size == 4 { "" } else { " " };
    format!("{}:{gap}{candidates}", name(cell, size))
}

/// A written digit, such as `r1c2=3`, with a `?` when nothing forces it yet.
pub fn written(cell: Cell, digit: Digit, forced: bool, size: usize) -> String {
    format!("{}={digit}{}", name(cell, size), if forced { "" } else { "?" })
}

/// A digit that was erased lately, such as `r1c2!3`.
pub fn erased(cell: Cell, digit: Digit, size: usize) -> String {
    format!("{}!{digit}", name(cell, size))
}

/// Every word of the notation on a board of this size.
pub fn vocabulary(size: usize) -> Vec<String> {
    let cells = Board::empty(size).cells();
    let digits = 1..=size as Digit;
    let mut words = vec![PASS.to_owned()];
    for cell in cells {
        let all_marks = Digits::sets(size).map(|candidates| marks(cell, candidates, size));
        words.extend(
            all_marks
                .flat_map(|mark| mark.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
        );
        words.push(Edit::Erase(cell).word(size));
        for digit in digits.clone() {
            words.push(written(cell, digit, true, size));
            words.push(written(cell, digit, false, size));
            words.push(erased(cell, digit, size));
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_read_as_they_are_written() {
        for size in [4, 9] {
            for cell in Board::empty(size).cells() {
                for edit in [Edit::Erase(cell), Edit::Write(cell, size as Digit)] {
                    assert_eq!(Edit::from_word(&edit.word(size), size), Some(edit));
                }
            }
        }
    }

    #[test]
    fn edits_are_read_however_they_are_usually_written() {
        let both = Ok(vec![Edit::Write(1, 3), Edit::Erase(4)]);
        for text in [
            "r1c2=3 r2c1-",
            "R1C2=3, R2C1-",
            "r1c2 = 3; r2c1-.",
            "`r1c2=3`, `r2c1-`",
            "[\"r1c2=3\", \"r2c1-\"]",
            "- r1c2=3\n- r2c1-",
            "1. **r1c2 = 3**\n2. **r2c1-**",
        ] {
            assert_eq!(edits(text, 4), both, "{text}");
        }
        for text in ["pass", "Pass.", "`pass`"] {
            assert_eq!(edits(text, 4), Ok(Vec::new()), "{text}");
        }
        for text in ["", "pass pass", "r1c2 3", "r1c2==3", "row 1 c2=3", "r1c2=3 maybe", "r1 c2=3"]
        {
            assert!(edits(text, 4).is_err(), "{text}");
        }
        let charge = |text| edits(text, 4).expect_err("no edits").charge(-1.0);
        assert!(charge("r1c2=3 maybe") > charge("I say maybe"));
    }

    #[test]
    fn other_words_are_no_edits() {
        for word in [
            "", "pass", "r1c2", "r1c2=", "r0c1=1", "r1c5=1", "r1c1=5", "r1c1=11", "r1c1--",
            "rßc1=1",
        ] {
            assert_eq!(Edit::from_word(word, 4), None, "{word}");
        }
    }

    #[test]
    fn the_notation_stays_small() {
        assert_eq!(vocabulary(4).len(), 1 + 16 * (16 + 1 + 4 * 3));
        assert_eq!(vocabulary(9).len(), 1 + 512 + 81 * (1 + 1 + 9 * 3));
    }
}
