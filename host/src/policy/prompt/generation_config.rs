//! `generation_config.json`: which tokens end an answer.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::policy::error::PolicyError;
use crate::policy::model::{Entries, ModelConfig, SpecialTokens};
use crate::storage::{StorageError, read_json};

/// `generation_config.json`, written as it was read. Sampling settings in it
/// are kept but not used: a run's configuration says how it samples.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::policy) struct GenerationConfig {
    special: SpecialTokens,
    /// Those that the file itself names.
    own: SpecialTokens,
    original: Map<String, Value>,
}

impl Serialize for GenerationConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.original.serialize(serializer)
    }
}

impl GenerationConfig {
    /// What `config.json` alone says.
    pub(in crate::policy) fn of(config: &ModelConfig) -> Self {
        let special = config.special_tokens().clone();
        let mut original = Map::new();
        for (name, ids) in special.named() {
            match ids {
                [] => continue,
                [id] => original.insert(name.to_owned(), json!(id)),
                ids => original.insert(name.to_owned(), json!(ids)),
            };
        }
        GenerationConfig { own: special.clone(), special, original }
    }

    /// Read `generation_config.json`; what it leaves out, `config.json` says.
    pub(in crate::policy) fn load(
        folder: &Path,
        config: &ModelConfig,
    ) -> Result<Self, PolicyError> {
        let path = folder.join("generation_config.json");
        if !path.exists() {
            return Ok(GenerationConfig::of(config));
        }
        let original: Map<String, Value> = read_json(&path)?;
        let own = SpecialTokens::read(&Entries::of(&original))
            .map_err(|reason| StorageError::Unfit { path, reason })?;
        let special = own.clone().or(config.special_tokens());
        Ok(GenerationConfig { special, own, original })
    }

    /// Tokens that end an answer, the main one first.
    pub(in crate::policy) fn end_tokens(&self) -> &[u32] {
        self.special.ends()
    }

    /// The tokens that the file itself names.
    pub(super) fn own_tokens(&self) -> &SpecialTokens {
        &self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ModelConfig {
        let file = json!({
            "model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9,
            "eos_token_id": [3, 4], "bos_token_id": null, "pad_token_id": 5,
        });
        ModelConfig::read(file.as_object().unwrap().clone()).unwrap()
    }

    #[test]
    fn without_the_file_the_model_says_what_ends_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let generation = GenerationConfig::load(folder.path(), &config()).unwrap();
        assert_eq!(generation.end_tokens(), [3, 4]);
        let written = serde_json::to_value(&generation).unwrap();
        assert_eq!(written, json!({ "eos_token_id": [3, 4], "pad_token_id": 5 }));
    }

    #[test]
    fn the_file_comes_first_and_is_written_as_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = json!({ "temperature": 0.6, "eos_token_id": 7, "do_sample": true });
        std::fs::write(folder.path().join("generation_config.json"), file.to_string()).unwrap();
        let generation = GenerationConfig::load(folder.path(), &config()).unwrap();
        assert_eq!(generation.end_tokens(), [7]);
        assert_eq!(serde_json::to_string(&generation).unwrap(), file.to_string());
    }

    #[test]
    fn an_entry_of_the_wrong_type_is_refused_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("generation_config.json"), r#"{"eos_token_id": "x"}"#)
            .unwrap();
        let error = GenerationConfig::load(folder.path(), &config()).unwrap_err().to_string();
        assert!(error.contains("generation_config.json"), "{error}");
        assert!(error.contains("`eos_token_id` is `\"x\"`, but must be a token id"), "{error}");
    }
}
