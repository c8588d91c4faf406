//! `generation_config.json`: which tokens end an answer.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::error::PolicyError;
use crate::keys::Keys;
use crate::model::{Entries, ModelConfig, SpecialTokens};
use troupe_core::storage::{StorageError, read_json};

/// What the file may say. How others sample is not heeded: a run's configuration says how it does.
const KEYS: Keys = Keys {
    heeded: &[&["bos_token_id", "eos_token_id", "pad_token_id"]],
    idle: &[
        "_commit_hash",
        "_from_model_config",
        "assistant_confidence_threshold",
        "assistant_early_exit",
        "assistant_ensemble_weight",
        "assistant_lookbehind",
        "bad_words_ids",
        "begin_suppress_tokens",
        "cache_config",
        "cache_implementation",
        "chat_format",
        "compile_config",
        "constraints",
        "continuous_batching_config",
        "decoder_start_token_id",
        "disable_compile",
        "diversity_penalty",
        "do_sample",
        "dola_layers",
        "early_stopping",
        "encoder_no_repeat_ngram_size",
        "encoder_repetition_penalty",
        "epsilon_cutoff",
        "eta_cutoff",
        "exponential_decay_length_penalty",
        "force_words_ids",
        "forced_bos_token_id",
        "forced_decoder_ids",
        "forced_eos_token_id",
        "generation_kwargs",
        "guidance_scale",
        "is_assistant",
        "length_penalty",
        "low_memory",
        "max_cache_len",
        "max_length",
        "max_matching_ngram_size",
        "max_new_tokens",
        "max_time",
        "max_window_size",
        "min_length",
        "min_new_tokens",
        "min_p",
        "no_repeat_ngram_size",
        "num_assistant_tokens",
        "num_assistant_tokens_schedule",
        "num_beam_groups",
        "num_beams",
        "num_return_sequences",
        "output_attentions",
        "output_hidden_states",
        "output_logits",
        "output_scores",
        "penalty_alpha",
        "prefill_chunk_size",
        "presence_penalty",
        "frequency_penalty",
        "prompt_lookup_num_tokens",
        "remove_invalid_values",
        "renormalize_logits",
        "repetition_penalty",
        "return_dict_in_generate",
        "return_legacy_cache",
        "sequence_bias",
        "speculation_type",
        "stop_strings",
        "suppress_tokens",
        "target_lookbehind",
        "temperature",
        "token_healing",
        "top_h",
        "top_k",
        "top_p",
        "transformers.js_config",
        "transformers_version",
        "trust_remote_code",
        "typical_p",
        "use_cache",
        "use_mtp",
        "watermarking_config",
    ],
    fixed: &[],
};

/// `generation_config.json`, written as it was read. Sampling settings in it
/// are kept but not used: a run's configuration says how it samples.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerationConfig {
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
    pub fn of(config: &ModelConfig) -> Self {
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
    pub fn load(folder: &Path, config: &ModelConfig) -> Result<Self, PolicyError> {
        let path = folder.join("generation_config.json");
        if !path.exists() {
            return Ok(GenerationConfig::of(config));
        }
        let original: Map<String, Value> = read_json(&path)?;
        let own = KEYS
            .check(&original)
            .and_then(|()| SpecialTokens::read(&Entries::of(&original)))
            .map_err(|reason| StorageError::Unfit { path, reason })?;
        let special = own.clone().or(config.special_tokens());
        Ok(GenerationConfig { special, own, original })
    }

    /// Tokens that end an answer, the main one first.
    pub fn end_tokens(&self) -> &[u32] {
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
    fn what_cannot_be_heeded_is_refused_with_the_file() {
        for (file, expected) in [
            (json!({ "eos_token_id": "x" }), "`eos_token_id` is `\"x\"`, but must be a token id"),
            (json!({ "made_up": 3 }), "`made_up` is `3`"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("generation_config.json"), file.to_string()).unwrap();
            let error = GenerationConfig::load(folder.path(), &config()).unwrap_err().to_string();
            assert!(error.contains("generation_config.json"), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn how_others_sample_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for key in KEYS.idle {
            for value in [json!(0.5), json!([1]), json!("text"), json!(null)] {
                let file = json!({ *key: value }).to_string();
                std::fs::write(folder.path().join("generation_config.json"), file).unwrap();
                let read = GenerationConfig::load(folder.path(), &config()).unwrap();
                assert_eq!(read.end_tokens(), [3, 4], "{key}");
            }
        }
    }
}
