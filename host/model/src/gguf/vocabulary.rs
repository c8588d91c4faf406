//! What the tokens of a file are made of, and what `tokenizer.json` says of that.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::metadata::Metadata;
use super::pre_tokenizer::PreTokenizer;
use super::sentence_piece;
use super::shape::Architecture;

/// Pairs of tokens that may be merged, for each token.
const MERGES_PER_TOKEN: usize = 8;

/// A way to make tokens.
#[derive(Debug)]
pub(super) enum Vocabulary<'f> {
    /// Of letters that stand for bytes (`gpt2` in the file): how text is cut, and the pairs that
    /// are merged.
    Bytes { way: PreTokenizer, merges: Vec<(&'f str, &'f str)> },
    /// Of pieces of text (`llama` in the file, after Llama 2).
    SentencePiece,
}

impl<'f> Vocabulary<'f> {
    /// The vocabulary of a file and its tokens; at most `rows` of them.
    pub(super) fn read(
        metadata: &Metadata<'f>,
        architecture: Architecture,
        rows: usize,
    ) -> Result<(Self, Vec<Cow<'f, str>>), String> {
        let model = metadata.text("tokenizer.ggml.model")?;
        let model = metadata.required("tokenizer.ggml.model", model)?;
        let tokens = metadata.texts("tokenizer.ggml.tokens", rows)?;
        match (model, architecture) {
            ("gpt2", _) => {
                let most = rows.saturating_mul(MERGES_PER_TOKEN);
                let merges = metadata.texts("tokenizer.ggml.merges", most)?;
                let merges = check_merges(&check_tokens(&tokens)?, &merges)?;
                let way = metadata.text("tokenizer.ggml.pre")?;
                let way = PreTokenizer::named(metadata.required("tokenizer.ggml.pre", way)?)?;
                let tokens = tokens.into_iter().map(Cow::Borrowed).collect();
                Ok((Vocabulary::Bytes { way, merges }, tokens))
            }
            ("llama", Architecture::Gemma3) => {
                check_no_prefix(metadata)?;
                let tokens: Vec<_> = tokens.into_iter().map(sentence_piece::respelled).collect();
                check_tokens(&tokens)?;
                sentence_piece::check(&tokens)?;
                Ok((Vocabulary::SentencePiece, tokens))
            }
            (other, architecture) => {
                let name = architecture.name();
                Err(format!(
                    "`tokenizer.ggml.model` is `{other}`; `gpt2`, which merges pairs of bytes, \
                     is read, and for `gemma3` `llama`, which is SentencePiece, but this is a \
                     `{name}`"
                ))
            }
        }
    }

    /// `normalizer` in `tokenizer.json`: what is done with text before it is cut.
    pub(super) fn normalizer(&self) -> Value {
        match self {
            Vocabulary::Bytes { way, .. } => way.normalizer(),
            Vocabulary::SentencePiece => sentence_piece::normalizer(),
        }
    }

    /// `pre_tokenizer` in `tokenizer.json`.
    pub(super) fn pre_tokenizer(&self) -> Value {
        match self {
            Vocabulary::Bytes { way, .. } => way.json(),
            // Text is not cut: pieces may go over words.
            Vocabulary::SentencePiece => Value::Null,
        }
    }

    /// `decoder` in `tokenizer.json`.
    pub(super) fn decoder(&self) -> Value {
        match self {
            Vocabulary::Bytes { .. } => json!({
                "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                "use_regex": true,
            }),
            Vocabulary::SentencePiece => sentence_piece::decoder(),
        }
    }

    /// The pairs that are merged, the first ones first.
    pub(super) fn merges<'t>(
        &'t self,
        tokens: &'t [Cow<'f, str>],
    ) -> Cow<'t, [(&'t str, &'t str)]> {
        match self {
            Vocabulary::Bytes { merges, .. } => merges.as_slice().into(),
            Vocabulary::SentencePiece => sentence_piece::merges(tokens).into(),
        }
    }

    /// Whether what no token covers is written in tokens for single bytes, as `<0xE2>`.
    pub(super) fn falls_back_to_bytes(&self) -> bool {
        matches!(self, Vocabulary::SentencePiece)
    }

    /// Whether a piece of cut text that is a token is taken whole, merges or not.
    pub(super) fn ignores_merges(&self) -> bool {
        matches!(self, Vocabulary::Bytes { way, .. } if way.ignores_merges())
    }

    /// Whether texts begin with a token of their own where the file does not say.
    pub(super) fn adds_begin(&self) -> bool {
        match self {
            Vocabulary::Bytes { way, .. } => way.adds_begin(),
            Vocabulary::SentencePiece => true,
        }
    }
}

/// Every token is there once; their ids.
fn check_tokens<T: AsRef<str>>(tokens: &[T]) -> Result<HashMap<&str, usize>, String> {
    let mut ids = HashMap::new();
    for (id, token) in tokens.iter().enumerate() {
        let token = token.as_ref();
        if let Some(other) = ids.insert(token, id) {
            return Err(format!("tokens {other} and {id} are both {token:?}"));
        }
    }
    Ok(ids)
}

/// Merges make tokens of tokens.
fn check_merges<'f>(
    ids: &HashMap<&str, usize>,
    merges: &[&'f str],
) -> Result<Vec<(&'f str, &'f str)>, String> {
    let halves = |merge: &&'f str| {
        let (first, second) = merge.split_once(' ')?;
        let is_known = |token: &str| ids.contains_key(token);
        let merged = format!("{first}{second}");
        (is_known(first) && is_known(second) && is_known(&merged)).then_some((first, second))
    };
    let merged = |merge| {
        halves(merge).ok_or_else(|| {
            format!("`tokenizer.ggml.merges` has {merge:?}, which does not make a token of two")
        })
    };
    merges.iter().map(merged).collect()
}

/// Gemma reads texts as they stand; Llama 2 begins each with a space.
fn check_no_prefix(metadata: &Metadata) -> Result<(), String> {
    match metadata.flag("tokenizer.ggml.add_space_prefix")? {
        Some(true) => Err("`tokenizer.ggml.add_space_prefix` is true, but only vocabularies that \
                           add no space to a text are read"
            .to_owned()),
        _ => Ok(()),
    }
}
