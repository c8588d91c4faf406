//! The decoder of all families: RMSNorm, grouped-query attention with rotary
//! positions, and a gated block (arXiv 2505.09388, 2412.15115, 2407.21783).
//!
//! Its parts differ from family to family, as
//! [`ModelConfig`] says: [`Norm`], [`HeadNorm`], [`Residual`] and
//! [`FeedForward`]. One `forward` serves
//! prompts, single decoding steps and training. What differs there, which keys
//! a query sees and where they are kept, is behind [`Attention`]. Shapes are
//! given as `[rows, …]` where a row is one token of one sequence; sequences are
//! laid out one after the other.

use tch::{Kind, Tensor};

use super::adapter::Site;
use super::architecture::ModelConfig;
use super::attention::{Attention, LayerSight, Masking};
use super::device::Device;
use super::feed_forward::{FeedForward, split};
use super::linear::Linear;
use super::norm::{HeadNorm, Norm};
use super::packed::{Packed, Rounding, Use};
use super::parameters::{Layout, Parameters};
use super::residual::Residual;
use super::rotary::Rotary;
use super::shared_base::{AdapterRows, LayerRows};
use crate::error::PolicyError;

/// Weights below which a CPU's products of a few rows do not wait for them.
const MANY_WEIGHTS: usize = 10_000_000;

/// The model: its weights and how they are applied.
#[derive(Debug)]
pub struct Decoder {
    config: ModelConfig,
    parameters: Parameters,
    blocks: Blocks,
    /// Copies of its linear maps, in the order of [`Blocks::linears_mut`]; none, or of all of a
    /// decoder that does not see the weights change.
    packs: Vec<Option<Packed>>,
    turners: Vec<Turner>,
}

/// Views of the weights, fused as they are used.
#[derive(Debug)]
struct Blocks {
    embedding: Tensor, // [vocabulary, hidden]
    layers: Vec<LayerBlocks>,
    norm: Norm,
    head: Linear, // [vocabulary, hidden]; the embedding if tied
}

#[derive(Debug)]
struct LayerBlocks {
    input_norm: Norm,
    query_key_value: Linear, // [(heads + 2·key_value_heads) · head_dim, hidden]
    query_key_norm: Option<HeadNorm>,
    output: Residual, // [hidden, heads · head_dim]
    feed_forward_norm: Norm,
    feed_forward: FeedForward,
}

/// What goes through the model at once.
pub struct Input<'a> {
    /// Token ids: `[rows]`.
    pub tokens: &'a Tensor,
    /// Their positions: `[rows]`.
    pub positions: &'a Tensor,
    /// Rows that go through the part of the last layer that follows attention;
    /// only they are returned. All, if none.
    pub keep: Option<&'a Tensor>,
    /// Which rows are whose.
    pub adapter_rows: &'a AdapterRows<'a>,
}

impl Decoder {
    /// A model of this shape with all weights zero.
    pub fn new(config: ModelConfig, device: Device) -> Result<Self, PolicyError> {
        let kind = config.kind();
        let parameters = Parameters::zeros(layout(&config), kind, device)?;
        Ok(Decoder::over(config, parameters, device))
    }

    fn over(config: ModelConfig, parameters: Parameters, device: Device) -> Self {
        let blocks = Blocks::of(&config, parameters.blocks(parameters.buffer()));
        let turners = config.rotaries().map(|rotary| Turner::of(&rotary, device)).collect();
        Decoder { config, parameters, blocks, packs: Vec::new(), turners }
    }

    /// Its architecture.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// All weights.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// All weights, to be changed.
    pub fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        Device::of(self.parameters.buffer().device())
    }

    /// Whether a pass can be recorded, and is worth it: on a GPU, where the host need not know how
    /// many tokens took which expert, and heads are as wide as its fused attention wants them.
    pub fn can_be_recorded(&self) -> bool {
        self.device().is_gpu() && !self.config.has_experts() && self.config.head_dim % 8 == 0
    }

    /// What masks over its tokens need to know.
    pub fn masking(&self) -> Masking {
        let like = self.parameters.buffer();
        Masking {
            group: self.config.num_attention_heads / self.config.num_key_value_heads,
            window: self.config.window(),
            kind: like.kind(),
            device: like.device(),
        }
    }

    /// Another handle on the same weights, for another thread or policy.
    pub fn share(&self) -> Self {
        let decoder = Decoder::over(self.config.clone(), self.parameters.share(), self.device());
        decoder.with(self.packs.iter().map(|pack| pack.as_ref().map(Packed::share)).collect())
    }

    /// Another handle that multiplies by copies of the weights which are packed for decoding,
    /// where there is something to gain. It does not see the weights change.
    pub fn packed(&self) -> Self {
        self.packed_for(Use::Learning)
    }

    /// The same for answers that nobody learns from, on so many threads.
    pub fn packed_to_answer(&self, threads: usize, rounding: Rounding) -> Self {
        self.packed_for(Use::Answering { threads, rounding })
    }

    fn packed_for(&self, purpose: Use) -> Self {
        let mut decoder = self.share();
        let packs = decoder.blocks.linears_mut().map(|linear| linear.pack(purpose)).collect();
        decoder.with(packs)
    }

    /// Whether a product of a few rows waits for its weights, so that copies of them pay.
    pub fn waits_for_weights(&self) -> bool {
        self.device().is_gpu() || self.parameters.count() >= MANY_WEIGHTS
    }

    /// Whether there are such copies.
    pub fn has_packs(&self) -> bool {
        self.packs.iter().any(Option::is_some)
    }

    /// Whether they are another's.
    #[cfg(test)]
    pub fn has_packs_of(&self, other: &Self) -> bool {
        let same = |(one, other): (&Option<Packed>, &Option<Packed>)| match (one, other) {
            (Some(one), Some(other)) => one.is(other),
            (None, None) => true,
            _ => false,
        };
        self.packs.len() == other.packs.len() && self.packs.iter().zip(&other.packs).all(same)
    }

    /// Whether all of its linear maps have such a copy.
    #[cfg(test)]
    pub fn is_packed(&mut self) -> bool {
        let mut linears = self.blocks.linears_mut();
        linears.all(|linear| linear.is_packed())
    }

    fn with(mut self, packs: Vec<Option<Packed>>) -> Self {
        if !packs.is_empty() {
            let norms = self.blocks.layers.iter_mut().flat_map(|layer| &mut layer.query_key_norm);
            norms.for_each(HeadNorm::prepare);
        }
        for (linear, pack) in self.blocks.linears_mut().zip(&packs) {
            linear.take(pack.as_ref());
        }
        self.packs = packs;
        self
    }

    /// A copy of the weights.
    pub fn duplicate(&self) -> Result<Self, PolicyError> {
        let parameters = self.parameters.duplicate()?;
        Ok(Decoder::over(self.config.clone(), parameters, self.device()))
    }

    /// Another handle on the same weights that records gradients, and the
    /// leaves to take them for: the fused blocks, in the layout's order.
    pub fn tracked(&self) -> (Self, Vec<Tensor>) {
        let leaves: Vec<Tensor> = (self.parameters.blocks(self.parameters.buffer()).iter())
            .map(|block| block.detach().set_requires_grad(true))
            .collect();
        let blocks = Blocks::of(&self.config, leaves.iter().map(Tensor::shallow_clone).collect());
        let decoder = Decoder {
            config: self.config.clone(),
            parameters: self.parameters.share(),
            blocks,
            packs: Vec::new(),
            turners: self.turners.iter().map(Turner::share).collect(),
        };
        (decoder, leaves)
    }

    /// Number of layers.
    pub fn depth(&self) -> usize {
        self.blocks.layers.len()
    }

    /// Final hidden states: `[kept, hidden]`, ready for [`Decoder::logits`].
    pub fn forward(&self, input: &Input, attention: &mut dyn Attention) -> Tensor {
        let rotation = self.rotation(input.positions);
        let mut states = self.embed(input.tokens);
        for index in 0..self.depth() {
            states = self.layer(index, &states, &rotation, input, attention);
        }
        self.finish(&states)
    }

    /// Hidden states before the first layer: `[rows]` to `[rows, hidden]`.
    pub fn embed(&self, tokens: &Tensor) -> Tensor {
        let embedded = self.blocks.embedding.index_select(0, tokens);
        match self.config.embedding_scale() {
            Some(scale) => embedded * scale,
            None => embedded,
        }
    }

    /// Hidden states after layer `index`: `[rows, hidden]` to the same, or to
    /// `[kept, hidden]` after the last layer.
    pub fn layer(
        &self,
        index: usize,
        states: &Tensor,
        rotation: &Rotation,
        input: &Input,
        attention: &mut dyn Attention,
    ) -> Tensor {
        let layer = &self.blocks.layers[index];
        let mut rows = LayerRows { rows: input.adapter_rows, layer: index, kept: false };
        let mut attended = self.attend(states, rotation, &rows, attention);
        let mut stream = states.shallow_clone();
        if let Some(keep) = input.keep.filter(|_| index + 1 == self.depth()) {
            attended = attended.index_select(0, keep);
            stream = stream.index_select(0, keep);
            rows.kept = true;
        }
        let stream = layer.output.add_to(&stream, &attended, &rows, Site::Output);
        let normed = layer.feed_forward_norm.apply(&stream);
        layer.feed_forward.add_onto(stream, &normed, &rows)
    }

    /// The last norm.
    pub fn finish(&self, states: &Tensor) -> Tensor {
        self.blocks.norm.apply(states)
    }

    /// Logits of hidden states, in 32 bits: `[rows, vocabulary]`.
    pub fn logits(&self, states: &Tensor) -> Tensor {
        self.blocks.head.apply(states).to_kind(Kind::Float)
    }

    fn attend(
        &self,
        states: &Tensor,
        rotation: &Rotation,
        rows: &LayerRows,
        attention: &mut dyn Attention,
    ) -> Tensor {
        let (config, layer) = (&self.config, &self.blocks.layers[rows.layer]);
        let (heads, key_heads) = (config.num_attention_heads, config.num_key_value_heads);
        let normed = layer.input_norm.apply(states);
        let fused = layer.query_key_value.apply(&normed);
        let fused = rows.add(fused, &normed, Site::QueryKeyValue);
        let fused = fused.view([-1, heads + 2 * key_heads, config.head_dim]);
        let (queries_keys, values) = split(&fused, 1, heads + key_heads);
        let turned = |queries_keys: Tensor| match config.turned_by(rows.layer) {
            Some(rotary) => rotation.apply(rotary, &queries_keys),
            None => queries_keys,
        };
        let (queries, keys) = match &layer.query_key_norm {
            Some(norm) => split(&turned(norm.apply(&queries_keys)), 1, heads),
            None => {
                let (queries, keys) = split(&turned(queries_keys), 1, heads);
                (queries / config.query_divisor(), keys)
            }
        };
        let at = LayerSight { layer: rows.layer, sight: config.sight(rows.layer) };
        attention.attend(at, queries, keys, values)
    }

    /// The rotary embeddings at `positions` `[rows]`.
    pub fn rotation(&self, positions: &Tensor) -> Rotation {
        let table = |turner: &Turner| {
            let (cosine, sine) = turner.at(positions); // [rows, head_dim / 2]
            Table {
                cosine: self.per_head(Tensor::cat(&[&cosine, &cosine], 1)),
                sine: self.per_head(Tensor::cat(&[&-&sine, &sine], 1)),
            }
        };
        Rotation { tables: self.turners.iter().map(table).collect() }
    }

    /// `[rows, head_dim]` to `[rows, heads or 1, head_dim]`.
    fn per_head(&self, table: Tensor) -> Tensor {
        let table = table.unsqueeze(1).to_kind(self.parameters.buffer().kind());
        if self.device().is_gpu() {
            return table;
        }
        // On a CPU, operations between equal shapes are worth the copy.
        let heads = self.config.num_attention_heads + self.config.num_key_value_heads;
        table.expand([-1, heads, -1], false).contiguous()
    }
}

/// One of the ways in which positions turn queries and keys.
#[derive(Debug)]
struct Turner {
    frequencies: Tensor, // [head_dim / 2]
    magnitude: f64,
}

impl Turner {
    fn of(rotary: &Rotary, device: Device) -> Self {
        let frequencies = Tensor::from_slice(&rotary.inverse_frequencies).to_device(device.torch());
        Turner { frequencies, magnitude: rotary.magnitude }
    }

    fn share(&self) -> Self {
        Turner { frequencies: self.frequencies.shallow_clone(), magnitude: self.magnitude }
    }

    /// Cosine and sine at `positions` `[rows]`: `[rows, head_dim / 2]` each.
    fn at(&self, positions: &Tensor) -> (Tensor, Tensor) {
        let angles = positions.to_kind(Kind::Float).unsqueeze(1) * &self.frequencies;
        (angles.cos() * self.magnitude, angles.sin() * self.magnitude)
    }
}

/// Rotary position embeddings (arXiv 2104.09864) at the positions of a pass:
/// halves x₁, x₂ of a head become x₁·cos − x₂·sin and x₂·cos + x₁·sin.
pub struct Rotation {
    tables: Vec<Table>,
}

/// Those of one way of turning.
struct Table {
    cosine: Tensor, // [rows, heads or 1, head_dim]
    sine: Tensor,   // the same, the first half negated
}

impl Rotation {
    /// Takes and returns `[rows, heads, head_dim]`; `rotary` says which way.
    fn apply(&self, rotary: usize, heads: &Tensor) -> Tensor {
        let table = &self.tables[rotary];
        let width = heads.size()[2];
        let swapped = heads.roll([width / 2], [2]);
        (heads * &table.cosine).addcmul(&swapped, &table.sine)
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
        let embedding = next();
        let tied = config.tie_word_embeddings.then(|| embedding.shallow_clone());
        Blocks {
            embedding,
            layers: (0..config.num_hidden_layers as usize)
                .map(|index| LayerBlocks::of(config, index, &mut next))
                .collect(),
            norm: Norm::of(config, next()),
            head: Linear::plain(tied.unwrap_or_else(next)),
        }
    }

    /// The linear maps that all tokens go through, the head last.
    fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.layers.iter_mut().flat_map(LayerBlocks::linears_mut).chain([&mut self.head])
    }
}

impl LayerBlocks {
    fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        let LayerBlocks { query_key_value, output, feed_forward, .. } = self;
        [query_key_value, &mut output.map].into_iter().chain(feed_forward.linears_mut())
    }

    fn of(config: &ModelConfig, index: usize, next: &mut dyn FnMut() -> Tensor) -> Self {
        LayerBlocks {
            input_norm: Norm::of(config, next()),
            query_key_value: Linear::of(next, config.query_key_value_bias()),
            query_key_norm: config.query_key_norm().then(|| HeadNorm::of(config, &next())),
            output: Residual {
                map: Linear::of(next, config.output_bias()),
                norm: config.normed_blocks().then(|| Norm::of(config, next())),
            },
            feed_forward_norm: Norm::of(config, next()),
            feed_forward: FeedForward::of(config, index, next),
        }
    }
}

/// The tensors of a checkpoint under their names, and which lie together.
fn layout(config: &ModelConfig) -> Layout {
    let mut layout = Layout::default();
    let hidden = config.hidden_size;
    layout.push_all("model.", &["embed_tokens.weight"], &[config.vocab_size, hidden]);
    for index in 0..config.num_hidden_layers as usize {
        lay_out_layer(&mut layout, config, index);
    }
    layout.push_all("model.", &["norm.weight"], &[hidden]);
    if !config.tie_word_embeddings {
        layout.push_all("", &["lm_head.weight"], &[config.vocab_size, hidden]);
    }
    layout
}

fn lay_out_layer(layout: &mut Layout, config: &ModelConfig, index: usize) {
    let (hidden, width) = (config.hidden_size, config.head_dim);
    let queries = config.num_attention_heads * width;
    let keys = config.num_key_value_heads * width;
    let layer = format!("model.layers.{index}.");
    let attention = format!("{layer}self_attn.");
    layout.push_all(&layer, &["input_layernorm.weight"], &[hidden]);
    let fused = [("q_proj", queries), ("k_proj", keys), ("v_proj", keys)];
    Linear::lay_out(layout, &attention, &fused, hidden, config.query_key_value_bias());
    if config.query_key_norm() {
        layout.push_all(&attention, &["q_norm.weight", "k_norm.weight"], &[width]);
    }
    Linear::lay_out(layout, &attention, &[("o_proj", hidden)], queries, config.output_bias());
    layout.push_all(&layer, &["post_attention_layernorm.weight"], &[hidden]);
    if config.normed_blocks() {
        // There, the name is that of the norm of what attention adds.
        layout.push_all(&layer, &["pre_feedforward_layernorm.weight"], &[hidden]);
    }
    FeedForward::lay_out(layout, config, index, &layer);
}
