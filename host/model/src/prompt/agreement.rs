//! Whether the files of a checkpoint mean the same tokens.

use super::generation_config::GenerationConfig;
use super::tokenizer::Tokenizer;
use crate::error::PolicyError;
use crate::model::ModelConfig;

/// Refuse a tokenizer that belongs to another model: one with more tokens
/// than the model, without the model's end of text, or with an end of text
/// at which the model's answers would not end.
pub fn check_tokenizer(
    config: &ModelConfig,
    generation: &GenerationConfig,
    tokenizer: &Tokenizer,
) -> Result<(), PolicyError> {
    let (tokens, rows) = (tokenizer.vocabulary_size(), config.vocab_size);
    if tokens as i64 > rows {
        return Err(PolicyError::Tokenizer(format!(
            "it has {tokens} tokens, but `config.json` gives the model a `vocab_size` of {rows}; \
             take the tokenizer from the model's own checkpoint"
        )));
    }
    let files = [
        ("config.json", config.special_tokens()),
        ("generation_config.json", generation.own_tokens()),
    ];
    for (file, special) in files {
        for (name, ids) in special.named() {
            if let Some(id) = ids.iter().find(|&&id| i64::from(id) >= rows) {
                return Err(PolicyError::Tokenizer(format!(
                    "`{name}` in `{file}` is {id}, but `config.json` gives the model a \
                     `vocab_size` of {rows}; one of the two files is of another model"
                )));
            }
        }
        if let Some(id) = special.ends().iter().find(|&&id| tokenizer.token(id).is_none()) {
            return Err(PolicyError::Tokenizer(format!(
                "`eos_token_id` in `{file}` is {id}, but `tokenizer.json` has no token {id}; \
                 one of the two files is of another model"
            )));
        }
    }
    check_end(generation, config, tokenizer)
}

/// The tokenizer's end of text must be one of the model's.
fn check_end(
    generation: &GenerationConfig,
    config: &ModelConfig,
    tokenizer: &Tokenizer,
) -> Result<(), PolicyError> {
    let Some(name) = tokenizer.end_token() else { return Ok(()) };
    let Some(id) = tokenizer.id(name) else {
        return Err(PolicyError::Tokenizer(format!(
            "`eos_token` in `tokenizer_config.json` is `{name}`, which `tokenizer.json` does not \
             have; one of the two files is of another model"
        )));
    };
    let mut known = generation.end_tokens().to_vec();
    known.extend(
        config.special_tokens().ends().iter().filter(|end| !generation.end_tokens().contains(end)),
    );
    if known.is_empty() || known.contains(&id) {
        return Ok(());
    }
    Err(PolicyError::Tokenizer(format!(
        "`eos_token` in `tokenizer_config.json` is `{name}`, which is token {id}, but \
         `eos_token_id` in `config.json` and `generation_config.json` is {known:?}; answers would \
         not end there: correct whichever is wrong"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A tokenizer of seven tokens whose end of text is token 2.
    fn tokenizer(change: impl FnOnce(&mut Value)) -> Tokenizer {
        let folder = tempfile::tempdir().unwrap();
        let words = ["up", "down", "left"].map(str::to_owned);
        Tokenizer::from_words(&words).unwrap().save(folder.path()).unwrap();
        let path = folder.path().join("tokenizer_config.json");
        let mut settings: Value = troupe_core::storage::read_json(&path).unwrap();
        change(&mut settings);
        std::fs::write(&path, settings.to_string()).unwrap();
        Tokenizer::load(folder.path()).unwrap()
    }

    fn check(config: Value, generation: Value, tokenizer: &Tokenizer) -> Result<(), String> {
        let mut file = json!({
            "model_type": "qwen3", "hidden_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 8,
            "vocab_size": 9,
        });
        file.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
        let config = ModelConfig::read(file.as_object().unwrap().clone()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("generation_config.json"), generation.to_string())
            .unwrap();
        let generation = GenerationConfig::load(folder.path(), &config).unwrap();
        check_tokenizer(&config, &generation, tokenizer).map_err(|error| error.to_string())
    }

    #[test]
    fn files_that_agree_are_accepted() {
        let own = tokenizer(|_| {});
        check(json!({ "eos_token_id": 2, "pad_token_id": 8 }), json!({}), &own).unwrap();
        check(json!({ "eos_token_id": 3 }), json!({ "eos_token_id": [4, 2] }), &own).unwrap();
        check(json!({ "eos_token_id": 2 }), json!({ "eos_token_id": 3 }), &own).unwrap();
        check(json!({}), json!({}), &own).unwrap();
        let silent = tokenizer(|settings| settings["eos_token"] = Value::Null);
        check(json!({ "eos_token_id": 5 }), json!({}), &silent).unwrap();
    }

    #[test]
    fn files_that_disagree_are_named() {
        let own = tokenizer(|_| {});
        let renamed = tokenizer(|settings| settings["eos_token"] = json!({ "content": "<end>" }));
        for (config, generation, tokenizer, expected) in [
            (
                json!({ "vocab_size": 6 }),
                json!({}),
                &own,
                "has 7 tokens, but `config.json` gives the model a `vocab_size` of 6",
            ),
            (json!({ "bos_token_id": 9 }), json!({}), &own, "`bos_token_id` in `config.json` is 9"),
            (
                json!({}),
                json!({ "pad_token_id": 12 }),
                &own,
                "`pad_token_id` in `generation_config.json` is 12",
            ),
            (
                json!({}),
                json!({ "eos_token_id": [2, 7] }),
                &own,
                "`generation_config.json` is 7, but `tokenizer.json` has no token 7",
            ),
            (
                json!({ "eos_token_id": 3 }),
                json!({}),
                &own,
                "`<eos>`, which is token 2, but `eos_token_id` in `config.json` and `generation_config.json` is [3",
            ),
            (json!({}), json!({}), &renamed, "`<end>`, which `tokenizer.json` does not have"),
        ] {
            let error = check(config, generation, tokenizer).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
