//! `config.json` of a Hugging Face checkpoint.

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tch::Kind;

use super::attention::Sight;
use super::config_keys;
use super::entries::Entries;
use super::experts::ExpertsShape;
use super::family::{ModelFamily, Parts, Rotaries, Windows};
use super::feed_forward::Activation;
use super::norm::Gain;
use super::rotary::{Rotary, RotaryEmbedding};
use super::special_tokens::SpecialTokens;
use crate::error::PolicyError;
use troupe_core::config::Dtype;
use troupe_core::storage::read_json;

/// Layers of a model; ten times what the largest have.
const MAX_LAYERS: i64 = 4096;

/// The shape of a model, in the words of its `config.json`.
///
/// Every key is honored, known to change nothing, or refused by its name
/// (`config_keys`). Written as it was read, key by key.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// Class names in `transformers`; informative.
    pub architectures: Vec<String>,
    /// The family, which says what the rest means.
    pub family: ModelFamily,
    /// Width of the residual stream.
    pub hidden_size: i64,
    /// Decoder layers.
    pub num_hidden_layers: i64,
    /// Query heads per layer.
    pub num_attention_heads: i64,
    /// Key and value heads per layer; divides the query heads.
    pub num_key_value_heads: i64,
    /// Width of a head.
    pub head_dim: i64,
    /// Width of the gated block, in layers without experts.
    pub intermediate_size: i64,
    /// ε of every RMSNorm.
    pub rms_norm_eps: f64,
    /// Rows of the embedding.
    pub vocab_size: i64,
    /// Whether the output head is the embedding.
    pub tie_word_embeddings: bool,
    /// Prompt and answer together cannot be longer.
    pub max_position_embeddings: i64,
    parts: Parts,
    activation: Activation,
    experts: Option<ExpertsShape>,
    rotaries: Rotaries,
    windows: Option<Windows>,
    kind: Kind,
    special: SpecialTokens,
    original: Map<String, Value>,
}

impl Serialize for ModelConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.original.serialize(serializer)
    }
}

impl ModelConfig {
    /// Read and check a `config.json`; weights are to have this type, or that of the file.
    pub fn load(path: &Path, dtype: Option<Dtype>) -> Result<Self, PolicyError> {
        let config = ModelConfig::read(read_json(path)?).and_then(|config| match dtype {
            Some(dtype) => Ok(config.in_dtype(dtype)),
            None => config.computed(),
        });
        config.map_err(|reason| PolicyError::Architecture { path: path.to_owned(), reason })
    }

    /// Check the content of a `config.json`; says which entry cannot be honored.
    pub fn read(original: Map<String, Value>) -> Result<Self, String> {
        let entries = Entries::of(&original);
        let family = ModelFamily::of(&entries)?;
        config_keys::check(family, &original)?;
        let defaults = family.defaults();
        let needed = |key| entries.required(key, entries.integer(key)?);
        let (hidden_size, heads) = (needed("hidden_size")?, needed("num_attention_heads")?);
        // As in `transformers`, a key that is there as `null` means one per query head.
        let key_value_heads = match entries.mentions("num_key_value_heads") {
            true => entries.integer("num_key_value_heads")?,
            false => defaults.key_value_heads,
        };
        let positions = entries.integer("max_position_embeddings")?;
        let positions = positions.unwrap_or(defaults.max_position_embeddings);
        let special = SpecialTokens::read(&entries)?;
        let tied = entries.flag("tie_word_embeddings")?;
        let layers = needed("num_hidden_layers")?;
        check_layers(layers)?;
        let config = ModelConfig {
            architectures: entries.texts("architectures")?,
            family,
            hidden_size,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            num_key_value_heads: key_value_heads.unwrap_or(heads),
            head_dim: match entries.integer("head_dim")?.or(defaults.head_dim) {
                Some(width) => width,
                None => even_share(hidden_size, heads)?,
            },
            intermediate_size: needed("intermediate_size")?,
            rms_norm_eps: entries.number("rms_norm_eps")?.unwrap_or(1e-6),
            vocab_size: needed("vocab_size")?,
            tie_word_embeddings: tied.unwrap_or(defaults.tie_word_embeddings),
            max_position_embeddings: positions,
            parts: family.parts(&entries)?,
            activation: family.activation(&entries)?,
            experts: family.experts(&entries, layers)?,
            rotaries: family.rotaries(&entries, positions, layers)?,
            windows: family.windows(&entries, positions, layers)?,
            kind: kind(&entries)?,
            special: special.or_defaults(&entries, defaults.begin_token, defaults.end_token),
            original: Map::new(),
        };
        config.check_sizes()?;
        config.check_options(&entries)?;
        Ok(ModelConfig { original, ..config })
    }

    fn check_sizes(&self) -> Result<(), String> {
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("intermediate_size", self.intermediate_size),
            ("vocab_size", self.vocab_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        if let Some((name, size)) = sizes.iter().find(|(_, size)| !(1..1 << 31).contains(size)) {
            return Err(format!("`{name}` is {size}, but must be between 1 and 2³¹"));
        }
        if self.num_attention_heads % self.num_key_value_heads != 0 {
            return Err(format!(
                "{} query heads cannot share {} key and value heads evenly",
                self.num_attention_heads, self.num_key_value_heads
            ));
        }
        if self.head_dim % 2 != 0 {
            return Err(format!(
                "`head_dim` is {}, but rotary embedding needs an even one",
                self.head_dim
            ));
        }
        if !(self.rms_norm_eps >= 0.0 && self.rms_norm_eps.is_finite()) {
            return Err(format!("`rms_norm_eps` is {}, but cannot be negative", self.rms_norm_eps));
        }
        Ok(())
    }

    fn check_options(&self, entries: &Entries) -> Result<(), String> {
        // Families that have no such list must not be told otherwise by it.
        for (layer, kind) in entries.texts("layer_types")?.iter().enumerate() {
            let known = ["full_attention", "sliding_attention"].contains(&kind.as_str());
            let windowed = self
                .windows
                .as_ref()
                .is_some_and(|windows| windows.layers.get(layer).copied().unwrap_or_default());
            if !known || windowed != (kind == "sliding_attention") {
                return Err(format!(
                    "`layer_types` says `{kind}` of layer {layer}, but in this family and with this \
                     `sliding_window` it is {}",
                    if windowed { "`sliding_attention`" } else { "`full_attention`" }
                ));
            }
        }
        if entries.value("quantization_config").is_some() {
            return Err("`quantization_config` is set, but quantized weights cannot be trained; \
                        use the checkpoint that was quantized"
                .to_owned());
        }
        Ok(())
    }

    /// Whether queries and keys of every head are normalized.
    pub fn query_key_norm(&self) -> bool {
        self.parts.query_key_norm
    }

    /// Whether `q_proj`, `k_proj` and `v_proj` have biases.
    pub(super) fn query_key_value_bias(&self) -> bool {
        self.parts.query_key_value_bias
    }

    /// Whether `o_proj` has a bias.
    pub(super) fn output_bias(&self) -> bool {
        self.parts.output_bias
    }

    /// Whether `gate_proj`, `up_proj` and `down_proj` have biases.
    pub(super) fn feed_forward_bias(&self) -> bool {
        self.parts.feed_forward_bias
    }

    /// What the weights of norms stand for.
    pub(super) fn gain(&self) -> Gain {
        self.parts.gain
    }

    /// Whether what attention and the feed-forward block add is normalized.
    pub fn normed_blocks(&self) -> bool {
        self.parts.normed_blocks
    }

    /// What gates go through.
    pub(super) fn activation(&self) -> Activation {
        self.activation
    }

    /// The experts of this layer; none if it has one map for all tokens.
    pub fn experts(&self, layer: usize) -> Option<&ExpertsShape> {
        self.experts.as_ref().filter(|experts| experts.layers[layer])
    }

    /// Whether any layer has experts.
    pub(super) fn has_experts(&self) -> bool {
        self.experts.as_ref().is_some_and(|experts| experts.layers.contains(&true))
    }

    /// By what embeddings are multiplied, as the weights' type has it.
    pub(super) fn embedding_scale(&self) -> Option<f64> {
        let scale = (self.hidden_size as f64).sqrt();
        self.parts.scaled_embedding.then(|| match self.kind {
            Kind::BFloat16 => f64::from(bfloat16(scale as f32)),
            _ => f64::from(scale as f32),
        })
    }

    /// By what queries are divided before they are compared with keys.
    pub(super) fn query_divisor(&self) -> f64 {
        self.parts.query_scalar.unwrap_or(self.head_dim as f64).sqrt()
    }

    /// Base of the rotary position embedding; of the first, where layers turn in several ways.
    pub fn rope_theta(&self) -> f64 {
        self.rotaries.ways.first().map_or(1.0, RotaryEmbedding::base)
    }

    /// The ways in which its layers turn queries and keys by position.
    pub fn rotaries(&self) -> impl Iterator<Item = Rotary> {
        self.rotaries.ways.iter().map(|way| way.rotary(self.head_dim))
    }

    /// Which of them this layer turns by; none if it sees no positions.
    pub(super) fn turned_by(&self, layer: usize) -> Option<usize> {
        self.rotaries.of_layers[layer]
    }

    /// Tokens that layers with a window see; none if no prompt and answer outgrow it.
    pub(super) fn window(&self) -> Option<i64> {
        let size = self.windows.as_ref().map(|windows| windows.size);
        size.filter(|size| *size < self.max_position_embeddings)
    }

    /// How far this layer sees.
    pub(super) fn sight(&self, layer: usize) -> Sight {
        match &self.windows {
            Some(windows) if windows.layers[layer] => Sight::Window,
            _ => Sight::All,
        }
    }

    /// The same model with weights of another type.
    fn in_dtype(&self, dtype: Dtype) -> Self {
        let mut config = self.clone();
        config.kind = kind_of(dtype);
        let key = if self.original.contains_key("dtype") { "dtype" } else { "torch_dtype" };
        config.original.insert(key.to_owned(), dtype.name().into());
        config
    }

    /// The same, if its type is one that is computed in.
    fn computed(self) -> Result<Self, String> {
        match self.kind {
            Kind::Half => Err("its weights are `float16`, which nothing is computed in here; name \
                               the type that they are to be read as: `--dtype float32`, or `dtype = \
                               \"float32\"` beside the policy's path (or `bfloat16`, or `auto`)"
                .to_owned()),
            _ => Ok(self),
        }
    }

    /// Type of the weights in memory.
    pub fn dtype(&self) -> Dtype {
        if self.kind == Kind::BFloat16 { Dtype::Bfloat16 } else { Dtype::Float32 }
    }

    /// The same as libtorch has it.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Tokens with a meaning of their own.
    pub fn special_tokens(&self) -> &SpecialTokens {
        &self.special
    }
}

/// The nearest number of 16 bits; of two, the even one.
fn bfloat16(number: f32) -> f32 {
    let bits = number.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

/// Before anything is made for each of them.
fn check_layers(layers: i64) -> Result<(), String> {
    match layers {
        1..=MAX_LAYERS => Ok(()),
        _ => {
            Err(format!("`num_hidden_layers` is {layers}, but must be between 1 and {MAX_LAYERS}"))
        }
    }
}

/// The width of a head where `head_dim` is left out.
fn even_share(hidden_size: i64, heads: i64) -> Result<i64, String> {
    match hidden_size.checked_rem(heads) {
        Some(0) => Ok(hidden_size / heads),
        _ => Err(format!(
            "`hidden_size` {hidden_size} cannot be shared by {heads} heads evenly; `head_dim` would say how wide they are"
        )),
    }
}

/// `dtype`, which older files call `torch_dtype`. One that weights can be stored in but nothing
/// is computed in has to be replaced by another, see [`ModelConfig::computed`].
fn kind(entries: &Entries) -> Result<Kind, String> {
    let key = if entries.value("dtype").is_some() { "dtype" } else { "torch_dtype" };
    let name = entries.text(key)?.unwrap_or("float32");
    match name.trim_start_matches("torch.") {
        "float32" => Ok(Kind::Float),
        "bfloat16" => Ok(Kind::BFloat16),
        "float16" => Ok(Kind::Half),
        other => Err(format!(
            "`{key}` is `{other}`; set it to `float32` or `bfloat16`, and the weights will be converted as they are read"
        )),
    }
}

/// What libtorch calls a type of weights.
pub(super) fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Float32 => Kind::Float,
        Dtype::Bfloat16 => Kind::BFloat16,
    }
}
