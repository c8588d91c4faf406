//! The tokenizer of a file, as `tokenizer.json` and its settings.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::shape::Shape;
use super::vocabulary::Vocabulary;

/// Kinds of tokens, as files number them.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
/// Tokens that end a turn, also in files that do not say so: llama.cpp looks for them by their text.
const TURN_ENDS: [&str; 12] = [
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];

/// Tokens, and how text becomes them.
#[derive(Debug)]
pub(super) struct GgufTokenizer<'f> {
    tokens: Vec<Cow<'f, str>>,
    kinds: Vec<i64>,
    vocabulary: Vocabulary<'f>,
    begin: Option<usize>,
    /// Those that end an answer, the main one first.
    ends: Vec<usize>,
    pad: Option<usize>,
    unknown: Option<usize>,
    adds_begin: bool,
    template: &'f str,
}

impl<'f> GgufTokenizer<'f> {
    /// Read the tokenizer of a model of this shape; `template` stands for the file's own.
    pub(super) fn read(
        metadata: &Metadata<'f>,
        shape: &Shape,
        template: Option<&'f str>,
    ) -> Result<Self, String> {
        let rows = shape.vocabulary;
        let (vocabulary, tokens) = Vocabulary::read(metadata, shape.architecture, rows)?;
        let kinds = metadata.wholes("tokenizer.ggml.token_type", rows)?;
        if kinds.len() != tokens.len() {
            let (kinds, tokens) = (kinds.len(), tokens.len());
            return Err(format!("it has {tokens} tokens, but the kinds of {kinds}"));
        }
        let template = template
            .map_or_else(|| metadata.text("tokenizer.chat_template"), |given| Ok(Some(given)))?;
        let template = template.ok_or(
            "it has no `tokenizer.chat_template`, so the model cannot converse; take one that \
             was trained to be instructed, or say by `--chat-template` how messages become a \
             prompt",
        )?;
        let id = |name: &str| token_id(metadata, name, tokens.len());
        let main = id("eos")?
            .ok_or("it does not say `tokenizer.ggml.eos_token_id`, so no answer would end")?;
        let turns = match id("eot")? {
            Some(turn) => vec![turn],
            None => turn_ends(&tokens, &kinds, template),
        };
        let turns = turns.into_iter().filter(|turn| *turn != main);
        let adds_begin = metadata.flag("tokenizer.ggml.add_bos_token")?;
        Ok(GgufTokenizer {
            begin: id("bos")?,
            ends: [main].into_iter().chain(turns).collect(),
            pad: id("padding")?,
            unknown: id("unknown")?,
            adds_begin: adds_begin.unwrap_or(vocabulary.adds_begin()),
            tokens,
            kinds,
            vocabulary,
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
        let ids: Map<String, Value> = self
            .tokens
            .iter()
            .enumerate()
            .map(|(id, token)| (token.clone().into_owned(), id.into()))
            .collect();
        let by_bytes = self.vocabulary.falls_back_to_bytes();
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added(),
            "normalizer": self.vocabulary.normalizer(),
            "pre_tokenizer": self.vocabulary.pre_tokenizer(),
            "post_processor": self.post_processor(),
            "decoder": self.vocabulary.decoder(),
            "model": {
                "type": "BPE", "dropout": null,
                "unk_token": self.unknown.filter(|_| by_bytes).map(|id| &self.tokens[id]),
                "continuing_subword_prefix": null, "end_of_word_suffix": null,
                "fuse_unk": by_bytes, "byte_fallback": by_bytes,
                "ignore_merges": self.vocabulary.ignores_merges(),
                "vocab": ids, "merges": self.vocabulary.merges(&self.tokens),
            },
        })
    }

    /// `tokenizer_config.json`.
    pub(super) fn settings(&self) -> Value {
        let token = |id: Option<usize>| id.map(|id| &self.tokens[id]);
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
            // Pieces of spaces are merged: text has no other spaces when pieces are looked for.
            let is_spaces = matches!(self.tokens[*id], Cow::Owned(_));
            is_added && !is_spaces && !self.tokens[*id].is_empty()
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
        let token = self.tokens[begin].as_ref();
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

/// Control tokens that end a turn, of those that the template has: a model says no others.
fn turn_ends(tokens: &[Cow<'_, str>], kinds: &[i64], template: &str) -> Vec<usize> {
    let end = |(id, (token, kind)): (usize, (&Cow<'_, str>, &i64))| {
        let token: &str = token;
        let is_end = *kind == CONTROL && TURN_ENDS.contains(&token) && template.contains(token);
        is_end.then_some(id)
    };
    tokens.iter().zip(kinds).enumerate().filter_map(end).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_with_a_control_token_of_that_text_that_the_template_has() {
        let ends = |tokens: &[(&str, i64)], template: &str| {
            let kinds: Vec<i64> = tokens.iter().map(|(_, kind)| *kind).collect();
            let tokens: Vec<Cow<str>> = tokens.iter().map(|(text, _)| (*text).into()).collect();
            turn_ends(&tokens, &kinds, template)
        };
        let llama =
            [("<|end_of_text|>", CONTROL), ("<|eot_id|>", CONTROL), ("<|eom_id|>", CONTROL)];
        assert_eq!(ends(&llama, "{{ content }}<|eot_id|>"), [1]);
        assert_eq!(ends(&llama, "{% if tool %}<|eom_id|>{% else %}<|eot_id|>{% endif %}"), [1, 2]);
        assert!(ends(&llama, "{{ content }}").is_empty());
        let chat = [("<|endoftext|>", CONTROL), ("<|im_end|>", CONTROL), ("<|end|>", 1)];
        assert_eq!(ends(&chat, "<|im_start|>{{ content }}<|im_end|><|end|>"), [1]);
    }
}
