//! How a policy is spoken to whose weights are elsewhere.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::chat_template::{ChatOptions, ChatTemplate};
use super::tokenizer::Tokenizer;
use super::wording::Wording;
use crate::error::PolicyError;
use crate::model::{Entries, SpecialTokens};
use troupe_core::storage::{StorageError, read_json};

/// The words of a checkpoint without its weights: of any architecture, since nothing is computed.
#[derive(Clone, Debug)]
pub struct Speaker {
    wording: Wording,
    ends: Arc<[u32]>,
    vocabulary: usize,
    positions: Option<usize>,
}

impl Speaker {
    /// Read tokenizer, chat template and what `config.json` and `generation_config.json` say of
    /// tokens.
    ///
    /// # Errors
    /// If a file is missing or damaged, or none says which tokens end an answer.
    pub fn load(folder: &Path) -> Result<Self, PolicyError> {
        if !folder.join("config.json").is_file() {
            return Err(PolicyError::Missing(folder.to_owned()));
        }
        let (config, own) = (TokenFile::read(folder, "config.json")?, TokenFile::own(folder)?);
        let tokenizer = Tokenizer::load(folder)?;
        let ends: Arc<[u32]> = match own.ends.is_empty() {
            true => config.ends.into(),
            false => own.ends.into(),
        };
        if ends.is_empty() {
            let reason = "neither `config.json` nor `generation_config.json` names an \
                          `eos_token_id`, so no answer would end";
            return Err(PolicyError::Tokenizer(reason.to_owned()));
        }
        let vocabulary = config.vocabulary.unwrap_or_else(|| tokenizer.vocabulary_size());
        let (template, chat) = (ChatTemplate::load(folder)?, ChatOptions::default());
        let wording = Wording { tokenizer: Arc::new(tokenizer), template, chat };
        Ok(Speaker { wording, ends, vocabulary, positions: config.positions })
    }

    /// Its way with words.
    pub fn wording(&self) -> &Wording {
        &self.wording
    }

    /// Set what the chat template is told beside the messages.
    pub fn set_chat_options(&mut self, options: ChatOptions) {
        self.wording.chat = options;
    }

    /// Tokens that end an answer, the main one first.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Tokens that there are.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Tokens that a prompt and its answer may have, if the checkpoint says so.
    pub fn positions(&self) -> Option<usize> {
        self.positions
    }

    /// The words of a text, split at white space, that the tokenizer cannot represent.
    pub fn unknown_words(&self, text: &str) -> Vec<String> {
        self.wording.tokenizer.unknown_words(text)
    }
}

/// What a file says of tokens.
#[derive(Default)]
struct TokenFile {
    ends: Vec<u32>,
    vocabulary: Option<usize>,
    positions: Option<usize>,
}

impl TokenFile {
    fn own(folder: &Path) -> Result<Self, PolicyError> {
        let name = "generation_config.json";
        if folder.join(name).exists() {
            TokenFile::read(folder, name)
        } else {
            Ok(TokenFile::default())
        }
    }

    /// A model that reads more than text says it of its text's part.
    fn read(folder: &Path, name: &str) -> Result<Self, PolicyError> {
        let path = folder.join(name);
        let file: Map<String, Value> = read_json(&path)?;
        let inner = file.get("text_config").and_then(Value::as_object);
        let count = |key: &str| {
            let value = file.get(key).or_else(|| inner?.get(key));
            value.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
        };
        let read = |map| SpecialTokens::read(&Entries::of(map));
        let special = read(&file).and_then(|own| match inner {
            Some(inner) => Ok(own.or(&read(inner)?)),
            None => Ok(own),
        });
        let special = special.map_err(|reason| StorageError::Unfit { path, reason })?;
        Ok(TokenFile {
            ends: special.ends().to_vec(),
            vocabulary: count("vocab_size"),
            positions: count("max_position_embeddings"),
        })
    }
}
