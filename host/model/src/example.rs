//! Small models whose weights follow from a formula: for tests and examples, which
//! need no file of weights.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tch::{Kind, Tensor};
use troupe_core::storage::{create_folder, write_json};

use super::PolicyError;
use super::model::write_tensors;
use super::prompt::{ChatTemplate, Tokenizer};

/// Words that the tokenizer of such a model knows.
const WORDS: usize = 36;

/// Write a checkpoint: this `config.json`, weights of these names and shapes, and a tokenizer of
/// the words `w0` to `w35`.
///
/// # Errors
/// If the folder cannot be written.
pub fn write_checkpoint(
    folder: &Path,
    config: &Value,
    shapes: &BTreeMap<String, Vec<i64>>,
    kind: Kind,
) -> Result<(), PolicyError> {
    create_folder(folder)?;
    write_json(&folder.join("config.json"), config)?;
    let words: Vec<String> = (0..WORDS).map(|word| format!("w{word}")).collect();
    Tokenizer::from_words(&words)?.save(folder)?;
    ChatTemplate::plain()?.save(folder)?;
    write_weights(&folder.join("model.safetensors"), shapes, kind)
}

/// Write the tensors of these names and shapes.
pub(super) fn write_weights(
    path: &Path,
    shapes: &BTreeMap<String, Vec<i64>>,
    kind: Kind,
) -> Result<(), PolicyError> {
    let tensors =
        shapes.iter().map(|(name, shape)| (name.clone(), weights(name, shape).to_kind(kind)));
    write_tensors(path, tensors)
}

/// The tensor of this name, as `formula` in `tests/parity/make.py` makes it.
fn weights(name: &str, shape: &[i64]) -> Tensor {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let value = |step: u64| {
        let bits = hash.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let value = ((bits ^ (bits >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0;
        match name {
            _ if name.contains("norm") => 1.0 + value / 4.0,
            _ if name.ends_with("bias") => value / 2.0,
            _ if name.contains("embed_tokens") => value,
            _ => value / 4.0,
        }
    };
    let count = shape.iter().product::<i64>() as u64;
    let values: Vec<f32> = (1..=count).map(value).collect();
    Tensor::from_slice(&values).view(shape)
}
