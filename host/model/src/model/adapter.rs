//! Low-rank adapters (LoRA, arXiv 2106.09685): a linear map W of a frozen base
//! becomes W + s·B·A, with A `[rank, inputs]` and B `[outputs, rank]`.
//!
//! The scale s is `alpha / rank`, or `alpha / √rank` with rank stabilization
//! (arXiv 2312.03732). Folders are those of `peft`, which vLLM reads, too.

use std::collections::BTreeMap;
use std::path::Path;

use tch::Tensor;

use super::adapter_config::AdapterConfig;
use super::architecture::ModelConfig;
use super::device::Device;
use super::parameters::{Layout, Parameters};
use super::weights::{read_tensors, write_tensors};
use crate::error::PolicyError;
use troupe_core::seed::Seed;

/// What `peft` puts before the names of the base's modules.
const PREFIX: &str = "base_model.model.";

/// Linear maps that the base applies in one operation, and their adapters too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Queries, keys and values.
    QueryKeyValue,
    /// What attention writes to the residual stream.
    Output,
    /// Gate and up projection of the gated block.
    GateUp,
    /// What the gated block writes to the residual stream.
    Down,
}

impl Site {
    const ALL: [Site; 4] = [Site::QueryKeyValue, Site::Output, Site::GateUp, Site::Down];

    /// The modules of the checkpoint that lie here, with their outputs.
    fn modules(self, config: &ModelConfig) -> Vec<(&'static str, i64)> {
        let keys = config.num_key_value_heads * config.head_dim;
        match self {
            Site::QueryKeyValue => vec![
                ("self_attn.q_proj", config.num_attention_heads * config.head_dim),
                ("self_attn.k_proj", keys),
                ("self_attn.v_proj", keys),
            ],
            Site::Output => vec![("self_attn.o_proj", config.hidden_size)],
            Site::GateUp => vec![
                ("mlp.gate_proj", config.intermediate_size),
                ("mlp.up_proj", config.intermediate_size),
            ],
            Site::Down => vec![("mlp.down_proj", config.hidden_size)],
        }
    }

    fn inputs(self, config: &ModelConfig) -> i64 {
        match self {
            Site::QueryKeyValue | Site::GateUp => config.hidden_size,
            Site::Output => config.num_attention_heads * config.head_dim,
            Site::Down => config.intermediate_size,
        }
    }
}

/// The adapter of one policy.
#[derive(Debug)]
pub struct Adapter {
    config: AdapterConfig,
    shape: ModelConfig,
    parameters: Parameters,
}

impl Adapter {
    /// A fresh adapter for models of this shape: A uniform in ±1/√inputs, as
    /// `peft` draws it, and B zero, so that nothing changes before training.
    pub fn new(
        config: AdapterConfig,
        shape: &ModelConfig,
        seed: Seed,
        device: Device,
    ) -> Result<Self, PolicyError> {
        config.check_over(shape)?;
        let parameters = Parameters::zeros(layout(&config, shape), shape.kind(), device)?;
        for (slot, mut target) in parameters.tensors() {
            if slot.name().contains("lora_A") {
                let bound = 1.0 / (slot.shape()[1] as f64).sqrt();
                let seed = seed.named(slot.name());
                let values: Vec<f32> = (0..target.numel() as u64)
                    .map(|index| (bound * (2.0 * seed.at(index).unit() - 1.0)) as f32)
                    .collect();
                target.f_copy_(&Tensor::f_from_slice(&values)?.f_view(slot.shape())?)?;
            }
        }
        Ok(Adapter { config, shape: shape.clone(), parameters })
    }

    /// Read `adapter_config.json` and `adapter_model.safetensors`.
    pub fn load(folder: &Path, shape: &ModelConfig, device: Device) -> Result<Self, PolicyError> {
        let config = AdapterConfig::load(folder)?;
        config.check_over(shape)?;
        let parameters = Parameters::zeros(layout(&config, shape), shape.kind(), device)?;
        let path = folder.join("adapter_model.safetensors");
        let refuse = |reason| PolicyError::Weights { path: path.clone(), reason };
        let mut found = read_tensors(&path)?;
        for (slot, mut target) in parameters.tensors() {
            let name = slot.name();
            let tensor = found.remove(name).ok_or_else(|| {
                refuse(format!("tensor `{name}` is missing; the adapter is for another base"))
            })?;
            if tensor.size() != slot.shape() {
                return Err(refuse(format!(
                    "tensor `{name}` has shape {:?}, but over this base it must be {:?}; the \
                     adapter is for another base",
                    tensor.size(),
                    slot.shape()
                )));
            }
            if tensor.f_isfinite()?.f_all()?.int64_value(&[]) == 0 {
                return Err(refuse(format!("tensor `{name}` holds infinities or NaN")));
            }
            target.f_copy_(&tensor)?;
        }
        match found.keys().min() {
            None => Ok(Adapter { config, shape: shape.clone(), parameters }),
            Some(name) => Err(refuse(format!(
                "tensor `{name}` is no part of an adapter over this base; the adapter is for \
                 another base"
            ))),
        }
    }

    /// Write them.
    pub fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        let tensors = self.parameters.tensors();
        let named = tensors.map(|(slot, tensor)| (slot.name().to_owned(), tensor));
        write_tensors(&folder.join("adapter_model.safetensors"), named)?;
        self.config.save(folder)
    }

    /// Its inner width.
    pub fn rank(&self) -> i64 {
        self.config.rank
    }

    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// A copy of the weights.
    pub fn duplicate(&self) -> Result<Self, PolicyError> {
        let parameters = self.parameters.duplicate()?;
        Ok(Adapter { config: self.config.clone(), shape: self.shape.clone(), parameters })
    }

    /// Add s·B·A to the weights of a base.
    pub fn merge_into(&self, base: &Parameters) -> Result<(), PolicyError> {
        let own: BTreeMap<&str, Tensor> =
            self.parameters.tensors().map(|(slot, tensor)| (slot.name(), tensor)).collect();
        for (slot, mut weight) in base.tensors() {
            let Some(module) = slot.name().strip_suffix(".weight") else { continue };
            let part = |part: &str| own.get(format!("{PREFIX}{module}.{part}.weight").as_str());
            if let (Some(down), Some(up)) = (part("lora_A"), part("lora_B")) {
                let float = |tensor: &Tensor| tensor.f_to_kind(tch::Kind::Float);
                let delta = float(up)?.f_matmul(&float(down)?)? * self.config.scale();
                weight.f_copy_(&(float(&weight)? + delta))?;
            }
        }
        Ok(())
    }

    /// The weights as the model reads them.
    pub fn blocks(&self) -> AdapterBlocks {
        let parameters = &self.parameters;
        AdapterBlocks::of(&self.config, &self.shape, parameters.blocks(parameters.buffer()))
    }

    /// The same, recording gradients, and the leaves to take them for.
    pub fn tracked(&self) -> (AdapterBlocks, Vec<Tensor>) {
        let leaves: Vec<Tensor> = (self.parameters.blocks(self.parameters.buffer()).iter())
            .map(|block| block.detach().set_requires_grad(true))
            .collect();
        let blocks = leaves.iter().map(Tensor::shallow_clone).collect();
        (AdapterBlocks::of(&self.config, &self.shape, blocks), leaves)
    }
}

/// The names and shapes of an adapter's tensors, as `peft` calls them. The A
/// of maps with the same input lie together, as they are multiplied at once.
fn layout(config: &AdapterConfig, shape: &ModelConfig) -> Layout {
    let mut layout = Layout::default();
    for index in 0..shape.num_hidden_layers {
        let prefix = format!("{PREFIX}model.layers.{index}.");
        for site in Site::ALL {
            let mut modules = site.modules(shape);
            modules.retain(|(module, _)| config.adapts(module));
            let downs: Vec<String> =
                modules.iter().map(|(module, _)| format!("{module}.lora_A.weight")).collect();
            if modules.is_empty() {
                continue;
            }
            let downs: Vec<&str> = downs.iter().map(String::as_str).collect();
            layout.push_all(&prefix, &downs, &[config.rank, site.inputs(shape)]);
            for (module, outputs) in modules {
                let name = format!("{module}.lora_B.weight");
                layout.push_all(&prefix, &[&name], &[outputs, config.rank]);
            }
        }
    }
    layout
}

/// Views of an adapter's weights, by layer and site.
#[derive(Debug)]
pub struct AdapterBlocks {
    layers: Vec<[Option<LowRank>; 4]>,
}

/// What an adapter adds at one site.
#[derive(Debug)]
struct LowRank {
    scale: f64,
    rank: i64,
    down: Tensor, // [adapted maps · rank, inputs]
    maps: Vec<Map>,
}

/// One of the maps at a site.
#[derive(Debug)]
struct Map {
    outputs: i64,
    up: Option<Tensor>, // [outputs, rank]; none if it is not adapted
}

impl AdapterBlocks {
    /// Name the blocks of [`layout`].
    fn of(config: &AdapterConfig, shape: &ModelConfig, blocks: Vec<Tensor>) -> Self {
        let mut blocks = blocks.into_iter();
        #[expect(
            clippy::unwrap_used,
            reason = "`layout` pushes exactly these blocks, in this order"
        )]
        let mut next = || blocks.next().unwrap();
        let mut site = |site: Site| {
            let modules = site.modules(shape);
            if !modules.iter().any(|(module, _)| config.adapts(module)) {
                return None;
            }
            let down = next();
            let map = |(module, outputs): (&str, i64)| Map {
                outputs,
                up: config.adapts(module).then(&mut next),
            };
            let maps = modules.into_iter().map(map).collect();
            Some(LowRank { scale: config.scale(), rank: config.rank, down, maps })
        };
        AdapterBlocks {
            layers: (0..shape.num_hidden_layers).map(|_| Site::ALL.map(&mut site)).collect(),
        }
    }

    /// s·B·A·x for `states` x `[rows, inputs]`: `[rows, outputs]`; nothing if
    /// the adapter leaves the site alone.
    pub(super) fn delta(&self, states: &Tensor, layer: usize, site: Site) -> Option<Tensor> {
        self.layers[layer][site as usize].as_ref().map(|low_rank| low_rank.apply(states))
    }
}

impl LowRank {
    fn apply(&self, states: &Tensor) -> Tensor {
        let low = states.matmul(&self.down.tr()) * self.scale; // [rows, adapted · rank]
        let rows = states.size()[0];
        let mut from = 0;
        let parts: Vec<Tensor> = self
            .maps
            .iter()
            .map(|map| match &map.up {
                Some(up) => {
                    from += self.rank;
                    low.narrow(1, from - self.rank, self.rank).matmul(&up.tr())
                }
                None => low.new_zeros([rows, map.outputs], (low.kind(), low.device())),
            })
            .collect();
        match parts.as_slice() {
            [one] => one.shallow_clone(),
            several => Tensor::cat(several, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Request, Sampling};
    use troupe_core::config::{LoraConfig, PolicyConfig};

    fn base() -> Policy {
        let words = ["up".to_owned(), "down".to_owned(), "left".to_owned()];
        Policy::random(&PolicyConfig::default(), &words, Seed::new(7), Device::cpu()).unwrap()
    }

    fn lora() -> LoraConfig {
        LoraConfig { rank: 4, alpha: 8.0, ..LoraConfig::default() }
    }

    /// An adapter that has learned something.
    fn trained(base: &Policy, config: &LoraConfig, seed: u64) -> Policy {
        let policy = base.adapt(config, Seed::new(seed)).unwrap();
        for (slot, mut tensor) in policy.trainable().tensors() {
            let wave = Tensor::arange(tensor.numel() as i64, (tch::Kind::Float, tch::Device::Cpu));
            let values = ((wave + seed as f64) * 0.7).sin() * 0.1;
            tensor.copy_(&values.view(slot.shape()));
        }
        policy
    }

    fn answers(policy: &Policy) -> Vec<troupe_core::trajectory::Completion> {
        let request = Request {
            prompt: [4, 5, 6].into(),
            seeds: (0..4).map(|branch| Seed::new(1).at(branch)).collect(),
        };
        policy.generate(&[request], &Sampling::plain(8)).unwrap().remove(0)
    }

    #[test]
    fn a_fresh_adapter_changes_nothing_and_the_base_is_in_memory_once() {
        let base = base();
        let (one, other) = (
            base.adapt(&lora(), Seed::new(1)).unwrap(),
            base.adapt(&lora(), Seed::new(2)).unwrap(),
        );
        assert_eq!(answers(&base), answers(&one));
        assert!(one.shares_base(&other));
        let address = |policy: &Policy| policy.decoder().parameters().buffer().data_ptr();
        assert_eq!(address(&base), address(&one));
        assert!(!one.shares_base(&base.duplicate().unwrap()));
    }

    #[test]
    fn an_adapter_is_a_change_of_its_weights_by_scaled_b_times_a() {
        for rank_stabilized in [false, true] {
            let base = base();
            let config = LoraConfig {
                rank_stabilized,
                target_modules: ["q_proj", "v_proj", "o_proj", "up_proj"].map(str::to_owned).into(),
                ..lora()
            };
            let adapted = trained(&base, &config, 3);
            let merged = adapted.merged().unwrap();
            let weight = |policy: &Policy, name: &str| {
                let mut all = policy.trainable().tensors();
                all.find(|(slot, _)| slot.name() == name).unwrap().1
            };
            let module = "model.layers.1.self_attn.v_proj";
            let part =
                |part: &str| weight(&adapted, &format!("base_model.model.{module}.{part}.weight"));
            let scale = if rank_stabilized { 8.0 / 2.0 } else { 8.0 / 4.0 };
            let name = format!("{module}.weight");
            let expected = weight(&base, &name) + part("lora_B").matmul(&part("lora_A")) * scale;
            let difference = (weight(&merged, &name) - expected).abs().max().double_value(&[]);
            assert!(difference < 1e-6, "{difference}");
            let (left, right) = (answers(&adapted), answers(&merged));
            assert_ne!(left, answers(&base));
            for (left, right) in left.iter().zip(&right) {
                assert_eq!(left.tokens, right.tokens);
                let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
                assert!(left.logprobs.iter().zip(&right.logprobs).all(near));
            }
        }
    }

    #[test]
    fn saved_and_loaded_it_is_the_same_and_only_the_adapter_is_saved() {
        let (base, folder) = (base(), tempfile::tempdir().unwrap());
        let policy = trained(&base, &lora(), 5);
        policy.save(folder.path()).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["adapter_config.json", "adapter_model.safetensors"]);
        let config = LoraConfig { path: Some(folder.path().to_owned()), ..LoraConfig::default() };
        let loaded = base.adapt(&config, Seed::new(0)).unwrap();
        assert_eq!(loaded.digest().unwrap(), policy.digest().unwrap());
        assert_eq!(
            policy.restore(folder.path()).unwrap().digest().unwrap(),
            policy.digest().unwrap()
        );
    }

    #[test]
    fn an_adapter_for_another_base_is_refused_by_tensor() {
        let (base, folder) = (base(), tempfile::tempdir().unwrap());
        trained(&base, &lora(), 5).save(folder.path()).unwrap();
        let config = LoraConfig { path: Some(folder.path().to_owned()), ..LoraConfig::default() };
        for shape in [
            PolicyConfig { intermediate_size: 64, ..PolicyConfig::default() },
            PolicyConfig { layers: 1, ..PolicyConfig::default() },
            PolicyConfig { layers: 3, ..PolicyConfig::default() },
        ] {
            let other = Policy::random(&shape, &[], Seed::new(1), Device::cpu()).unwrap();
            let error = other.adapt(&config, Seed::new(0)).unwrap_err().to_string();
            assert!(error.contains("another base") && error.contains("lora_"), "{error}");
        }
    }

    #[test]
    fn settings_that_make_no_adapter_are_refused() {
        let base = base();
        let refused =
            |config: LoraConfig| base.adapt(&config, Seed::new(0)).unwrap_err().to_string();
        assert!(refused(LoraConfig { rank: 0, ..lora() }).contains("rank is 0"));
        assert!(refused(LoraConfig { alpha: 0.0, ..lora() }).contains("alpha is 0"));
        let modules = vec!["lm_head".to_owned()];
        assert!(refused(LoraConfig { target_modules: modules, ..lora() }).contains("`lm_head`"));
        let adapted = base.adapt(&lora(), Seed::new(0)).unwrap();
        assert!(adapted.adapt(&lora(), Seed::new(0)).unwrap_err().to_string().contains("itself"));
    }
}
