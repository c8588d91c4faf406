//! Qwen3 with experts (arXiv 2505.09388): each token takes a few of many small
//! gated maps, in all layers or in some.

use super::super::entries::Entries;
use super::super::experts::ExpertsShape;
use super::{Defaults, Windows, qwen_window};

/// Where the file does not say.
const DEFAULT_NUMBER: i64 = 128;
const DEFAULT_TAKEN: i64 = 8;
const DEFAULT_WIDTH: i64 = 768;
/// Four times what the largest have.
const MAX_NUMBER: i64 = 2048;

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: None,
    key_value_heads: Some(4),
    max_position_embeddings: 32_768,
    tie_word_embeddings: false,
    rotary_base: 10_000.0,
    begin_token: None,
    end_token: None,
};

/// Every `decoder_sparse_step`-th layer that `mlp_only_layers` does not list has experts.
pub(super) fn experts(config: &Entries, layers: i64) -> Result<Option<ExpertsShape>, String> {
    let key = if config.mentions("num_experts") { "num_experts" } else { "num_local_experts" };
    let number = bounded(config, key, DEFAULT_NUMBER, 0..=MAX_NUMBER)?;
    let step = bounded(config, "decoder_sparse_step", 1, 1..=i64::MAX)?;
    let dense = config.integers("mlp_only_layers")?.unwrap_or_default();
    if number == 0 {
        return Ok(None);
    }
    Ok(Some(ExpertsShape {
        number,
        taken: bounded(config, "num_experts_per_tok", DEFAULT_TAKEN, 1..=number)?,
        width: bounded(config, "moe_intermediate_size", DEFAULT_WIDTH, 1..=i64::from(i32::MAX))?,
        renormalized: config.flag("norm_topk_prob")?.unwrap_or(false),
        layers: (0..layers).map(|at| !dense.contains(&at) && (at + 1) % step == 0).collect(),
    }))
}

fn bounded(
    config: &Entries,
    key: &str,
    default: i64,
    bounds: std::ops::RangeInclusive<i64>,
) -> Result<i64, String> {
    let number = config.integer(key)?.unwrap_or(default);
    match bounds.contains(&number) {
        true => Ok(number),
        false if *bounds.end() == i64::MAX => {
            Err(format!("`{key}` is {number}, but must be at least {}", bounds.start()))
        }
        false => Err(format!(
            "`{key}` is {number}, but must be between {} and {}",
            bounds.start(),
            bounds.end()
        )),
    }
}

/// All layers have it, if `use_sliding_window` is on.
pub(super) fn windows(config: &Entries, layers: i64) -> Result<Option<Windows>, String> {
    Windows::of_all(qwen_window(config)?, layers)
}
