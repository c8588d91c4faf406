//! The decoder of all families: RMSNorm, grouped-query attention with rotary
//! positions, and SwiGLU (arXiv 2505.09388, 2412.15115, 2407.21783).
//!
//! Families differ in a few tensors, which [`ModelConfig`] says: Qwen3
//! normalizes queries and keys, Qwen2.5 adds biases. SmolLM3 has layers that
//! leave queries and keys as they are. One `forward` serves
//! prompts, single decoding steps and training. What differs there, which keys
//! a query sees and where they are kept, is behind [`Attention`]. Shapes are
//! given as `[rows, …]` where a row is one token of one sequence; sequences are
//! laid out one after the other.

use tch::{Kind, Tensor};

use super::adapter::Site;
use super::architecture::ModelConfig;
use super::attention::Attention;
use super::device::Device;
use super::parameters::{Layout, Parameters};
use super::shared_base::AdapterRows;
use crate::policy::error::PolicyError;

/// The model: its weights and how they are applied.
#[derive(Debug)]
pub(crate) struct Decoder {
    config: ModelConfig,
    parameters: Parameters,
    blocks: Blocks,
    frequencies: Tensor, // [head_dim / 2]
    magnitude: f64,
}

/// Views of the weights, fused as they are used.
#[derive(Debug)]
struct Blocks {
    embedding: Tensor, // [vocabulary, hidden]
    layers: Vec<LayerBlocks>,
    norm: Tensor,         // [hidden]
    head: Option<Tensor>, // [vocabulary, hidden]; none if tied
}

#[derive(Debug)]
struct LayerBlocks {
    input_norm: Tensor,             // [hidden]
    query_key_value: Linear,        // [(heads + 2·key_value_heads) · head_dim, hidden]
    query_key_norm: Option<Tensor>, // [2, head_dim]
    output: Linear,                 // [hidden, heads · head_dim]
    post_norm: Tensor,              // [hidden]
    gate_up: Linear,                // [2 · intermediate, hidden]
    down: Linear,                   // [hidden, intermediate]
}

/// A linear map: `[outputs, inputs]` and, in some families, a bias `[outputs]`.
#[derive(Debug)]
struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// `[rows, inputs]` to `[rows, outputs]`.
    fn apply(&self, states: &Tensor) -> Tensor {
        match &self.bias {
            Some(bias) => bias.addmm(states, &self.weight.tr()),
            None => states.matmul(&self.weight.tr()),
        }
    }

    /// The same on top of `residual` `[rows, outputs]`.
    fn add_to(&self, residual: &Tensor, states: &Tensor) -> Tensor {
        let sum = residual.addmm(states, &self.weight.tr());
        match &self.bias {
            Some(bias) => sum + bias,
            None => sum,
        }
    }
}

/// What goes through the model at once.
pub(crate) struct Input<'a> {
    /// Token ids: `[rows]`.
    pub(crate) tokens: &'a Tensor,
    /// Their positions: `[rows]`.
    pub(crate) positions: &'a Tensor,
    /// Rows that go through the part of the last layer that follows attention;
    /// only they are returned. All, if none.
    pub(crate) keep: Option<&'a Tensor>,
    /// Which rows are whose.
    pub(crate) adapter_rows: &'a AdapterRows<'a>,
}

impl Decoder {
    /// A model of this shape with all weights zero.
    pub(crate) fn new(config: ModelConfig, device: Device) -> Result<Self, PolicyError> {
        let kind = config.kind();
        let parameters = Parameters::zeros(layout(&config), kind, device)?;
        Ok(Decoder::over(config, parameters, device))
    }

    fn over(config: ModelConfig, parameters: Parameters, device: Device) -> Self {
        let blocks = Blocks::of(&config, parameters.blocks(parameters.buffer()));
        let rotary = config.rotary();
        let frequencies = Tensor::from_slice(&rotary.inverse_frequencies).to_device(device.torch());
        Decoder { config, parameters, blocks, frequencies, magnitude: rotary.magnitude }
    }

    pub(crate) fn config(&self) -> &ModelConfig {
        &self.config
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub(crate) fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    pub(crate) fn device(&self) -> Device {
        Device::of(self.frequencies.device())
    }

    /// Query heads that share a key head.
    pub(crate) fn group(&self) -> i64 {
        self.config.num_attention_heads / self.config.num_key_value_heads
    }

    /// Another handle on the same weights, for another thread or policy.
    pub(crate) fn share(&self) -> Self {
        Decoder::over(self.config.clone(), self.parameters.share(), self.device())
    }

    /// A copy of the weights.
    pub(crate) fn duplicate(&self) -> Result<Self, PolicyError> {
        let parameters = self.parameters.duplicate()?;
        Ok(Decoder::over(self.config.clone(), parameters, self.device()))
    }

    /// Another handle on the same weights that records gradients, and the
    /// leaves to take them for: the fused blocks, in the layout's order.
    pub(crate) fn recording(&self) -> (Self, Vec<Tensor>) {
        let leaves: Vec<Tensor> = (self.parameters.blocks(self.parameters.buffer()).iter())
            .map(|block| block.detach().set_requires_grad(true))
            .collect();
        let blocks = Blocks::of(&self.config, leaves.iter().map(Tensor::shallow_clone).collect());
        let decoder = Decoder {
            config: self.config.clone(),
            parameters: self.parameters.share(),
            blocks,
            frequencies: self.frequencies.shallow_clone(),
            magnitude: self.magnitude,
        };
        (decoder, leaves)
    }

    /// Number of layers.
    pub(crate) fn depth(&self) -> usize {
        self.blocks.layers.len()
    }

    /// Final hidden states: `[kept, hidden]`, ready for [`Decoder::logits`].
    pub(crate) fn forward(&self, input: &Input, attention: &mut dyn Attention) -> Tensor {
        let rotation = self.rotation(input.positions);
        let mut states = self.embed(input.tokens);
        for index in 0..self.depth() {
            states = self.layer(index, &states, &rotation, input, attention);
        }
        self.finish(&states)
    }

    /// Hidden states before the first layer: `[rows]` to `[rows, hidden]`.
    pub(crate) fn embed(&self, tokens: &Tensor) -> Tensor {
        self.blocks.embedding.index_select(0, tokens)
    }

    /// Hidden states after layer `index`: `[rows, hidden]` to the same, or to
    /// `[kept, hidden]` after the last layer.
    pub(crate) fn layer(
        &self,
        index: usize,
        states: &Tensor,
        rotation: &Rotation,
        input: &Input,
        attention: &mut dyn Attention,
    ) -> Tensor {
        let layer = &self.blocks.layers[index];
        let adapter_rows = input.adapter_rows;
        let mut attended = self.attend(index, states, rotation, adapter_rows, attention);
        let mut residual = states.shallow_clone();
        let keep = input.keep.filter(|_| index + 1 == self.depth());
        if let Some(keep) = keep {
            attended = attended.index_select(0, keep);
            residual = residual.index_select(0, keep);
        }
        let kept = keep.is_some();
        let states = layer.output.add_to(&residual, &attended);
        let states = adapter_rows.add(states, &attended, index, Site::Output, kept);
        self.feed_forward(index, &states, adapter_rows, kept)
    }

    /// The last norm.
    pub(crate) fn finish(&self, states: &Tensor) -> Tensor {
        self.normalize(states, &self.blocks.norm)
    }

    /// Logits of hidden states, in 32 bits: `[rows, vocabulary]`.
    pub(crate) fn logits(&self, states: &Tensor) -> Tensor {
        let head = self.blocks.head.as_ref().unwrap_or(&self.blocks.embedding);
        states.matmul(&head.tr()).to_kind(Kind::Float)
    }

    fn attend(
        &self,
        index: usize,
        states: &Tensor,
        rotation: &Rotation,
        adapter_rows: &AdapterRows,
        attention: &mut dyn Attention,
    ) -> Tensor {
        let (config, layer) = (&self.config, &self.blocks.layers[index]);
        let (heads, key_heads) = (config.num_attention_heads, config.num_key_value_heads);
        let normed = self.normalize(states, &layer.input_norm);
        let fused = layer.query_key_value.apply(&normed);
        let fused = adapter_rows.add(fused, &normed, index, Site::QueryKeyValue, false);
        let fused = fused.view([-1, heads + 2 * key_heads, config.head_dim]);
        let (queries_keys, values) = split(&fused, 1, heads + key_heads);
        let turned = |queries_keys: Tensor| match config.rotates(index) {
            true => rotation.apply(&queries_keys),
            false => queries_keys,
        };
        let scale = (config.head_dim as f64).sqrt();
        let (queries, keys) = match &layer.query_key_norm {
            Some(norm) => {
                let scales = self.query_key_scales(norm, scale);
                let normed = self.normalize_heads(&queries_keys) * scales;
                split(&turned(normed), 1, heads)
            }
            None => {
                let (queries, keys) = split(&turned(queries_keys), 1, heads);
                (queries / scale, keys)
            }
        };
        attention.attend(index, queries, keys, values)
    }

    /// Weights of the query and key norms for every head, the queries' divided
    /// by the softmax `scale` √head_dim: `[heads + key_value_heads, head_dim]`.
    fn query_key_scales(&self, norm: &Tensor, scale: f64) -> Tensor {
        let config = &self.config;
        let (queries, keys) = (norm.narrow(0, 0, 1) / scale, norm.narrow(0, 1, 1));
        Tensor::cat(
            &[
                queries.expand([config.num_attention_heads, config.head_dim], false),
                keys.expand([config.num_key_value_heads, config.head_dim], false),
            ],
            0,
        )
    }

    fn feed_forward(
        &self,
        index: usize,
        states: &Tensor,
        adapter_rows: &AdapterRows,
        kept: bool,
    ) -> Tensor {
        let layer = &self.blocks.layers[index];
        let normed = self.normalize(states, &layer.post_norm);
        let fused = layer.gate_up.apply(&normed);
        let fused = adapter_rows.add(fused, &normed, index, Site::GateUp, kept);
        let (gate, up) = split(&fused, 1, self.config.intermediate_size);
        let gated = gate.silu() * up;
        let states = layer.down.add_to(states, &gated);
        adapter_rows.add(states, &gated, index, Site::Down, kept)
    }

    /// RMSNorm (arXiv 1910.07467, equation 4) with a weight per column.
    fn normalize(&self, states: &Tensor, weight: &Tensor) -> Tensor {
        states.rms_norm([self.config.hidden_size], Some(weight), self.config.rms_norm_eps)
    }

    fn normalize_heads(&self, heads: &Tensor) -> Tensor {
        heads.rms_norm([self.config.head_dim], None::<&Tensor>, self.config.rms_norm_eps)
    }

    /// The rotary embedding at `positions` `[rows]`.
    pub(crate) fn rotation(&self, positions: &Tensor) -> Rotation {
        let angles = positions.to_kind(Kind::Float).unsqueeze(1) * &self.frequencies; // [rows, head_dim / 2]
        let (cosine, sine) = (angles.cos() * self.magnitude, angles.sin() * self.magnitude);
        let per_head = |table: Tensor| {
            let table = table.unsqueeze(1).to_kind(self.parameters.buffer().kind());
            if self.device().is_gpu() {
                return table;
            }
            // On a CPU, operations between equal shapes are worth the copy.
            let heads = self.config.num_attention_heads + self.config.num_key_value_heads;
            table.expand([-1, heads, -1], false).contiguous()
        };
        Rotation {
            cosine: per_head(Tensor::cat(&[&cosine, &cosine], 1)),
            sine: per_head(Tensor::cat(&[&-&sine, &sine], 1)),
        }
    }
}

/// The first `length` of a dimension, and the rest. Cheaper to differentiate
/// than two `narrow`s, each of which would fill a gradient of full size.
fn split(tensor: &Tensor, dimension: i64, length: i64) -> (Tensor, Tensor) {
    let rest = tensor.size()[dimension as usize] - length;
    let mut parts = tensor.split_with_sizes([length, rest], dimension);
    let rest = parts.swap_remove(1);
    (parts.swap_remove(0), rest)
}

/// Rotary position embedding (arXiv 2104.09864): halves x₁, x₂ of a head
/// become x₁·cos − x₂·sin and x₂·cos + x₁·sin.
pub(crate) struct Rotation {
    cosine: Tensor, // [rows, heads or 1, head_dim]
    sine: Tensor,   // the same, the first half negated
}

impl Rotation {
    /// Takes and returns `[rows, heads, head_dim]`.
    fn apply(&self, heads: &Tensor) -> Tensor {
        let width = heads.size()[2];
        let swapped = heads.roll([width / 2], [2]);
        (heads * &self.cosine).addcmul(&swapped, &self.sine)
    }
}

impl Blocks {
    /// Name the blocks of [`layout`].
    fn of(config: &ModelConfig, blocks: Vec<Tensor>) -> Self {
        let mut blocks = blocks.into_iter();
        #[expect(
            clippy::unwrap_used,
            reason = "`layout` pushes exactly these blocks, in this order"
        )]
        let mut next = || blocks.next().unwrap();
        Blocks {
            embedding: next(),
            layers: (0..config.num_hidden_layers)
                .map(|_| LayerBlocks::of(config, &mut next))
                .collect(),
            norm: next(),
            head: (!config.tie_word_embeddings).then(next),
        }
    }
}

impl LayerBlocks {
    fn of(config: &ModelConfig, next: &mut impl FnMut() -> Tensor) -> Self {
        fn linear(next: &mut impl FnMut() -> Tensor, biased: bool) -> Linear {
            let weight = next();
            Linear { weight, bias: biased.then(next) }
        }
        LayerBlocks {
            input_norm: next(),
            query_key_value: linear(next, config.query_key_value_bias()),
            query_key_norm: (config.query_key_norm()).then(|| next().view([2, config.head_dim])),
            output: linear(next, config.output_bias()),
            post_norm: next(),
            gate_up: linear(next, config.feed_forward_bias()),
            down: linear(next, config.feed_forward_bias()),
        }
    }
}

/// The tensors of a checkpoint under their names, and which lie together.
fn layout(config: &ModelConfig) -> Layout {
    let mut layout = Layout::default();
    let hidden = config.hidden_size;
    layout.push_all("model.", &["embed_tokens.weight"], &[config.vocab_size, hidden]);
    for index in 0..config.num_hidden_layers {
        lay_out_layer(&mut layout, config, &format!("model.layers.{index}."));
    }
    layout.push_all("model.", &["norm.weight"], &[hidden]);
    if !config.tie_word_embeddings {
        layout.push_all("", &["lm_head.weight"], &[config.vocab_size, hidden]);
    }
    layout
}

fn lay_out_layer(layout: &mut Layout, config: &ModelConfig, layer: &str) {
    let (hidden, width) = (config.hidden_size, config.head_dim);
    let queries = config.num_attention_heads * width;
    let keys = config.num_key_value_heads * width;
    let intermediate = config.intermediate_size;
    let attention = format!("{layer}self_attn.");
    let feed_forward = format!("{layer}mlp.");
    let linear = |layout: &mut Layout, prefix: &str, maps: &[(&str, i64)], inputs, biased| {
        let slots = |part: &str, rest: &[i64]| -> Vec<(String, Vec<i64>)> {
            let shape = |outputs| [&[outputs], rest].concat();
            maps.iter().map(|(name, n)| (format!("{prefix}{name}.{part}"), shape(*n))).collect()
        };
        layout.push(&slots("weight", &[inputs]));
        if biased {
            layout.push(&slots("bias", &[]));
        }
    };
    layout.push_all(layer, &["input_layernorm.weight"], &[hidden]);
    let fused = [("q_proj", queries), ("k_proj", keys), ("v_proj", keys)];
    linear(layout, &attention, &fused, hidden, config.query_key_value_bias());
    if config.query_key_norm() {
        layout.push_all(&attention, &["q_norm.weight", "k_norm.weight"], &[width]);
    }
    linear(layout, &attention, &[("o_proj", hidden)], queries, config.output_bias());
    layout.push_all(layer, &["post_attention_layernorm.weight"], &[hidden]);
    let fused = [("gate_proj", intermediate), ("up_proj", intermediate)];
    linear(layout, &feed_forward, &fused, hidden, config.feed_forward_bias());
    linear(
        layout,
        &feed_forward,
        &[("down_proj", hidden)],
        intermediate,
        config.feed_forward_bias(),
    );
}
