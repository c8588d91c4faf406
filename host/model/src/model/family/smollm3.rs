//! SmolLM3: Llama in which every fourth layer sees no positions (NoPE,
//! arXiv 2501.18795), with a head that is the embedding.

use super::super::entries::Entries;
use super::{Defaults, Windows, sliding_layers};

/// One layer of so many sees no positions, where the file does not say.
const DEFAULT_INTERVAL: i64 = 4;

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: None,
    key_value_heads: Some(4),
    max_position_embeddings: 32_768,
    tie_word_embeddings: true,
    rotary_base: 2_000_000.0,
    begin_token: Some(128_000),
    end_token: Some(128_001),
};

/// `no_rope_layers` has a 1 for each layer that does turn; else the last of
/// every `no_rope_layer_interval` does not.
pub(super) fn turned(config: &Entries, layers: i64) -> Result<Vec<bool>, String> {
    if let Some(listed) = config.integers("no_rope_layers")? {
        let listed: Vec<bool> = listed.into_iter().map(|turns| turns != 0).collect();
        if listed.len() as i64 != layers {
            return Err(format!(
                "`no_rope_layers` speaks of {} layers, but `num_hidden_layers` is {layers}",
                listed.len()
            ));
        }
        return Ok(listed);
    }
    let interval = config.integer("no_rope_layer_interval")?.unwrap_or(DEFAULT_INTERVAL);
    if interval < 1 {
        return Err(format!("`no_rope_layer_interval` is {interval}, but must be at least 1"));
    }
    Ok((1..=layers).map(|layer| layer % interval != 0).collect())
}

/// The window of the layers that `layer_types` names, or of those without positions.
pub(super) fn windows(config: &Entries, layers: i64) -> Result<Option<Windows>, String> {
    let on = config.flag("use_sliding_window")?.unwrap_or(false);
    let size = config.integer("sliding_window")?.filter(|_| on);
    if let Some(sliding) = sliding_layers(config, layers)? {
        return Windows::of(size, sliding);
    }
    let windowed = turned(config, layers)?.into_iter().map(|turned| size.is_some() && !turned);
    Windows::of(size, windowed.collect())
}
