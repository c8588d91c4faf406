//! How moves are written: `A>B`, and what people write instead.

use plugin_sdk::Unreadable;

use crate::stacks::{Block, Move, Place};

/// Letters of a word that an explanation repeats.
const QUOTED: usize = 24;
/// Words that may stand before a block or a place and mean nothing.
const FILLERS: [&str; 10] =
    ["move", "put", "place", "stack", "unstack", "take", "and", "then", "the", "block"];
const TABLE: [&str; 3] = ["table", "floor", "ground"];

/// The move in the short notation.
pub fn word(step: Move) -> String {
    match step.to {
        Place::Table => format!("{}>table", step.block.name()),
        Place::On(under) => format!("{}>{}", step.block.name(), under.name()),
    }
}

/// The moves of a text that holds nothing but moves.
pub fn read(text: &str) -> Result<Vec<Move>, Unreadable> {
    let words = words(text);
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

/// Words in lower case; every arrow is one, and what separates moves is none.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("->", ">").replace("=>", ">").replace('→', ">");
    let spaced = text.replace('>', " > ");
    let separators = |letter: char| letter.is_whitespace() || ",;:.()[]'\"`*-".contains(letter);
    let words = spaced.split(separators).filter(|word| !word.is_empty());
    words.filter(|word| !is_number(word)).map(str::to_owned).collect()
}

/// Whether it counts moves, as in `2: A>B`.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The move that the words begin with, and the words behind it.
fn first(words: &[String]) -> Option<(Move, &[String])> {
    let (block, words) = without(words, &FILLERS).split_first()?;
    let block = Block::from_name(block)?;
    let (joint, words) = words.split_first()?;
    let words = match joint.as_str() {
        ">" | "to" | "onto" | "on" => without(words, &["top", "of"]),
        "from" => origin(words)?,
        _ => return None,
    };
    let (target, words) = without(words, &FILLERS).split_first()?;
    let to = match TABLE.contains(&target.as_str()) {
        true => Place::Table,
        false => Place::On(Block::from_name(target)?),
    };
    Some((Move { block, to }, words))
}

/// The words behind `X to`, where X is what the block stood on.
fn origin(words: &[String]) -> Option<&[String]> {
    let (place, words) = without(words, &FILLERS).split_first()?;
    let (joint, words) = words.split_first()?;
    let known = TABLE.contains(&place.as_str()) || Block::from_name(place).is_some();
    (known && ["to", "onto"].contains(&joint.as_str())).then_some(words)
}

/// The words behind those that mean nothing here.
fn without<'w>(words: &'w [String], fillers: &[&str]) -> &'w [String] {
    let count = words.iter().take_while(|word| fillers.contains(&word.as_str())).count();
    &words[count..]
}

fn unreadable(words: &[String]) -> Unreadable {
    let start = words.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ");
    let quoted: String = start.chars().take(QUOTED).collect();
    Unreadable::new(format!("`{quoted}` is not a move."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::tests::step;

    #[test]
    fn a_move_is_read_however_it_is_usually_written() {
        for text in [
            "A>B",
            "a > b",
            "A -> B",
            "A→B.",
            "move A to B",
            "Move block A onto block B",
            "Put A on top of B.",
            "1. stack A on B",
            "A on B",
            "move A from the table to B",
        ] {
            assert_eq!(read(text), Ok(vec![step("A>B")]), "{text}");
        }
        for text in ["C>table", "C > TABLE", "move C to the table", "put C on the floor"] {
            assert_eq!(read(text), Ok(vec![step("C>table")]), "{text}");
        }
        let both = Ok(vec![step("A>B"), step("C>table")]);
        for text in [
            "A>B C>table",
            "A>B, C>table",
            "A>B\nC>table",
            "[A>B; C>table]",
            "1. A>B 2. C>table",
            "A>B`, `C>table",
            "- `A>B`\n- `C>table`",
            "**A>B**, **C>table**",
        ] {
            assert_eq!(read(text), both, "{text}");
        }
        assert_eq!(read("move A to B, and then move C to the table"), both);
        assert_eq!(read(" "), Ok(Vec::new()));
    }

    #[test]
    fn prose_with_letters_in_it_is_no_move() {
        for text in ["A", "A B", "a plan to b", "A>", ">B", "A>B>C", "A>Z", "is A on B?", "A>>B"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(read("I would say").expect_err("prose").why(), "`i would say` is not a move.");
    }
}
