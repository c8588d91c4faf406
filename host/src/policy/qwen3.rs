//! Qwen3: a decoder with RMSNorm, grouped-query attention with normalized
//! queries and keys, rotary positions and SwiGLU (arXiv 2505.09388).
//!
//! One `forward` serves prompts, single decoding steps and training. What
//! differs, which keys a query sees and where they are kept, is behind
//! [`Attention`]. Shapes are given as `[rows, …]` where a row is one token
//! of one sequence; sequences are laid out one after the other.

use tch::{Kind, Tensor};

use super::architecture::ModelConfig;
use super::attention::Attention;
use super::parameters::{Layout, Parameters};
use super::{Device, PolicyError};

/// The model: its weights and how they are applied.
#[derive(Debug)]
pub(crate) struct Decoder {
    config: ModelConfig,
    parameters: Parameters,
    blocks: Blocks,
    frequencies: Tensor, // [head_dim / 2]
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
    input_norm: Tensor,      // [hidden]
    query_key_value: Tensor, // [(heads + 2·key_value_heads) · head_dim, hidden]
    query_key_norm: Tensor,  // [2, head_dim]
    output: Tensor,          // [hidden, heads · head_dim]
    post_norm: Tensor,       // [hidden]
    gate_up: Tensor,         // [2 · intermediate, hidden]
    down: Tensor,            // [hidden, intermediate]
}

impl Decoder {
    /// A model of this shape with all weights zero.
    pub(crate) fn new(config: ModelConfig, device: Device) -> Result<Self, PolicyError> {
        let kind = config.kind()?;
        let parameters = Parameters::zeros(layout(&config), kind, device.torch())?;
        Ok(Decoder::over(config, parameters, device))
    }

    fn over(config: ModelConfig, parameters: Parameters, device: Device) -> Self {
        let blocks = Blocks::of(&config, parameters.blocks(parameters.buffer()));
        // θ_i = base^(−2i / head_dim), as in arXiv 2104.09864, equation 15.
        let exponents: Vec<f32> = (0..config.head_dim / 2)
            .map(|i| config.rope_base().powf(-2.0 * i as f64 / config.head_dim as f64) as f32)
            .collect();
        let frequencies = Tensor::from_slice(&exponents).to_device(device.torch());
        Decoder { config, parameters, blocks, frequencies }
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

    /// Another handle on the same weights, for another thread.
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
        };
        (decoder, leaves)
    }

    /// Final hidden states of `tokens` `[rows]` at `positions` `[rows]`.
    ///
    /// With `keep`, only those rows go through the part of the last layer
    /// that follows attention, and only they are returned: `[kept, hidden]`.
    pub(crate) fn forward(
        &self,
        tokens: &Tensor,
        positions: &Tensor,
        keep: Option<&Tensor>,
        attention: &mut dyn Attention,
    ) -> Tensor {
        let rotation = self.rotation(positions);
        let mut states = self.blocks.embedding.index_select(0, tokens); // [rows, hidden]
        for (index, layer) in self.blocks.layers.iter().enumerate() {
            let mut attended = self.attend(layer, index, &states, &rotation, attention);
            if let (Some(keep), true) = (keep, index + 1 == self.blocks.layers.len()) {
                attended = attended.index_select(0, keep);
                states = states.index_select(0, keep);
            }
            states = states.addmm(&attended, &layer.output.tr());
            states = self.feed_forward(layer, &states);
        }
        self.normalize(&states, &self.blocks.norm)
    }

    /// Logits of hidden states, in 32 bits: `[rows, vocabulary]`.
    pub(crate) fn logits(&self, states: &Tensor) -> Tensor {
        let head = self.blocks.head.as_ref().unwrap_or(&self.blocks.embedding);
        states.matmul(&head.tr()).to_kind(Kind::Float)
    }

    fn attend(
        &self,
        layer: &LayerBlocks,
        index: usize,
        states: &Tensor,
        rotation: &Rotation,
        attention: &mut dyn Attention,
    ) -> Tensor {
        let config = &self.config;
        let (heads, key_heads) = (config.num_attention_heads, config.num_key_value_heads);
        let normed = self.normalize(states, &layer.input_norm);
        let fused = normed.matmul(&layer.query_key_value.tr()).view([
            -1,
            heads + 2 * key_heads,
            config.head_dim,
        ]);
        let (queries_keys, values) = split(&fused, 1, heads + key_heads);
        let scales = self.query_key_scales(layer);
        let queries_keys = rotation.apply(&(self.normalize_heads(&queries_keys) * scales));
        let (queries, keys) = split(&queries_keys, 1, heads);
        attention.attend(index, queries, keys, values)
    }

    /// Weights of the query and key norms for every head, with the softmax
    /// scale 1/√head_dim folded into the queries': `[heads + key_value_heads, head_dim]`.
    fn query_key_scales(&self, layer: &LayerBlocks) -> Tensor {
        let config = &self.config;
        let width = config.head_dim;
        let queries = layer.query_key_norm.narrow(0, 0, 1) / (width as f64).sqrt();
        let keys = layer.query_key_norm.narrow(0, 1, 1);
        Tensor::cat(
            &[
                queries.expand([config.num_attention_heads, width], false),
                keys.expand([config.num_key_value_heads, width], false),
            ],
            0,
        )
    }

    fn feed_forward(&self, layer: &LayerBlocks, states: &Tensor) -> Tensor {
        let width = self.config.intermediate_size;
        let fused = self.normalize(states, &layer.post_norm).matmul(&layer.gate_up.tr());
        let (gate, up) = split(&fused, 1, width);
        states.addmm(&(gate.silu() * up), &layer.down.tr())
    }

    /// RMSNorm (arXiv 1910.07467, equation 4) with a weight per column.
    fn normalize(&self, states: &Tensor, weight: &Tensor) -> Tensor {
        states.rms_norm([self.config.hidden_size], Some(weight), self.config.rms_norm_eps)
    }

    fn normalize_heads(&self, heads: &Tensor) -> Tensor {
        heads.rms_norm([self.config.head_dim], None::<&Tensor>, self.config.rms_norm_eps)
    }

    fn rotation(&self, positions: &Tensor) -> Rotation {
        let angles = positions.to_kind(Kind::Float).unsqueeze(1) * &self.frequencies; // [rows, head_dim / 2]
        let (cosine, sine) = (angles.cos(), angles.sin());
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
struct Rotation {
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
                .map(|_| LayerBlocks {
                    input_norm: next(),
                    query_key_value: next(),
                    query_key_norm: next().view([2, config.head_dim]),
                    output: next(),
                    post_norm: next(),
                    gate_up: next(),
                    down: next(),
                })
                .collect(),
            norm: next(),
            head: (!config.tie_word_embeddings).then(next),
        }
    }
}

/// The tensors of a checkpoint under their names, and which lie together.
fn layout(config: &ModelConfig) -> Layout {
    let (hidden, width) = (config.hidden_size, config.head_dim);
    let queries = config.num_attention_heads * width;
    let keys = config.num_key_value_heads * width;
    let mut layout = Layout::default();
    let mut block = |prefix: &str, slots: &[(&str, &[i64])]| {
        let named =
            |(name, shape): &(&str, &[i64])| (format!("{prefix}{name}.weight"), shape.to_vec());
        layout.push(&slots.iter().map(named).collect::<Vec<_>>());
    };
    block("model.", &[("embed_tokens", &[config.vocab_size, hidden])]);
    for index in 0..config.num_hidden_layers {
        let layer = format!("model.layers.{index}.");
        let attention = format!("{layer}self_attn.");
        let feed_forward = format!("{layer}mlp.");
        let gate: &[i64] = &[config.intermediate_size, hidden];
        block(&layer, &[("input_layernorm", &[hidden])]);
        let fused: [(&str, &[i64]); 3] = [
            ("q_proj", &[queries, hidden]),
            ("k_proj", &[keys, hidden]),
            ("v_proj", &[keys, hidden]),
        ];
        block(&attention, &fused);
        block(&attention, &[("q_norm", &[width]), ("k_norm", &[width])]);
        block(&attention, &[("o_proj", &[hidden, queries])]);
        block(&layer, &[("post_attention_layernorm", &[hidden])]);
        block(&feed_forward, &[("gate_proj", gate), ("up_proj", gate)]);
        block(&feed_forward, &[("down_proj", &[hidden, config.intermediate_size])]);
    }
    block("model.", &[("norm", &[hidden])]);
    if !config.tie_word_embeddings {
        block("", &[("lm_head", &[config.vocab_size, hidden])]);
    }
    layout
}
