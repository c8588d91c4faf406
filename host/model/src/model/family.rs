//! Families of models: the same decoder, with or without certain parts.
//!
//! A family's file says what its `config.json` means: what it may leave out,
//! which options exist, and which tensors follow from them. Other families'
//! options are not looked at, as `transformers` does not either.

mod gemma3;
mod llama;
mod mistral;
mod qwen2;
mod qwen3;
mod qwen3_moe;
mod smollm3;

use super::entries::Entries;
use super::experts::ExpertsShape;
use super::feed_forward::Activation;
use super::norm::Gain;
use super::rotary::RotaryEmbedding;

/// A family of models that the decoder can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFamily {
    /// Llama 2, 3, 3.1, 3.2 and 3.3, text only.
    Llama,
    /// Qwen2 and Qwen2.5.
    Qwen2,
    /// Qwen3, the dense models.
    Qwen3,
    /// Qwen3 with experts.
    Qwen3Moe,
    /// Mistral, dense and text only.
    Mistral,
    /// SmolLM3.
    SmolLm3,
    /// Gemma 3, text only.
    Gemma3,
}

/// What a `config.json` of the family means where it is silent, as in `transformers`.
pub(super) struct Defaults {
    /// None: the width divided by the query heads.
    pub(super) head_dim: Option<i64>,
    /// None: as many as query heads.
    pub(super) key_value_heads: Option<i64>,
    pub(super) max_position_embeddings: i64,
    /// Whether the head is the embedding.
    pub(super) tie_word_embeddings: bool,
    /// Base of the rotary frequencies, `rope_theta`.
    pub(super) rotary_base: f64,
    pub(super) begin_token: Option<u32>,
    pub(super) end_token: Option<u32>,
}

/// Parts that not every decoder has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    /// RMSNorm on the queries and keys of every head.
    pub(super) query_key_norm: bool,
    /// Biases of `q_proj`, `k_proj` and `v_proj`.
    pub(super) query_key_value_bias: bool,
    /// Bias of `o_proj`.
    pub(super) output_bias: bool,
    /// Biases of `gate_proj`, `up_proj` and `down_proj`.
    pub(super) feed_forward_bias: bool,
    /// RMSNorm on what attention and the feed-forward block add.
    pub(super) normed_blocks: bool,
    /// What the weights of norms stand for.
    pub(super) gain: Gain,
    /// Embeddings are multiplied by the root of their width.
    pub(super) scaled_embedding: bool,
    /// Queries are divided by the root of this; by that of the width of heads, if none.
    pub(super) query_scalar: Option<f64>,
}

impl Parts {
    /// None of them.
    const PLAIN: Parts = Parts {
        query_key_norm: false,
        query_key_value_bias: false,
        output_bias: false,
        feed_forward_bias: false,
        normed_blocks: false,
        gain: Gain::Weight,
        scaled_embedding: false,
        query_scalar: None,
    };
}

/// How layers turn queries and keys by position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rotaries {
    pub(super) ways: Vec<RotaryEmbedding>,
    /// Which of them is a layer's; none if it sees no positions.
    pub(super) of_layers: Vec<Option<usize>>,
}

impl ModelFamily {
    pub(super) const ALL: [ModelFamily; 7] = [
        ModelFamily::Llama,
        ModelFamily::Qwen2,
        ModelFamily::Qwen3,
        ModelFamily::Qwen3Moe,
        ModelFamily::Mistral,
        ModelFamily::SmolLm3,
        ModelFamily::Gemma3,
    ];

    /// The family that `model_type` and `architectures` name.
    pub(super) fn of(config: &Entries) -> Result<Self, String> {
        let supported = || {
            let names = ModelFamily::ALL.map(|family| format!("`{}`", family.model_type()));
            format!("supported are {}", names.join(", "))
        };
        let name = config.text("model_type")?;
        let name = name.ok_or_else(|| format!("`model_type` is missing; {}", supported()))?;
        let family = ModelFamily::ALL.into_iter().find(|family| family.model_type() == name);
        let family =
            family.ok_or_else(|| format!("its `model_type` is `{name}`; {}", supported()))?;
        let classes = config.texts("architectures")?;
        if !classes.is_empty() && !classes.iter().any(|class| class == family.class()) {
            return Err(format!(
                "its `architectures` are `{}`, but only language models are supported: `{}`",
                classes.join("`, `"),
                family.class()
            ));
        }
        Ok(family)
    }

    /// The family's name in `config.json`.
    pub fn model_type(self) -> &'static str {
        match self {
            ModelFamily::Llama => "llama",
            ModelFamily::Qwen2 => "qwen2",
            ModelFamily::Qwen3 => "qwen3",
            ModelFamily::Qwen3Moe => "qwen3_moe",
            ModelFamily::Mistral => "mistral",
            ModelFamily::SmolLm3 => "smollm3",
            ModelFamily::Gemma3 => "gemma3_text",
        }
    }

    /// The class of its language models in `transformers`.
    pub fn class(self) -> &'static str {
        match self {
            ModelFamily::Llama => "LlamaForCausalLM",
            ModelFamily::Qwen2 => "Qwen2ForCausalLM",
            ModelFamily::Qwen3 => "Qwen3ForCausalLM",
            ModelFamily::Qwen3Moe => "Qwen3MoeForCausalLM",
            ModelFamily::Mistral => "MistralForCausalLM",
            ModelFamily::SmolLm3 => "SmolLM3ForCausalLM",
            ModelFamily::Gemma3 => "Gemma3ForCausalLM",
        }
    }

    pub(super) fn defaults(self) -> Defaults {
        match self {
            ModelFamily::Llama => llama::DEFAULTS,
            ModelFamily::Qwen2 => qwen2::DEFAULTS,
            ModelFamily::Qwen3 => qwen3::DEFAULTS,
            ModelFamily::Qwen3Moe => qwen3_moe::DEFAULTS,
            ModelFamily::Mistral => mistral::DEFAULTS,
            ModelFamily::SmolLm3 => smollm3::DEFAULTS,
            ModelFamily::Gemma3 => gemma3::DEFAULTS,
        }
    }

    /// The parts its layers have.
    pub(super) fn parts(self, config: &Entries) -> Result<Parts, String> {
        match self {
            ModelFamily::Llama | ModelFamily::SmolLm3 => llama::parts(config),
            ModelFamily::Qwen2 => Ok(qwen2::PARTS),
            ModelFamily::Qwen3 | ModelFamily::Qwen3Moe => qwen3::parts(config),
            ModelFamily::Mistral => Ok(Parts::PLAIN),
            ModelFamily::Gemma3 => gemma3::parts(config),
        }
    }

    /// What its gates go through.
    pub(super) fn activation(self, config: &Entries) -> Result<Activation, String> {
        let (key, known) = match self {
            ModelFamily::Gemma3 => ("hidden_activation", Activation::Gelu),
            _ => ("hidden_act", Activation::Silu),
        };
        let name = config.text(key)?;
        match name.filter(|name| !known.names().contains(name)) {
            None => Ok(known),
            Some(name) => {
                Err(format!("`{key}` is `{name}`; only `{}` is supported", known.names()[0]))
            }
        }
    }

    /// The experts of its layers, if there are any.
    pub(super) fn experts(
        self,
        config: &Entries,
        layers: i64,
    ) -> Result<Option<ExpertsShape>, String> {
        match self {
            ModelFamily::Qwen3Moe => qwen3_moe::experts(config, layers),
            _ => Ok(None),
        }
    }

    /// How its layers turn queries and keys by position.
    pub(super) fn rotaries(
        self,
        config: &Entries,
        positions: i64,
        layers: i64,
    ) -> Result<Rotaries, String> {
        if self == ModelFamily::Gemma3 {
            return gemma3::rotaries(config, positions, layers);
        }
        let one = RotaryEmbedding::read(config, positions, self.defaults().rotary_base)?;
        let turned = match self {
            ModelFamily::SmolLm3 => smollm3::turned(config, layers)?,
            _ => of_all(layers),
        };
        let of_layers = turned.into_iter().map(|turned| turned.then_some(0)).collect();
        Ok(Rotaries { ways: vec![one], of_layers })
    }

    /// The window of some of its layers; none if all see everything.
    pub(super) fn windows(
        self,
        config: &Entries,
        positions: i64,
        layers: i64,
    ) -> Result<Option<Windows>, String> {
        match self {
            ModelFamily::Llama => llama::check_no_window(config, positions).map(|()| None),
            ModelFamily::Mistral => mistral::windows(config, layers),
            ModelFamily::SmolLm3 => smollm3::windows(config, layers),
            ModelFamily::Gemma3 => gemma3::windows(config, layers),
            ModelFamily::Qwen3Moe => qwen3_moe::windows(config, layers),
            ModelFamily::Qwen2 | ModelFamily::Qwen3 => qwen_windows(config, layers),
        }
    }
}

/// All layers.
fn of_all(layers: i64) -> Vec<bool> {
    vec![true; layers.unsigned_abs() as usize]
}

/// `sliding_window`, if `use_sliding_window` is on.
fn qwen_window(config: &Entries) -> Result<Option<i64>, String> {
    const DEFAULT_WINDOW: i64 = 4096;
    let size = match config.mentions("sliding_window") {
        true => config.integer("sliding_window")?,
        false => Some(DEFAULT_WINDOW),
    };
    let on = config.flag("use_sliding_window")?.unwrap_or(false);
    Ok(size.filter(|_| on))
}

/// The window of the layers that `layer_types` names, or of those from `max_window_layers` on.
fn qwen_windows(config: &Entries, layers: i64) -> Result<Option<Windows>, String> {
    const DEFAULT_FULL_LAYERS: i64 = 28;
    let size = qwen_window(config)?;
    let full = config.integer("max_window_layers")?.unwrap_or(DEFAULT_FULL_LAYERS);
    if let Some(sliding) = sliding_layers(config, layers)? {
        return Windows::of(size, sliding);
    }
    let windowed = (0..layers).map(|layer| size.is_some() && layer >= full);
    Windows::of(size, windowed.collect())
}

/// Layers that see a window only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    /// Tokens that they see, each one's own among them.
    pub(super) size: i64,
    /// Which layers.
    pub(super) layers: Vec<bool>,
}

impl Windows {
    /// The window of all layers; none without a size.
    fn of_all(size: Option<i64>, layers: i64) -> Result<Option<Self>, String> {
        size.map_or(Ok(None), |size| Windows::of(Some(size), of_all(layers)))
    }

    /// None, if there are no such layers.
    fn of(size: Option<i64>, layers: Vec<bool>) -> Result<Option<Self>, String> {
        match size {
            _ if !layers.contains(&true) => Ok(None),
            Some(size) if size > 0 => Ok(Some(Windows { size, layers })),
            Some(size) => Err(format!("`sliding_window` is {size}, but must be at least 1")),
            None => {
                Err("some layers see a window only, but `sliding_window` gives it no size, or \
                         `use_sliding_window` is not true"
                    .to_owned())
            }
        }
    }
}

/// The layers that `layer_types` calls sliding; none if it is left out.
fn sliding_layers(config: &Entries, layers: i64) -> Result<Option<Vec<bool>>, String> {
    let types = config.texts("layer_types")?;
    let known = ["full_attention", "sliding_attention"];
    if let Some(other) = types.iter().find(|kind| !known.contains(&kind.as_str())) {
        return Err(format!(
            "`layer_types` has `{other}`; only `full_attention` and `sliding_attention` are \
             supported"
        ));
    }
    let sliding: Vec<bool> = types.iter().map(|kind| kind == known[1]).collect();
    if sliding.contains(&true) && sliding.len() as i64 != layers {
        return Err(format!(
            "`layer_types` speaks of {} layers, but `num_hidden_layers` is {layers}",
            sliding.len()
        ));
    }
    Ok((!sliding.is_empty()).then_some(sliding))
}
