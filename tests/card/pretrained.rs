//! A pretrained model that is small enough to be tried in 16 bits anywhere.

use std::fs;
use std::path::Path;

use tch::Tensor;
use tempfile::TempDir;
use troupe_core::storage::{read_json, write_json};

/// SmolLM2 with its first four layers of thirty: its words, heads and weights at a fourth of the
/// work, which a processor that is slow in 16 bits feels.
pub fn first_layers() -> TempDir {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/SmolLM2-135M-Instruct");
    assert!(whole.join("config.json").is_file(), "run `cargo xtask smollm` first");
    let folder = tempfile::tempdir().unwrap();
    for file in ["generation_config.json", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(whole.join(file), folder.path().join(file)).unwrap();
    }
    let mut config: serde_json::Value = read_json(&whole.join("config.json")).unwrap();
    config["num_hidden_layers"] = 4.into();
    write_json(&folder.path().join("config.json"), &config).unwrap();
    let is_kept = |name: &str| {
        let layer = name.strip_prefix("model.layers.").and_then(|rest| rest.split('.').next());
        layer.is_none_or(|layer| layer.parse::<u32>().unwrap() < 4)
    };
    let mut weights = Tensor::read_safetensors(whole.join("model.safetensors")).unwrap();
    weights.retain(|(name, _)| is_kept(name));
    Tensor::write_safetensors(&weights, folder.path().join("model.safetensors")).unwrap();
    folder
}
