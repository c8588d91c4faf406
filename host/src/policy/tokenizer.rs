//! Text to token ids and back.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use super::PolicyError;
use crate::storage::{read_json, write_file, write_json};

/// Special tokens of a word-level tokenizer, by id.
const SPECIALS: [&str; 4] = [PAD, UNKNOWN, END, ASSISTANT];
/// Fills rows of a batch up.
pub(super) const PAD: &str = "<pad>";
/// Stands for words that are not in the vocabulary.
pub(super) const UNKNOWN: &str = "<unk>";
/// Ends an answer.
pub(super) const END: &str = "<eos>";
/// Begins an answer.
pub(super) const ASSISTANT: &str = "<|assistant|>";

/// `tokenizer.json` and what `tokenizer_config.json` adds to it.
#[derive(Clone, Debug)]
pub(super) struct Tokenizer {
    inner: tokenizers::Tokenizer,
    settings: Value,
    unknown: Option<u32>,
}

impl Tokenizer {
    /// Load from a checkpoint folder.
    pub(super) fn load(folder: &Path) -> Result<Self, PolicyError> {
        let path = folder.join("tokenizer.json");
        let inner = tokenizers::Tokenizer::from_file(&path)
            .map_err(|error| refuse(format!("`{}`: {error}", path.display())))?;
        let settings = folder.join("tokenizer_config.json");
        let settings = if settings.exists() { read_json(&settings)? } else { json!({}) };
        Ok(Tokenizer::assemble(inner, settings))
    }

    /// One token per word; text is split at white space.
    pub(super) fn from_words(words: &[String]) -> Result<Self, PolicyError> {
        if let Some(word) =
            words.iter().find(|word| word.is_empty() || word.contains(char::is_whitespace))
        {
            return Err(refuse(format!(
                "`{word}` cannot be a word: it is empty or has white space in it"
            )));
        }
        let mut seen = HashSet::new();
        let all = SPECIALS.into_iter().chain(words.iter().map(String::as_str));
        let vocabulary: serde_json::Map<String, Value> = all
            .filter(|word| seen.insert(*word))
            .enumerate()
            .map(|(id, word)| (word.to_owned(), id.into()))
            .collect();
        let added: Vec<Value> =
            SPECIALS.iter().enumerate().map(|(id, word)| special(id, word)).collect();
        let file = json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": { "type": "WhitespaceSplit" },
            "post_processor": null,
            "decoder": null,
            "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN },
        });
        let inner = tokenizers::Tokenizer::from_bytes(file.to_string())
            .map_err(|error| refuse(error.to_string()))?;
        let settings = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": PAD,
            "unk_token": UNKNOWN,
            "eos_token": END,
            "additional_special_tokens": [ASSISTANT],
            "clean_up_tokenization_spaces": false,
        });
        Ok(Tokenizer::assemble(inner, settings))
    }

    fn assemble(inner: tokenizers::Tokenizer, settings: Value) -> Self {
        let name = match &settings["unk_token"] {
            Value::Object(token) => token.get("content").and_then(Value::as_str),
            token => token.as_str(),
        };
        let unknown = inner.token_to_id(name.unwrap_or(UNKNOWN));
        Tokenizer { inner, settings, unknown }
    }

    /// Write `tokenizer.json` and `tokenizer_config.json`.
    pub(super) fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        let text = self.inner.to_string(true).map_err(|error| refuse(error.to_string()))?;
        write_file(&folder.join("tokenizer.json"), text.as_bytes())?;
        write_json(&folder.join("tokenizer_config.json"), &self.settings)?;
        Ok(())
    }

    /// Number of tokens, special ones included.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// Id of a token.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Token ids of a text; nothing is added to it.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        let encoding =
            self.inner.encode_fast(text, false).map_err(|error| refuse(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Text of token ids, special tokens left out.
    pub(super) fn decode(&self, tokens: &[u32]) -> Result<String, PolicyError> {
        self.inner.decode(tokens, true).map_err(|error| refuse(error.to_string()))
    }

    /// Words that contain the unknown token once encoded; each once, in order.
    pub(super) fn unknown_words(&self, text: &str) -> Vec<String> {
        let Some(unknown) = self.unknown else { return Vec::new() };
        let mut seen = HashSet::new();
        text.split_whitespace()
            .filter(|word| seen.insert(*word))
            .filter(|word| self.encode(word).is_ok_and(|tokens| tokens.contains(&unknown)))
            .map(str::to_owned)
            .collect()
    }
}

fn special(id: usize, word: &str) -> Value {
    json!({
        "id": id, "content": word, "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true,
    })
}

fn refuse(reason: String) -> PolicyError {
    PolicyError::Tokenizer(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> Tokenizer {
        let words: Vec<String> = ["up", "down", "W(1,2)"].map(str::to_owned).to_vec();
        Tokenizer::from_words(&words).unwrap()
    }

    #[test]
    fn words_become_tokens_and_specials_are_left_out_of_text() {
        let tokenizer = tokenizer();
        let tokens = tokenizer.encode("W(1,2)  up\nnowhere <|assistant|>").unwrap();
        assert_eq!(tokens, [6, 4, 1, 3]);
        assert_eq!(tokenizer.decode(&[6, 4, 2, 0]).unwrap(), "W(1,2) up");
        assert_eq!(tokenizer.vocabulary_size(), 7);
    }

    #[test]
    fn unknown_words_are_named_once() {
        assert_eq!(tokenizer().unknown_words("left up right left"), ["left", "right"]);
    }

    #[test]
    fn saved_and_loaded_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        tokenizer().save(folder.path()).unwrap();
        let loaded = Tokenizer::load(folder.path()).unwrap();
        assert_eq!(loaded.encode("down <eos>").unwrap(), tokenizer().encode("down <eos>").unwrap());
        assert_eq!(loaded.unknown_words("left"), ["left"]);
    }

    #[test]
    fn a_word_with_white_space_is_refused() {
        let error = Tokenizer::from_words(&["a b".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`a b`"), "{error}");
    }
}
