//! Vocabularies of SentencePiece, as Gemma has them: pieces of text in the order in which they
//! were merged, and single bytes for what no piece covers.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

/// What stands for a space in a piece.
const SPACE: &str = "\u{2581}";
/// Bytes of a piece; ten times what the longest of Gemma has. Pieces are cut at every place,
/// so a longer one would cost the square of its length.
const LONGEST: usize = 1 << 10;

/// A piece as text has it once its spaces are replaced: files spell pieces of spaces with real ones.
pub(super) fn respelled(piece: &str) -> Cow<'_, str> {
    match !piece.is_empty() && piece.bytes().all(|byte| byte == b' ') {
        true => SPACE.repeat(piece.len()).into(),
        false => piece.into(),
    }
}

/// Refuse a piece that is too long to be one.
pub(super) fn check(pieces: &[Cow<str>]) -> Result<(), String> {
    match pieces.iter().enumerate().find(|(_, piece)| piece.len() > LONGEST) {
        None => Ok(()),
        Some((id, piece)) => {
            let length = piece.len();
            Err(format!("token {id} has {length} bytes, but at most {LONGEST} are possible"))
        }
    }
}

/// The pairs that are merged, the first ones first. A file lists none: every way to make a piece
/// of two others is one, and what counts is the order of the pieces, then a long first half. The
/// scores of Gemma's files do not say this order (as `transformers` reads them,
/// `gguf_tokenizer_mapping.py`).
pub(super) fn merges<'p>(pieces: &'p [Cow<str>]) -> Vec<(&'p str, &'p str)> {
    let known: HashSet<&str> = pieces.iter().map(AsRef::as_ref).collect();
    let halves = |piece: &'p Cow<str>| {
        let places = piece.char_indices().rev().filter(|(place, _)| *place > 0);
        let cuts = places.map(|(place, _)| piece.split_at(place));
        let is_pair =
            |(first, second): &(&str, &str)| known.contains(first) && known.contains(second);
        cuts.filter(is_pair).collect::<Vec<_>>()
    };
    pieces.iter().flat_map(halves).collect()
}

/// `normalizer` in `tokenizer.json`.
pub(super) fn normalizer() -> Value {
    json!({ "type": "Replace", "pattern": { "String": " " }, "content": SPACE })
}

/// `decoder` in `tokenizer.json`.
pub(super) fn decoder() -> Value {
    json!({ "type": "Sequence", "decoders": [
        { "type": "Replace", "pattern": { "String": SPACE }, "content": " " },
        { "type": "ByteFallback" },
        { "type": "Fuse" },
    ] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(all: &[&'static str]) -> Vec<Cow<'static, str>> {
        all.iter().map(|piece| respelled(piece)).collect()
    }

    #[test]
    fn pairs_come_in_the_order_of_what_they_make_and_with_the_longer_first_half_first() {
        let pieces = pieces(&["ab", "abc", "a", "b", "c", "bc", "é", "éa"]);
        let expected = [("a", "b"), ("ab", "c"), ("a", "bc"), ("b", "c"), ("é", "a")];
        assert_eq!(merges(&pieces), expected);
    }

    #[test]
    fn pieces_of_spaces_are_spelled_as_text_is() {
        let pieces = pieces(&["  ", "   ", "▁", "▁a", "\n\n", "a b"]);
        assert_eq!(pieces, ["▁▁", "▁▁▁", "▁", "▁a", "\n\n", "a b"]);
        assert_eq!(merges(&pieces), [("▁", "▁"), ("▁▁", "▁"), ("▁", "▁▁")]);
    }

    #[test]
    fn a_piece_that_would_take_long_to_cut_is_refused() {
        check(&[Cow::Owned("x".repeat(LONGEST))]).unwrap();
        let error = check(&[Cow::Borrowed("x"), Cow::Owned("x".repeat(LONGEST + 1))]).unwrap_err();
        assert_eq!(error, "token 1 has 1025 bytes, but at most 1024 are possible");
    }
}
