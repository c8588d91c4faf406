//! Small models of every family, once on the card and once on the CPU.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use tch::{Kind, Tensor};
use troupe_core::config::{DeviceChoice, LoraConfig};
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy, Request};

/// The card that tests run on.
pub fn card() -> Device {
    pretend_cuda::insert();
    Device::choose(DeviceChoice::Cuda(0)).unwrap()
}

/// What a golden file says of a model's shape.
#[derive(Deserialize)]
struct Shape {
    config: serde_json::Value,
    shapes: BTreeMap<String, Vec<i64>>,
}

/// A model of `tests/parity` on a device.
pub fn model(name: &str, device: Device) -> Policy {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/parity/golden");
    let shape: Shape =
        troupe_core::storage::read_json(&golden.join(format!("{name}.json"))).unwrap();
    let kind = if name.ends_with("bf16") { Kind::BFloat16 } else { Kind::Float };
    let folder = tempfile::tempdir().unwrap();
    troupe_model::example::write_checkpoint(folder.path(), &shape.config, &shape.shapes, kind)
        .unwrap();
    Policy::load(folder.path(), device).unwrap()
}

/// The base with an adapter that does something; the same on every device.
pub fn adapted(base: &Policy, seed: u64) -> Policy {
    // Experts cannot be adapted.
    let target_modules = ["q_proj", "v_proj", "o_proj"].map(str::to_owned).to_vec();
    let config = LoraConfig { rank: 4, target_modules, ..Default::default() };
    let policy = base.adapt(&config, Seed::new(seed)).unwrap();
    for (slot, mut tensor) in policy.trainable().tensors() {
        let wave = Tensor::arange(tensor.numel() as i64, tch::kind::FLOAT_CPU);
        tensor.copy_(&(((wave + seed as f64) * 0.7).sin() * 0.1).view(slot.shape()));
    }
    policy
}

/// Two adapters over one base, and the base.
pub fn team(name: &str, device: Device) -> Vec<Policy> {
    let base = model(name, device);
    vec![adapted(&base, 1), adapted(&base, 2), base]
}

/// A prompt of so many words, of which the first ones are the same in all, and answers to it.
pub fn request(seed: u64, words: usize, answers: u64) -> Request {
    let word = |at: usize| 4 + Seed::new(if at < 5 { 0 } else { seed }).at(at as u64).index(30);
    let prompt: Arc<[u32]> = (0..words).map(|at| word(at) as u32).collect();
    Request { prompt, seeds: (0..answers).map(|branch| Seed::new(seed).at(branch)).collect() }
}
