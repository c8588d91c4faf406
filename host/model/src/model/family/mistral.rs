//! Mistral (arXiv 2310.06825): Llama without biases, with fewer key heads and,
//! at first, a window.

use super::super::entries::Entries;
use super::{Defaults, Windows};

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

/// All layers have it.
pub(super) fn windows(config: &Entries, layers: i64) -> Result<Option<Windows>, String> {
    let size = match config.mentions("sliding_window") {
        true => config.integer("sliding_window")?,
        false => Some(DEFAULT_WINDOW),
    };
    Windows::of_all(size, layers)
}
