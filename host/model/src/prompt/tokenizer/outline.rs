//! What `tokenizer.json` says, but for its vocabulary: whether all of it is understood.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::keys::Keys;

const KEYS: Keys = Keys {
    heeded: &[&["decoder", "normalizer", "post_processor", "pre_tokenizer", "version"]],
    // Nothing is cut off or filled up, as in `transformers`, which forgets both.
    idle: &["padding", "truncation"],
    fixed: &[],
};

const MODEL: Keys = Keys {
    heeded: &[&[
        "byte_fallback",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "ignore_merges",
        "max_input_chars_per_word",
        "type",
        "unk_id",
        "unk_token",
    ]],
    idle: &[],
    // With it the same text would become other tokens every time.
    fixed: &[("dropout", &["0"])],
};

/// The file without its vocabulary.
#[derive(Deserialize)]
pub(super) struct Outline {
    model: Model,
    #[serde(default)]
    pub(super) added_tokens: Vec<Added>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default, rename = "vocab")]
    _vocab: IgnoredAny,
    #[serde(default, rename = "merges")]
    _merges: IgnoredAny,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A token beside the vocabulary.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Added {
    pub(super) id: u32,
    pub(super) content: String,
    #[serde(default, rename = "single_word")]
    _single_word: IgnoredAny,
    #[serde(default, rename = "lstrip")]
    _lstrip: IgnoredAny,
    #[serde(default, rename = "rstrip")]
    _rstrip: IgnoredAny,
    #[serde(default, rename = "normalized")]
    _normalized: IgnoredAny,
    #[serde(default, rename = "special")]
    _special: IgnoredAny,
}

impl Outline {
    /// Read the file, and refuse what would be passed over.
    pub(super) fn read(file: &[u8]) -> Result<Self, String> {
        let outline: Outline = serde_json::from_slice(file)
            .map_err(|error| format!("`tokenizer.json` cannot be understood: {error}"))?;
        KEYS.check(&outline.rest).map_err(|reason| format!("`tokenizer.json`: {reason}"))?;
        MODEL
            .check(&outline.model.rest)
            .map_err(|reason| format!("`tokenizer.json`: in `model`, {reason}"))?;
        Ok(outline)
    }

    /// Whether tokens are made by merging pairs.
    pub(super) fn merges_pairs(&self) -> bool {
        self.model.rest.get("type").is_none_or(|kind| kind == "BPE")
    }

    /// The steps that make text of tokens, in their order; none if tokens are words.
    pub(super) fn decoders(&self) -> Vec<&Value> {
        let mut found = Vec::new();
        let mut waiting: Vec<&Value> =
            self.rest.get("decoder").filter(|decoder| !decoder.is_null()).into_iter().collect();
        while let Some(decoder) = waiting.pop() {
            match decoder["decoders"].as_array() {
                Some(inner) => waiting.extend(inner.iter().rev()),
                None => found.push(decoder),
            }
        }
        found
    }
}
