//! Qwen3 (arXiv 2505.09388): a norm on the queries and keys of every head,
//! whose width is independent of the model's.

use super::super::entries::Entries;
use super::{Defaults, Parts};

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: Some(128),
    key_value_heads: Some(32),
    max_position_embeddings: 32_768,
    tie_word_embeddings: false,
    rotary_base: 10_000.0,
    begin_token: None,
    end_token: None,
};

pub(super) fn parts(config: &Entries) -> Result<Parts, String> {
    let attention = config.flag("attention_bias")?.unwrap_or(false);
    Ok(Parts {
        query_key_norm: true,
        query_key_value_bias: attention,
        output_bias: attention,
        ..Parts::PLAIN
    })
}
