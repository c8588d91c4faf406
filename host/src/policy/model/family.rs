//! Families of models: the same decoder, with or without certain parts.
//!
//! A family's file says what its `config.json` means: what it may leave out,
//! which options exist, and which tensors follow from them. Other families'
//! options are not looked at, as `transformers` does not either.

mod llama;
mod mistral;
mod qwen2;
mod qwen3;
mod smollm3;

use super::entries::Entries;

/// A family of models that the decoder can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFamily {
    /// Llama 2, 3, 3.1, 3.2 and 3.3, text only.
    Llama,
    /// Qwen2 and Qwen2.5.
    Qwen2,
    /// Qwen3, the dense models.
    Qwen3,
    /// Mistral, dense and text only.
    Mistral,
    /// SmolLM3.
    SmolLm3,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// RMSNorm on the queries and keys of every head.
    pub(super) query_key_norm: bool,
    /// Biases of `q_proj`, `k_proj` and `v_proj`.
    pub(super) query_key_value_bias: bool,
    /// Bias of `o_proj`.
    pub(super) output_bias: bool,
    /// Biases of `gate_proj`, `up_proj` and `down_proj`.
    pub(super) feed_forward_bias: bool,
}

impl ModelFamily {
    const ALL: [ModelFamily; 5] = [
        ModelFamily::Llama,
        ModelFamily::Qwen2,
        ModelFamily::Qwen3,
        ModelFamily::Mistral,
        ModelFamily::SmolLm3,
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
            ModelFamily::Mistral => "mistral",
            ModelFamily::SmolLm3 => "smollm3",
        }
    }

    /// The class of its language models in `transformers`.
    pub fn class(self) -> &'static str {
        match self {
            ModelFamily::Llama => "LlamaForCausalLM",
            ModelFamily::Qwen2 => "Qwen2ForCausalLM",
            ModelFamily::Qwen3 => "Qwen3ForCausalLM",
            ModelFamily::Mistral => "MistralForCausalLM",
            ModelFamily::SmolLm3 => "SmolLM3ForCausalLM",
        }
    }

    pub(super) fn defaults(self) -> Defaults {
        match self {
            ModelFamily::Llama => llama::DEFAULTS,
            ModelFamily::Qwen2 => qwen2::DEFAULTS,
            ModelFamily::Qwen3 => qwen3::DEFAULTS,
            ModelFamily::Mistral => mistral::DEFAULTS,
            ModelFamily::SmolLm3 => smollm3::DEFAULTS,
        }
    }

    /// The parts its layers have.
    pub(super) fn parts(self, config: &Entries) -> Result<Parts, String> {
        match self {
            ModelFamily::Llama | ModelFamily::SmolLm3 => llama::parts(config),
            ModelFamily::Qwen2 => Ok(qwen2::PARTS),
            ModelFamily::Qwen3 => qwen3::parts(config),
            ModelFamily::Mistral => Ok(mistral::PARTS),
        }
    }

    /// Which of its layers turn queries and keys by position; the others see no positions.
    pub(super) fn rotated(self, config: &Entries, layers: i64) -> Result<Vec<bool>, String> {
        match self {
            ModelFamily::SmolLm3 => smollm3::rotated(config, layers),
            _ => Ok(vec![true; layers.unsigned_abs() as usize]),
        }
    }

    /// The window that limits the attention of some layers, in tokens, and
    /// the key that says so; none if all see everything.
    pub(super) fn window(
        self,
        config: &Entries,
        layers: i64,
    ) -> Result<Option<(&'static str, i64)>, String> {
        match self {
            ModelFamily::Llama => llama::window(config),
            ModelFamily::Mistral => mistral::window(config),
            ModelFamily::SmolLm3 => smollm3::window(config),
            ModelFamily::Qwen2 | ModelFamily::Qwen3 => qwen_window(config, layers),
        }
    }
}

/// The window of the layers from `max_window_layers` on, if `use_sliding_window` is on.
fn qwen_window(config: &Entries, layers: i64) -> Result<Option<(&'static str, i64)>, String> {
    const DEFAULT_WINDOW: i64 = 4096;
    const DEFAULT_FULL_LAYERS: i64 = 28;
    let size = match config.mentions("sliding_window") {
        true => config.integer("sliding_window")?,
        false => Some(DEFAULT_WINDOW),
    };
    let full = config.integer("max_window_layers")?.unwrap_or(DEFAULT_FULL_LAYERS);
    let on = config.flag("use_sliding_window")?.unwrap_or(false);
    if let Some(types) = LayerTypes::read(config)? {
        return Ok(types.window(size));
    }
    Ok(size.filter(|_| on && full < layers).map(|size| ("use_sliding_window", size)))
}

/// What `layer_types` says.
enum LayerTypes {
    /// All layers see everything.
    Full,
    /// Some see a window.
    Sliding,
}

impl LayerTypes {
    /// None, if the file leaves it to other keys.
    fn read(config: &Entries) -> Result<Option<Self>, String> {
        let types = config.texts("layer_types")?;
        let Some(other) = types.iter().find(|kind| *kind != "full_attention") else {
            return Ok((!types.is_empty()).then_some(LayerTypes::Full));
        };
        match other.as_str() {
            "sliding_attention" => Ok(Some(LayerTypes::Sliding)),
            _ => Err(format!("`layer_types` has `{other}`; only `full_attention` is supported")),
        }
    }

    fn window(self, size: Option<i64>) -> Option<(&'static str, i64)> {
        matches!(self, LayerTypes::Sliding).then(|| ("layer_types", size.unwrap_or(0)))
    }
}
