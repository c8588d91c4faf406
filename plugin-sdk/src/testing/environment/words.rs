//! Observations as words, some of them masked: what is left is compared.

use std::collections::BTreeSet;

/// What stands in place of a masked word.
const MASKED: &str = "_";

/// A text cut into words (runs of letters and digits) and what is between them.
pub fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest.find(|letter: char| letter.is_alphanumeric() != is_word);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A place in a text that others have, too, though they may be longer or
/// shorter: counted from the start or from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    FromStart(usize),
    FromEnd(usize),
}

impl Place {
    /// Every place in a text of so many pieces.
    pub fn all(pieces: usize) -> impl Iterator<Item = Place> {
        (0..pieces).flat_map(|index| [Place::FromStart(index), Place::FromEnd(index)])
    }

    /// What stands there.
    pub fn of<'t>(self, pieces: &[&'t str]) -> Option<&'t str> {
        self.index(pieces.len()).and_then(|index| pieces.get(index).copied())
    }

    fn index(self, pieces: usize) -> Option<usize> {
        match self {
            Place::FromStart(index) => Some(index),
            Place::FromEnd(index) => pieces.checked_sub(index + 1),
        }
    }
}

/// Places that do not count.
#[derive(Clone, Debug, Default)]
pub struct Mask(pub BTreeSet<Place>);

impl Mask {
    /// The text without what does not count.
    pub fn apply(&self, text: &str) -> String {
        let mut pieces = pieces(text);
        let length = pieces.len();
        for place in &self.0 {
            if let Some(piece) = place.index(length).and_then(|index| pieces.get_mut(index)) {
                *piece = MASKED;
            }
        }
        pieces.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_hides_places_from_either_end() {
        assert_eq!(pieces("task #17: A-b"), ["task", " #", "17", ": ", "A", "-", "b"]);
        let mask = Mask([Place::FromStart(2), Place::FromEnd(0)].into());
        assert_eq!(mask.apply("task #17: A-b"), "task #_: A-_");
        assert_eq!(mask.apply("x"), "_");
        assert_eq!(mask.apply(""), "");
        assert_eq!(Place::FromEnd(2).of(&pieces("a b")), Some("a"));
        assert_eq!(Place::FromEnd(3).of(&pieces("a b")), None);
    }
}
