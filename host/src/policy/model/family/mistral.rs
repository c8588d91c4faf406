//! Mistral (arXiv 2310.06825): Llama without biases, with fewer key heads and,
//! at first, a window.

use super::super::entries::Entries;
use super::{Defaults, Parts};

/// Where the file does not say; `null` is none.
const DEFAULT_WINDOW: i64 = 4096;

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: None,
    key_value_heads: Some(8),
    max_position_embeddings: 131_072,
    tie_word_embeddings: false,
    rotary_base: 10_000.0,
    begin_token: Some(1),
    end_token: Some(2),
};

pub(super) const PARTS: Parts = Parts {
    query_key_norm: false,
    query_key_value_bias: false,
    output_bias: false,
    feed_forward_bias: false,
};

pub(super) fn window(config: &Entries) -> Result<Option<(&'static str, i64)>, String> {
    let size = match config.mentions("sliding_window") {
        true => config.integer("sliding_window")?,
        false => Some(DEFAULT_WINDOW),
    };
    Ok(size.map(|size| ("sliding_window", size)))
}
