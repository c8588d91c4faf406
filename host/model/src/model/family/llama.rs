//! Llama 2 and 3 (arXiv 2407.21783): no norm on queries and keys, biases if
//! asked for, often `llama3` frequencies.

use super::super::entries::Entries;
use super::{Defaults, Parts};

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: None,
    key_value_heads: None,
    max_position_embeddings: 2048,
    tie_word_embeddings: false,
    rotary_base: 10_000.0,
    begin_token: Some(1),
    end_token: Some(2),
};

pub(super) fn parts(config: &Entries) -> Result<Parts, String> {
    let attention = config.flag("attention_bias")?.unwrap_or(false);
    Ok(Parts {
        query_key_value_bias: attention,
        output_bias: attention,
        feed_forward_bias: config.flag("mlp_bias")?.unwrap_or(false),
        ..Parts::PLAIN
    })
}

/// `transformers` reads no window for this family, others do; so a model
/// that was made with one would differ from one to the next. One that no
/// prompt and answer outgrow limits nothing.
pub(super) fn check_no_window(config: &Entries, positions: i64) -> Result<(), String> {
    match config.integer("sliding_window")?.filter(|size| *size < positions) {
        None => Ok(()),
        Some(size) => Err(format!(
            "`sliding_window` limits attention to a window of {size} tokens, which \
             `transformers` does not do in this family; remove it, and set \
             `max_position_embeddings` to {size} to use the model up to there"
        )),
    }
}
