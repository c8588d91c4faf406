//! Text to token ids and back.

mod outline;
mod pieces;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokenizers::AddedToken;

use super::automaton::Automata;
use crate::error::PolicyError;
use outline::Outline;
use pieces::Pieces;
use settings::Settings;
pub(super) use settings::{effective, token_text};
use troupe_core::storage::{StorageError, write_file};

/// Special tokens of a word-level tokenizer, by id.
const SPECIALS: [&str; 4] = [PAD, UNKNOWN, END, ASSISTANT];
/// Fills rows of a batch up.
pub const PAD: &str = "<pad>";
/// Stands for words that are not in the vocabulary.
pub(super) const UNKNOWN: &str = "<unk>";
/// Ends an answer.
pub const END: &str = "<eos>";
/// Begins an answer.
pub(super) const ASSISTANT: &str = "<|assistant|>";

/// Around what is thought before an answer (Qwen3, SmolLM3, DeepSeek-R1).
const BEGIN_THOUGHT: &str = "<think>";
const END_THOUGHT: &str = "</think>";

/// Files of a tokenizer. The first four are read; the others say the same in
/// older formats and are kept for libraries that look for them.
const FILES: [&str; 7] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
];

/// `tokenizer.json` and what `tokenizer_config.json` adds to it.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    settings: Settings,
    unknown: Option<u32>,
    pieces: Pieces,
    automata: Automata,
    /// Names and content of the files it came in.
    files: Arc<Vec<(&'static str, Vec<u8>)>>,
}

/// What a policy's tokens mean.
#[derive(Clone, Debug)]
pub struct TokenCodec {
    pub tokenizer: Arc<Tokenizer>,
    /// Tokens that end an answer.
    pub ends: Arc<[u32]>,
    /// Tokens around a thought; none if the policy has none for that.
    pub thoughts: Option<ThoughtMarks>,
}

/// The tokens around what is thought before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThoughtMarks {
    /// Begins a thought, if the policy has one token for that; else prompts do.
    pub begin: Option<u32>,
    /// Ends it.
    pub end: u32,
}

impl ThoughtMarks {
    /// Whether a thought is open after a prompt that says a mark; none if it says none. What
    /// stands before one of the `ends` is part of an earlier message and begins nothing.
    pub fn is_open_after(self, prompt: &[u32], ends: &[u32]) -> Option<bool> {
        let mut own = prompt.iter().rev().take_while(|token| !ends.contains(token));
        let last = own.find(|&&token| self.is_mark(token))?;
        Some(*last != self.end)
    }

    pub fn is_mark(self, token: u32) -> bool {
        token == self.end || self.begin == Some(token)
    }
}

impl Tokenizer {
    /// `<think>` and `</think>`, if the second is one token.
    pub fn thought_marks(&self) -> Option<ThoughtMarks> {
        Some(ThoughtMarks { begin: self.id(BEGIN_THOUGHT), end: self.id(END_THOUGHT)? })
    }

    /// Load from a checkpoint folder.
    pub fn load(folder: &Path) -> Result<Self, PolicyError> {
        let mut files = Vec::new();
        for name in FILES {
            let path = folder.join(name);
            match std::fs::read(&path) {
                Ok(content) => files.push((name, content)),
                Err(error) if error.kind() == ErrorKind::NotFound && name != FILES[0] => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(refuse(format!("`{}` is not there", path.display())));
                }
                Err(error) => return Err(StorageError::io("read", &path)(error).into()),
            }
        }
        Tokenizer::assemble(files)
            .map_err(|reason| refuse(format!("`{}`: {reason}", folder.display())))
    }

    /// One token per word; text is split at white space.
    pub fn from_words(words: &[String]) -> Result<Self, PolicyError> {
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
        let settings = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": PAD,
            "unk_token": UNKNOWN,
            "eos_token": END,
            "additional_special_tokens": [ASSISTANT],
            "clean_up_tokenization_spaces": false,
        });
        let text = |value: &Value| format!("{value:#}\n").into_bytes();
        Tokenizer::assemble(vec![(FILES[0], text(&file)), (FILES[1], text(&settings))])
            .map_err(refuse)
    }

    fn assemble(files: Vec<(&'static str, Vec<u8>)>) -> Result<Self, String> {
        let content = |wanted| {
            let found = files.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, text)| text.as_slice())
        };
        let file = content(FILES[0]).ok_or("there is no `tokenizer.json`")?;
        let outline = Outline::read(file)?;
        let mut inner = tokenizers::Tokenizer::from_bytes(file)
            .map_err(|error| format!("`tokenizer.json` cannot be understood: {error}"))?;
        let failed = |error: tokenizers::Error| format!("`tokenizer.json`: {error}");
        // Leftover training settings must not truncate or pad prompts.
        inner.with_truncation(None).map_err(failed)?;
        inner.with_padding(None);
        for token in &outline.added_tokens {
            check_id(&inner, "tokenizer.json", &token.content, token.id)?;
        }
        let others = [1, 2, 3].map(|file| content(FILES[file]));
        let settings = Settings::read(others[0], others[1], others[2], outline.merges_pairs())?;
        inner.add_tokens(settings.listed().values().cloned()).map_err(failed)?;
        for (id, token) in settings.listed() {
            check_id(&inner, "tokenizer_config.json", &token.content, *id)?;
        }
        let special = unlisted(&inner, &settings)?;
        inner.add_tokens(special).map_err(failed)?;
        let unknown = inner.token_to_id(settings.named("unk_token").unwrap_or(UNKNOWN));
        let pieces = Pieces::of(&outline);
        let automata = Automata::default();
        Ok(Tokenizer { inner, settings, unknown, pieces, automata, files: Arc::new(files) })
    }

    /// Write the files it came in.
    pub fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        for (name, content) in self.files.iter() {
            write_file(&folder.join(name), content)?;
        }
        Ok(())
    }

    /// Whether both have the same tokens under the same ids.
    pub fn has_tokens_of(&self, other: &Tokenizer) -> bool {
        self.inner.get_vocab(true) == other.inner.get_vocab(true)
    }

    /// Number of tokens, special ones included.
    pub fn vocabulary_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// Id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The token with this id.
    pub(super) fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The end of text, as `tokenizer_config.json` has it.
    pub(super) fn end_token(&self) -> Option<&str> {
        self.settings.named("eos_token")
    }

    /// Token ids of a text; nothing is added to it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        let encoding =
            self.inner.encode_fast(text, false).map_err(|error| refuse(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Token ids of a text as `transformers` begins it, and ends it: with what the file's
    /// post-processor adds, which is often the token that begins a text.
    pub fn encode_begun(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        let encoding =
            self.inner.encode_fast(text, true).map_err(|error| refuse(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The bytes that a token is in a text; none if it is special.
    pub(super) fn bytes(&self, token: u32) -> Vec<u8> {
        let added = self.inner.get_added_vocabulary();
        match self.inner.id_to_token(token) {
            Some(text) if added.is_special_token(&text) => Vec::new(),
            Some(text) => self.pieces.bytes(&text),
            None => Vec::new(),
        }
    }

    /// The bytes that each token of an answer adds to its text. There is a space between words, and
    /// some vocabularies have a first token whose own is left out.
    pub(super) fn bytes_in_text(&self, tokens: &[u32]) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = tokens.iter().map(|token| self.bytes(*token)).collect();
        let mut said = tokens.iter().zip(&mut all).filter(|(_, bytes)| !bytes.is_empty());
        if let Some((first, bytes)) = said.next()
            && let Ok(shown) = self.decode(&[*first])
            && bytes.ends_with(shown.as_bytes())
        {
            *bytes = shown.into_bytes();
        }
        if self.says_words() {
            said.for_each(|(_, bytes)| bytes.insert(0, b' '));
        }
        all
    }

    /// Whether every token is a word, and a text has spaces between them.
    pub(super) fn says_words(&self) -> bool {
        self.pieces.are_words()
    }

    /// What answers may be, over its tokens, as far as that was asked.
    pub(super) fn automata(&self) -> &Automata {
        &self.automata
    }

    /// How many of an answer's tokens so far have a text that no further token changes.
    pub(super) fn settled(&self, tokens: &[u32]) -> usize {
        self.pieces.settled(tokens.iter().map(|token| self.inner.id_to_token(*token)))
    }

    /// Text of token ids, special tokens left out.
    pub fn decode(&self, tokens: &[u32]) -> Result<String, PolicyError> {
        self.inner.decode(tokens, true).map_err(|error| refuse(error.to_string()))
    }

    /// Words that contain the unknown token once encoded; each once, in order.
    pub fn unknown_words(&self, text: &str) -> Vec<String> {
        let Some(unknown) = self.unknown else { return Vec::new() };
        let mut seen = HashSet::new();
        text.split_whitespace()
            .filter(|word| seen.insert(*word))
            .filter(|word| self.encode(word).is_ok_and(|tokens| tokens.contains(&unknown)))
            .map(str::to_owned)
            .collect()
    }
}

/// Special tokens that are named and in the vocabulary, but not among the added ones, which they
/// have to be for their text to be taken as one token.
fn unlisted(inner: &tokenizers::Tokenizer, settings: &Settings) -> Result<Vec<AddedToken>, String> {
    let known = inner.get_added_tokens_decoder();
    let is_unlisted = |token: &AddedToken| {
        let is_listed = known.values().any(|known| known.content == token.content);
        !is_listed && inner.token_to_id(&token.content).is_some()
    };
    Ok(settings.special()?.into_iter().filter(is_unlisted).collect())
}

/// A token must have the number that a file gives it: it is that of its weights.
fn check_id(inner: &tokenizers::Tokenizer, file: &str, token: &str, id: u32) -> Result<(), String> {
    match inner.token_to_id(token) {
        Some(own) if own != id => Err(format!(
            "`{file}` says that {token:?} is token {id}, but it comes to be token {own}; the \
             numbers of added tokens have to go on without a gap"
        )),
        _ => Ok(()),
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
