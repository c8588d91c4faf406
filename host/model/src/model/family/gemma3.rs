//! Gemma 3, text only (arXiv 2503.19786): norms before and after each block
//! whose weights begin at zero, gates of a normal distribution, scaled
//! embeddings, and layers that see a window, with positions of their own.

use super::super::config_keys::ROPE;
use super::super::entries::Entries;
use super::super::norm::Gain;
use super::super::rotary::{RotaryEmbedding, scaling};
use super::{Defaults, Parts, Rotaries, Windows, sliding_layers};

/// Where the file does not say.
const DEFAULT_WINDOW: i64 = 4096;
const DEFAULT_QUERY_SCALAR: f64 = 256.0;
/// One layer of so many sees everything.
const DEFAULT_PATTERN: i64 = 6;
/// Base of the frequencies of layers that see a window.
const LOCAL_BASE: f64 = 10_000.0;

pub(super) const DEFAULTS: Defaults = Defaults {
    head_dim: Some(256),
    key_value_heads: Some(4),
    max_position_embeddings: 131_072,
    tie_word_embeddings: true,
    rotary_base: 1_000_000.0,
    begin_token: Some(2),
    end_token: Some(1),
};

pub(super) fn parts(config: &Entries) -> Result<Parts, String> {
    for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
        if config.value(key).is_some() {
            return Err(format!("`{key}` is set, but logits cannot be capped"));
        }
    }
    if config.flag("use_bidirectional_attention")?.unwrap_or(false) {
        return Err("`use_bidirectional_attention` is true, but only tokens before one's own can \
                    be seen"
            .to_owned());
    }
    let scalar = config.number("query_pre_attn_scalar")?.unwrap_or(DEFAULT_QUERY_SCALAR);
    if !(scalar > 0.0 && scalar.is_finite()) {
        return Err(format!("`query_pre_attn_scalar` is {scalar}, but must be above 0"));
    }
    let attention = config.flag("attention_bias")?.unwrap_or(false);
    Ok(Parts {
        query_key_norm: true,
        query_key_value_bias: attention,
        output_bias: attention,
        feed_forward_bias: false,
        normed_blocks: true,
        gain: Gain::OnePlusWeight,
        scaled_embedding: true,
        query_scalar: Some(scalar),
    })
}

/// `layer_types` says which; else all but the last of every `sliding_window_pattern`.
fn sliding(config: &Entries, layers: i64) -> Result<Vec<bool>, String> {
    if let Some(listed) = sliding_layers(config, layers)? {
        return match listed.len() as i64 == layers {
            true => Ok(listed),
            false => Ok(vec![false; layers.unsigned_abs() as usize]),
        };
    }
    let said = config.integer("sliding_window_pattern")?;
    // What `transformers` writes beside `layer_types` is not read without them.
    let unread = config.integer("_sliding_window_pattern")?.filter(|own| *own != DEFAULT_PATTERN);
    if let (Some(unread), None) = (unread, said) {
        return Err(format!(
            "`_sliding_window_pattern` is {unread}, which counts for nothing without \
             `layer_types`; say it as `sliding_window_pattern`"
        ));
    }
    let pattern = said.unwrap_or(DEFAULT_PATTERN);
    if pattern < 1 {
        return Err(format!("`sliding_window_pattern` is {pattern}, but must be at least 1"));
    }
    Ok((1..=layers).map(|layer| layer % pattern != 0).collect())
}

pub(super) fn windows(config: &Entries, layers: i64) -> Result<Option<Windows>, String> {
    let size = match config.mentions("sliding_window") {
        true => config.integer("sliding_window")?,
        false => Some(DEFAULT_WINDOW),
    };
    Windows::of(size, sliding(config, layers)?)
}

/// Layers that see everything turn as `rope_theta` and `rope_scaling` say, the others as
/// `rope_local_base_freq` says; newer files have both under `rope_parameters`.
pub(super) fn rotaries(config: &Entries, positions: i64, layers: i64) -> Result<Rotaries, String> {
    let both = config.object("rope_parameters", "rope_parameters.")?;
    both.map_or(Ok(()), |both| both.check(&ROPE))?;
    let (full, local) = match both {
        None => (None, None),
        Some(both) => (
            both.object("full_attention", "rope_parameters.full_attention.")?,
            both.object("sliding_attention", "rope_parameters.sliding_attention.")?,
        ),
    };
    let full = match (scaling(config)?, full) {
        (Some(_), Some(_)) => {
            return Err("`rope_scaling` and `rope_parameters.full_attention` are both set; keep \
                        one of them"
                .to_owned());
        }
        (scaling, full) => scaling.or(full),
    };
    if both.is_some_and(|both| both.mentions("rope_type") || both.mentions("rope_theta")) {
        return Err("`rope_parameters` is one for all layers, but must have `full_attention` and \
                    `sliding_attention`"
            .to_owned());
    }
    let base = ("rope_theta", DEFAULTS.rotary_base);
    let local_base = ("rope_local_base_freq", LOCAL_BASE);
    let of_layer = |local: bool| Some(usize::from(local));
    Ok(Rotaries {
        ways: vec![
            RotaryEmbedding::of(full, config, base, positions)?,
            RotaryEmbedding::of(local, config, local_base, positions)?,
        ],
        of_layers: sliding(config, layers)?.into_iter().map(of_layer).collect(),
    })
}
