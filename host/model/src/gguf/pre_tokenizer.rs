//! How text is cut before pairs of bytes are merged: each file names a way.

use serde_json::{Value, json};

/// Contractions, letters, digits in threes, signs, space; as Llama 3 has it.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with single digits, as Qwen has it.
const QWEN_2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A way to cut text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreTokenizer {
    /// As GPT-2 does.
    Gpt2,
    /// The same after each digit was cut off.
    Digits,
    /// As Llama 3 does.
    Llama3,
    /// As Qwen2 does.
    Qwen2,
}

impl PreTokenizer {
    /// The names that files use.
    const NAMES: [(&str, PreTokenizer); 9] = [
        ("gpt-2", PreTokenizer::Gpt2),
        ("smollm", PreTokenizer::Digits),
        ("starcoder", PreTokenizer::Digits),
        ("refact", PreTokenizer::Digits),
        ("llama-bpe", PreTokenizer::Llama3),
        ("llama3", PreTokenizer::Llama3),
        ("llama-v3", PreTokenizer::Llama3),
        ("qwen2", PreTokenizer::Qwen2),
        ("deepseek-r1-qwen", PreTokenizer::Qwen2),
    ];

    pub(super) fn named(name: &str) -> Result<Self, String> {
        let known = PreTokenizer::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, way)| *way).ok_or_else(|| {
            let names = PreTokenizer::NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
            format!("`tokenizer.ggml.pre` is `{name}`, which is not known; {names} are")
        })
    }

    /// `pre_tokenizer` in `tokenizer.json`.
    pub(super) fn json(self) -> Value {
        let bytes = |use_regex| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex });
        let first = match self {
            PreTokenizer::Gpt2 => return bytes(true),
            PreTokenizer::Digits => json!({ "type": "Digits", "individual_digits": true }),
            PreTokenizer::Llama3 => split(LLAMA_3),
            PreTokenizer::Qwen2 => split(QWEN_2),
        };
        let rest = bytes(self == PreTokenizer::Digits);
        json!({ "type": "Sequence", "pretokenizers": [first, rest] })
    }

    /// `normalizer` in `tokenizer.json`: what is done with text before it is cut.
    pub(super) fn normalizer(self) -> Value {
        match self {
            PreTokenizer::Qwen2 => json!({ "type": "NFC" }),
            _ => Value::Null,
        }
    }

    /// Whether a piece that is a token is taken whole, merges or not.
    pub(super) fn ignores_merges(self) -> bool {
        self == PreTokenizer::Llama3
    }

    /// Whether texts begin with a token of their own where the file does not say.
    pub(super) fn adds_begin(self) -> bool {
        self == PreTokenizer::Llama3
    }
}

fn split(pattern: &str) -> Value {
    json!({
        "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false,
    })
}
