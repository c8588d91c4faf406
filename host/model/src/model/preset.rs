//! Small random policies: the shape comes from the configuration, the
//! vocabulary from the plugins.

use std::path::Path;

use serde_json::{Map, Value, json};
use tch::{Kind, Tensor};

use super::architecture::ModelConfig;
use super::decoder::Decoder;
use super::family::ModelFamily;
use crate::error::PolicyError;
use troupe_core::config::{Dtype, PolicyConfig};
use troupe_core::seed::Seed;

/// Standard deviation of the embedding.
const EMBEDDING_SPREAD: f64 = 0.05;
/// Prompt and answer together; costs nothing as positions are not learned.
const MAX_POSITIONS: i64 = 4096;

/// The architecture of a preset, as its `config.json` will say: for so many
/// tokens, one to end an answer and one for padding.
pub fn model_config(
    config: &PolicyConfig,
    tokens: usize,
    end: Option<u32>,
    pad: Option<u32>,
) -> Result<ModelConfig, PolicyError> {
    let file = json!({
        "architectures": [ModelFamily::Qwen3.class()],
        "model_type": ModelFamily::Qwen3.model_type(),
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.key_value_heads,
        "head_dim": config.head_size,
        "intermediate_size": config.intermediate_size,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": config.rope_theta,
        "rope_scaling": null,
        "vocab_size": tokens,
        "tie_word_embeddings": true,
        "max_position_embeddings": MAX_POSITIONS,
        "attention_bias": false,
        "use_sliding_window": false,
        "bos_token_id": null,
        "eos_token_id": end,
        "pad_token_id": pad,
        "torch_dtype": config.dtype.map_or(Dtype::Float32, |choice| choice.settle(Dtype::Float32)).name(),
    });
    let file = match file {
        Value::Object(file) => file,
        _ => Map::new(),
    };
    ModelConfig::read(file).map_err(|reason| PolicyError::Architecture {
        path: Path::new("[policies]").to_owned(),
        reason,
    })
}

/// Draw the weights: embeddings N(0, 0.05²), linear maps N(0, 1/inputs),
/// those that write to the residual stream a further 1/√(2·layers) smaller
/// (GPT-2's rule), norms 1.
pub fn initialize(decoder: &mut Decoder, seed: Seed) -> Result<(), PolicyError> {
    let layers = decoder.config().num_hidden_layers as f64;
    for (slot, mut target) in decoder.parameters().tensors() {
        let name = slot.name();
        let spread = match slot.shape() {
            [_] => {
                let _ = target.f_fill_(1.0)?;
                continue;
            }
            _ if name.contains("embed_tokens") => EMBEDDING_SPREAD,
            [_, inputs, ..] => 1.0 / (*inputs as f64).sqrt(),
            [] => 0.0,
        };
        let residual = name.contains("o_proj") || name.contains("down_proj");
        let spread = if residual { spread / (2.0 * layers).sqrt() } else { spread };
        let count = target.numel();
        let values = normals(seed.named(name), count, spread);
        let values = Tensor::f_from_slice(&values)?.f_view(slot.shape())?.to_kind(Kind::Float);
        target.f_copy_(&values)?;
    }
    Ok(())
}

/// Normally distributed numbers from a generator of our own: the global one
/// of libtorch is shared by all threads of the process.
pub(super) fn normals(seed: Seed, count: usize, spread: f64) -> Vec<f32> {
    (0..count as u64)
        .map(|index| {
            let seed = seed.at(index);
            // Box and Muller, 1958; 1 − u is never 0.
            let radius = (-2.0 * (1.0 - seed.at(0).unit()).ln()).sqrt();
            let angle = std::f64::consts::TAU * seed.at(1).unit();
            (spread * radius * angle.cos()) as f32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_normal_and_depend_on_the_seed_alone() {
        let numbers = normals(Seed::new(1), 20_000, 2.0);
        let mean = numbers.iter().sum::<f32>() / 20_000.0;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 20_000.0;
        assert!(mean.abs() < 0.05 && (variance - 4.0).abs() < 0.15, "{mean} {variance}");
        assert_eq!(numbers[..9], normals(Seed::new(1), 9, 2.0));
        assert_ne!(numbers[..9], normals(Seed::new(2), 9, 2.0));
    }
}
