//! Tokens as pieces of a text that is still growing: which bytes each is, and what of the text so
//! far stays as it is.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::outline::Outline;

/// What stands for a space in vocabularies of SentencePiece.
const SPACE: &str = "\u{2581}";

/// How tokens become text.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    way: Way,
    /// Whether tokens may stand for single bytes, as `<0xE2>`.
    has_bytes: bool,
    /// Whether a further token adds to the text of those before it and changes nothing of it.
    grows: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// A letter stands for every byte.
    Letters,
    /// As they stand, but for what stands for a space.
    Spaces,
    /// As words with spaces between them.
    Words,
}

impl Pieces {
    pub(super) fn of(outline: &Outline) -> Self {
        let decoders = outline.decoders();
        let names: Vec<&str> =
            decoders.iter().filter_map(|decoder| decoder["type"].as_str()).collect();
        let way = match names.as_slice() {
            [] => Way::Words,
            names if names.contains(&"ByteLevel") => Way::Letters,
            _ => Way::Spaces,
        };
        Pieces {
            way,
            has_bytes: names.contains(&"ByteFallback"),
            grows: decoders.iter().all(|decoder| only_adds(decoder)),
        }
    }

    /// Whether a text has spaces between tokens, which are no part of them.
    pub(super) fn are_words(&self) -> bool {
        self.way == Way::Words
    }

    /// The bytes that a token is in a text.
    pub(super) fn bytes(&self, token: &str) -> Vec<u8> {
        if let Some(byte) = byte_of(token).filter(|_| self.has_bytes) {
            return vec![byte];
        }
        match self.way {
            Way::Letters => {
                let bytes: Option<Vec<u8>> =
                    token.chars().map(|letter| LETTERS.get(&letter).copied()).collect();
                bytes.unwrap_or_else(|| token.as_bytes().to_vec())
            }
            Way::Spaces => token.replace(SPACE, " ").into_bytes(),
            Way::Words => token.as_bytes().to_vec(),
        }
    }

    /// How many tokens have a text that no further one changes: all, but for bytes at the end,
    /// which are no letters before the last of them is there.
    pub(super) fn settled(
        &self,
        tokens: impl DoubleEndedIterator<Item = Option<String>> + ExactSizeIterator,
    ) -> usize {
        if !self.grows {
            return 0;
        }
        if !self.has_bytes {
            return tokens.len();
        }
        let count = tokens.len();
        let is_byte = |token: &Option<String>| token.as_deref().and_then(byte_of).is_some();
        count - tokens.rev().take_while(is_byte).count()
    }
}

/// Whether a decoder looks at one token at a time, or at what is before it.
fn only_adds(decoder: &Value) -> bool {
    let is_letter = |text: &Value| text.as_str().is_some_and(|text| text.chars().count() == 1);
    match decoder["type"].as_str() {
        Some("ByteLevel" | "ByteFallback" | "Metaspace" | "Fuse" | "BPEDecoder") => true,
        Some("Strip") => decoder["stop"] == 0,
        Some("Replace") => is_letter(&decoder["pattern"]["String"]),
        _ => false,
    }
}

/// The byte that `<0xE2>` stands for.
fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2)
}

/// The byte that each letter stands for in byte-level vocabularies: printable ones of Latin-1 for
/// themselves, the others in their order for the letters from 256 on.
static LETTERS: LazyLock<HashMap<char, u8>> = LazyLock::new(|| {
    let stands_for_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let (own, others): (Vec<u8>, Vec<u8>) =
        (0..=u8::MAX).partition(|byte| stands_for_itself(*byte));
    let own = own.into_iter().map(|byte| (char::from(byte), byte));
    let others = (256..).zip(others).filter_map(|(code, byte)| Some((char::from_u32(code)?, byte)));
    own.chain(others).collect()
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pieces(decoder: Value) -> Pieces {
        let file = json!({
            "version": "1.0", "decoder": decoder,
            "model": { "type": "WordLevel", "vocab": {}, "unk_token": "" },
        });
        Pieces::of(&Outline::read(file.to_string().as_bytes()).unwrap())
    }

    fn settled(pieces: &Pieces, tokens: &[&str]) -> usize {
        pieces.settled(tokens.iter().map(|token| Some((*token).to_owned())))
    }

    #[test]
    fn a_token_is_the_bytes_that_it_stands_for() {
        let letters = pieces(json!({ "type": "ByteLevel" }));
        assert_eq!(letters.bytes("\u{120}\u{e2}\u{124}"), [b' ', 0xe2, 0x82]);
        assert_eq!(letters.bytes("\u{2603}"), "\u{2603}".as_bytes());
        let llama = pieces(json!({ "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "String": "\u{2581}" }, "content": " " },
            { "type": "ByteFallback" }, { "type": "Fuse" },
            { "type": "Strip", "content": " ", "start": 1, "stop": 0 },
        ] }));
        assert_eq!(llama.bytes("\u{2581}the"), b" the");
        assert_eq!((llama.bytes("<0xE2>"), llama.bytes("<0xE2")), (vec![0xe2], b"<0xE2".to_vec()));
        assert_eq!(settled(&llama, &["a", "<0xE2>", "<0x82>"]), 1);
        assert_eq!(settled(&llama, &["a", "<0xE2>", "b"]), 3);
    }

    #[test]
    fn where_a_token_may_change_what_was_said_before_nothing_is_settled() {
        for (decoder, expected) in [
            (json!(null), 2),
            (json!({ "type": "ByteLevel" }), 2),
            (json!({ "type": "Metaspace", "replacement": "\u{2581}" }), 2),
            (json!({ "type": "BPEDecoder", "suffix": "</w>" }), 2),
            (json!({ "type": "CTC" }), 0),
            (json!({ "type": "WordPiece", "prefix": "##" }), 0),
            (json!({ "type": "Strip", "content": " ", "start": 0, "stop": 1 }), 0),
            (json!({ "type": "Replace", "pattern": { "Regex": ".*" }, "content": "" }), 0),
        ] {
            assert_eq!(settled(&pieces(decoder.clone()), &["a", "b"]), expected, "{decoder}");
        }
    }
}
