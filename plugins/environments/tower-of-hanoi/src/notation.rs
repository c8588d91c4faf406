//! How moves are written: `1>3`, and what people write instead.

use plugin_sdk::Unreadable;

use crate::pegs::{Move, Peg};

/// Letters of a word that an explanation repeats.
const QUOTED: usize = 24;

/// The move in the short notation.
pub fn word(step: Move) -> String {
    format!("{}>{}", step.from + 1, step.to + 1)
}

/// The moves of a text that holds nothing but moves.
pub fn read(text: &str) -> Result<Vec<Move>, Unreadable> {
    let words: Vec<String> = text.lines().flat_map(words).collect();
    let mut rest = words.as_slice();
    let mut moves = Vec::new();
    while !rest.is_empty() {
        let known = words.len() - rest.len();
        let unknown = || unreadable(rest).knowing(known, words.len());
        let (step, after) = first(rest).ok_or_else(unknown)?;
        moves.push(step);
        rest = after;
    }
    Ok(moves)
}

/// The words of a line in lower case, without what numbers it; every arrow is
/// a word.
fn words(line: &str) -> Vec<String> {
    let line = unnumbered(line.trim()).to_lowercase();
    let line = line.replace("->", ">").replace("=>", ">").replace('→', ">").replace('>', " > ");
    let separators = |letter: char| letter.is_whitespace() || ",;:.()[]'\"-*`".contains(letter);
    line.split(separators).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The line without a number before it, such as `12. `.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let marked = rest.strip_prefix(['.', ')', ':']).filter(|_| rest.len() < line.len());
    marked.filter(|rest| rest.starts_with(' ')).unwrap_or(line)
}

/// The move that the words begin with, and the words behind it.
fn first(words: &[String]) -> Option<(Move, &[String])> {
    let words = without(words, "move");
    let named = words.split_first().filter(|(word, _)| ["disk", "disc"].contains(&word.as_str()));
    let (disc, words) = match named {
        Some((_, behind)) => {
            let (number, behind) = behind.split_first()?;
            (Some(number.parse::<usize>().ok()?), behind)
        }
        None => (None, words),
    };
    let (from, words) = without(without(words, "from"), "peg").split_first()?;
    let (joint, words) = words.split_first()?;
    if ![">", "to"].contains(&joint.as_str()) {
        return None;
    }
    let (to, words) = without(words, "peg").split_first()?;
    Some((Move { disc, from: peg(from)?, to: peg(to)? }, words))
}

fn peg(word: &str) -> Option<Peg> {
    word.parse::<Peg>().ok()?.checked_sub(1)
}

/// The words behind this one, if it is first.
fn without<'w>(words: &'w [String], filler: &str) -> &'w [String] {
    words.split_first().filter(|(word, _)| *word == filler).map_or(words, |(_, behind)| behind)
}

fn unreadable(words: &[String]) -> Unreadable {
    let start = words.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ");
    let quoted: String = start.chars().take(QUOTED).collect();
    Unreadable::new(format!("`{quoted}` is not a move."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(disc: Option<usize>, from: Peg, to: Peg) -> Move {
        Move { disc, from, to }
    }

    #[test]
    fn a_move_is_read_however_it_is_usually_written() {
        for text in ["1>3", "1 -> 3", "1 → 3.", "(1>3)", "peg 1 to peg 3", "from 1 to 3", "1. 1>3"]
        {
            assert_eq!(read(text), Ok(vec![step(None, 0, 2)]), "{text}");
        }
        for text in
            ["Move disk 2 from Peg 1 to Peg 3", "- move disc 2 from peg 1 to peg 3.", "disk 2: 1>3"]
        {
            assert_eq!(read(text), Ok(vec![step(Some(2), 0, 2)]), "{text}");
        }
        let both = Ok(vec![step(None, 0, 2), step(None, 1, 0)]);
        for text in [
            "1>3 2>1",
            "1>3, 2>1",
            "1. 1>3\n2. 2>1",
            "[1>3; 2>1]",
            "1>3`, `2>1",
            "- `1>3`\n- `2>1`",
        ] {
            assert_eq!(read(text), both, "{text}");
        }
        assert_eq!(read(""), Ok(Vec::new()));
    }

    #[test]
    fn prose_with_numbers_in_it_is_no_move() {
        for text in ["1 3", "1>", "0>1", "move 1 disk to 3", "1>2>3", "300>1", "x>y", "12"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
