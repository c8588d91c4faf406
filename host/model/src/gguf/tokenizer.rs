//! The tokenizer of a file, as `tokenizer.json` and its settings.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::pre_tokenizer::PreTokenizer;

/// Kinds of tokens, as files number them.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
/// Pairs of tokens that may be merged, for each token.
const MERGES_PER_TOKEN: usize = 8;

/// Tokens, and how text becomes them.
#[derive(Debug)]
pub(super) struct GgufTokenizer<'f> {
    tokens: Vec<&'f str>,
    kinds: Vec<i64>,
    merges: Vec<(&'f str, &'f str)>,
    way: PreTokenizer,
    begin: Option<usize>,
    /// Those that end an answer, the main one first.
    ends: Vec<usize>,
    pad: Option<usize>,
    unknown: Option<usize>,
    adds_begin: bool,
    template: &'f str,
}

impl<'f> GgufTokenizer<'f> {
    /// Read the tokenizer of a model with so many rows in its embedding.
    pub(super) fn read(metadata: &Metadata<'f>, rows: usize) -> Result<Self, String> {
        let model = metadata.text("tokenizer.ggml.model")?;
        match metadata.required("tokenizer.ggml.model", model)? {
            "gpt2" => {}
            other => {
                return Err(format!(
                    "`tokenizer.ggml.model` is `{other}`; only `gpt2`, which merges pairs of \
                     bytes, is read (`llama` is SentencePiece)"
                ));
            }
        }
        let tokens = metadata.texts("tokenizer.ggml.tokens", rows)?;
        let kinds = metadata.wholes("tokenizer.ggml.token_type", rows)?;
        if kinds.len() != tokens.len() {
            let (kinds, tokens) = (kinds.len(), tokens.len());
            return Err(format!("it has {tokens} tokens, but the kinds of {kinds}"));
        }
        let merges =
            metadata.texts("tokenizer.ggml.merges", rows.saturating_mul(MERGES_PER_TOKEN))?;
        let merges = check(&tokens, &merges)?;
        let way = metadata.text("tokenizer.ggml.pre")?;
        let way = PreTokenizer::named(metadata.required("tokenizer.ggml.pre", way)?)?;
        let template = metadata.text("tokenizer.chat_template")?.ok_or(
            "it has no `tokenizer.chat_template`, so the model cannot converse; take one that \
             was trained to be instructed",
        )?;
        let id = |name: &str| token_id(metadata, name, tokens.len());
        let main = id("eos")?
            .ok_or("it does not say `tokenizer.ggml.eos_token_id`, so no answer would end")?;
        let turn = id("eot")?.filter(|turn| *turn != main);
        let adds_begin = metadata.flag("tokenizer.ggml.add_bos_token")?;
        Ok(GgufTokenizer {
            begin: id("bos")?,
            ends: [main].into_iter().chain(turn).collect(),
            pad: id("padding")?,
            unknown: id("unknown")?,
            adds_begin: adds_begin.unwrap_or(way.adds_begin()),
            tokens,
            kinds,
            merges,
            way,
            template,
        })
    }

    /// Ids under the keys of `config.json` and `generation_config.json`.
    pub(super) fn special_ids(&self) -> Map<String, Value> {
        let mut ids = Map::new();
        ids.extend(self.begin.map(|id| ("bos_token_id".to_owned(), id.into())));
        let ends = match self.ends.as_slice() {
            [end] => json!(end),
            ends => json!(ends),
        };
        ids.insert("eos_token_id".to_owned(), ends);
        ids.extend(self.pad.map(|id| ("pad_token_id".to_owned(), id.into())));
        ids
    }

    /// `tokenizer.json`.
    pub(super) fn file(&self) -> Value {
        let vocabulary: Map<String, Value> = self
            .tokens
            .iter()
            .enumerate()
            .map(|(id, token)| ((*token).to_owned(), id.into()))
            .collect();
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added(),
            "normalizer": self.way.normalizer(),
            "pre_tokenizer": self.way.json(),
            "post_processor": self.post_processor(),
            "decoder": {
                "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                "use_regex": true,
            },
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null,
                "continuing_subword_prefix": null, "end_of_word_suffix": null,
                "fuse_unk": false, "byte_fallback": false,
                "ignore_merges": self.way.ignores_merges(),
                "vocab": vocabulary, "merges": self.merges,
            },
        })
    }

    /// `tokenizer_config.json`.
    pub(super) fn settings(&self) -> Value {
        let token = |id: Option<usize>| id.map(|id| self.tokens[id]);
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": token(self.begin),
            "eos_token": self.tokens[self.ends[0]],
            "pad_token": token(self.pad),
            "unk_token": token(self.unknown),
            "clean_up_tokenization_spaces": false,
            "chat_template": self.template,
        })
    }

    /// Tokens that are found in text before it is cut.
    fn added(&self) -> Vec<Value> {
        let named = [self.begin, self.pad].into_iter().flatten().chain(self.ends.iter().copied());
        let named: Vec<usize> = named.collect();
        let kinds = self.kinds.iter().enumerate();
        let added = kinds.filter(|(id, kind)| {
            let is_added = **kind == CONTROL || **kind == USER_DEFINED || named.contains(id);
            is_added && !self.tokens[*id].is_empty()
        });
        let entry = |(id, kind): (usize, &i64)| {
            json!({
                "id": id, "content": self.tokens[id], "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": *kind != USER_DEFINED,
            })
        };
        added.map(entry).collect()
    }

    /// What begins every text where it is not the beginning of a conversation.
    fn post_processor(&self) -> Value {
        let Some(begin) = self.begin.filter(|_| self.adds_begin) else { return Value::Null };
        let token = self.tokens[begin];
        let special = json!({ "SpecialToken": { "id": token, "type_id": 0 } });
        let text = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
        json!({
            "type": "TemplateProcessing",
            "single": [special, text("A")],
            "pair": [special, text("A"), special, text("B")],
            "special_tokens": { token: { "id": token, "ids": [begin], "tokens": [token] } },
        })
    }
}

/// Every token is there once, and merges make tokens of tokens.
fn check<'f>(tokens: &[&'f str], merges: &[&'f str]) -> Result<Vec<(&'f str, &'f str)>, String> {
    let mut ids = HashMap::new();
    for (id, token) in tokens.iter().enumerate() {
        if let Some(other) = ids.insert(*token, id) {
            return Err(format!("tokens {other} and {id} are both {token:?}"));
        }
    }
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

/// The token that a file names for this purpose.
fn token_id(metadata: &Metadata, purpose: &str, tokens: usize) -> Result<Option<usize>, String> {
    let name = format!("tokenizer.ggml.{purpose}_token_id");
    let id = metadata.whole(&name)?;
    match id.filter(|id| *id >= tokens as u64) {
        // Some files say −1, in 32 bits without a sign, for none.
        Some(0xffff_ffff) => Ok(None),
        Some(id) => Err(format!("`{name}` is {id}, but there are {tokens} tokens")),
        None => Ok(id.map(|id| id as usize)),
    }
}
