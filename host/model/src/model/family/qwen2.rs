//! Qwen2 and Qwen2.5 (arXiv 2412.15115): biases on queries, keys and values,
//! always and only there.

use super::{Defaults, Parts};

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: None,
    key_value_heads: Some(32),
    max_position_embeddings: 32_768,
    tie_word_embeddings: false,
    rotary_base: 10_000.0,
    begin_token: None,
    end_token: None,
};

pub(super) const PARTS: Parts = Parts { query_key_value_bias: true, ..Parts::PLAIN };
