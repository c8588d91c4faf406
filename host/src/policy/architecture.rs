//! `config.json` and `generation_config.json` of a Hugging Face checkpoint.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::PolicyError;
use crate::storage::read_json;

/// The shape of a model, in the words of its `config.json`.
///
/// Keys we do not know are ignored, as other libraries add many that change
/// nothing; options that would change the result are refused by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Class names in `transformers`; informative.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// The family; `qwen3`.
    pub model_type: String,
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
    /// Width of the SwiGLU block.
    pub intermediate_size: i64,
    /// Activation of the SwiGLU block; `silu`.
    #[serde(default = "silu")]
    pub hidden_act: String,
    /// ε of every RMSNorm.
    pub rms_norm_eps: f64,
    /// Base of the rotary position embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rope_theta: Option<f64>,
    /// Scaling of the rotary position embedding; none is supported.
    #[serde(default)]
    pub rope_scaling: Option<serde_json::Value>,
    /// Where newer `transformers` write `rope_theta` and scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rope_parameters: Option<serde_json::Value>,
    /// Rows of the embedding.
    pub vocab_size: i64,
    /// Whether the output head is the embedding.
    #[serde(default)]
    pub tie_word_embeddings: bool,
    /// Prompt and answer together cannot be longer.
    pub max_position_embeddings: i64,
    /// Whether attention projections have a bias; not supported.
    #[serde(default)]
    pub attention_bias: bool,
    /// Whether attention is limited to a window; not supported.
    #[serde(default)]
    pub use_sliding_window: bool,
    /// Whether the weights are quantized; not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantization_config: Option<serde_json::Value>,
    /// Begin-of-text token.
    #[serde(default)]
    pub bos_token_id: Option<TokenIds>,
    /// End-of-text token or tokens.
    #[serde(default)]
    pub eos_token_id: Option<TokenIds>,
    /// Padding token.
    #[serde(default)]
    pub pad_token_id: Option<TokenIds>,
    /// Type of the weights: `float32` or `bfloat16`.
    #[serde(default = "float32", alias = "dtype")]
    pub torch_dtype: String,
}

fn silu() -> String {
    "silu".to_owned()
}

fn float32() -> String {
    "float32".to_owned()
}

/// One token id or several: Hugging Face writes either.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TokenIds {
    /// A lone id.
    One(u32),
    /// Several.
    Many(Vec<u32>),
}

impl TokenIds {
    /// The ids, the main one first.
    pub fn as_slice(&self) -> &[u32] {
        match self {
            TokenIds::One(id) => std::slice::from_ref(id),
            TokenIds::Many(ids) => ids,
        }
    }
}

impl ModelConfig {
    /// Read and check a `config.json`.
    pub(super) fn load(path: &Path) -> Result<Self, PolicyError> {
        let refuse = |reason| PolicyError::Architecture { path: path.to_owned(), reason };
        let value: serde_json::Value = read_json(path)?;
        let family = value.get("model_type").and_then(|family| family.as_str());
        if family != Some("qwen3") {
            return Err(refuse(format!(
                "its `model_type` is `{}`; `qwen3` is supported",
                family.unwrap_or("missing")
            )));
        }
        let config: ModelConfig =
            serde_json::from_value(value).map_err(|error| refuse(error.to_string()))?;
        config.check().map_err(refuse)?;
        Ok(config)
    }

    /// Say which option or size cannot be honoured.
    pub(super) fn check(&self) -> Result<(), String> {
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
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
        self.check_options()
    }

    fn check_options(&self) -> Result<(), String> {
        let scaled = |value: &Option<serde_json::Value>| {
            value
                .as_ref()
                .and_then(|rope| rope.get("rope_type").or_else(|| rope.get("type")))
                .is_some_and(|kind| kind != "default")
        };
        if self.rope_scaling.as_ref().is_some_and(|rope| !rope.is_null())
            && scaled(&self.rope_scaling)
            || scaled(&self.rope_parameters)
        {
            return Err("`rope_scaling` is set, which is not supported; remove it".to_owned());
        }
        if self.rotary_base().is_none_or(|base| !(base > 1.0 && base.is_finite())) {
            return Err("`rope_theta` is missing or not above 1".to_owned());
        }
        let unsupported = [
            ("attention_bias", self.attention_bias),
            ("use_sliding_window", self.use_sliding_window),
            ("quantization_config", self.quantization_config.is_some()),
            ("hidden_act", self.hidden_act != "silu"),
        ];
        if let Some((name, _)) = unsupported.iter().find(|(_, set)| *set) {
            return Err(format!("`{name}` is set to something that is not supported"));
        }
        Ok(())
    }

    /// Base of the rotary embedding, wherever this version writes it.
    fn rotary_base(&self) -> Option<f64> {
        let nested = || self.rope_parameters.as_ref()?.get("rope_theta")?.as_f64();
        self.rope_theta.or_else(nested)
    }

    /// Whether queries and keys are normalized.
    pub(super) fn query_key_norm(&self) -> bool {
        true
    }

    /// Whether query, key and value projections have a bias.
    pub(super) fn query_key_value_bias(&self) -> bool {
        false
    }

    /// Whether the output projection of attention has a bias.
    pub(super) fn output_bias(&self) -> bool {
        false
    }

    /// Whether the SwiGLU block has biases.
    pub(super) fn feed_forward_bias(&self) -> bool {
        false
    }

    /// The rotary embedding: θ_i = base^(−2i / head_dim), arXiv 2104.09864, equation 15.
    pub(super) fn rotary(&self) -> Rotary {
        let base = self.rotary_base().unwrap_or(10_000.0);
        let exponent = |i: i64| -2.0 * i as f64 / self.head_dim as f64;
        let inverse_frequencies =
            (0..self.head_dim / 2).map(|i| base.powf(exponent(i)) as f32).collect();
        Rotary { inverse_frequencies, magnitude: 1.0 }
    }

    /// Type of the weights in memory.
    pub(super) fn kind(&self) -> Result<tch::Kind, PolicyError> {
        let reason = match self.torch_dtype.as_str() {
            "float32" => return Ok(tch::Kind::Float),
            "bfloat16" => return Ok(tch::Kind::BFloat16),
            other => format!("`torch_dtype` is `{other}`; `float32` and `bfloat16` are supported"),
        };
        Err(PolicyError::Architecture { path: Path::new("config.json").to_owned(), reason })
    }
}

/// How positions turn queries and keys.
pub(super) struct Rotary {
    /// Angle per position of every pair of columns: `[head_dim / 2]`.
    pub(super) inverse_frequencies: Vec<f32>,
    /// Factor on cosine and sine.
    pub(super) magnitude: f64,
}

/// `generation_config.json`: what ends an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct GenerationConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bos_token_id: Option<TokenIds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eos_token_id: Option<TokenIds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pad_token_id: Option<TokenIds>,
}

impl GenerationConfig {
    /// What `config.json` alone says.
    pub(super) fn of(config: &ModelConfig) -> Self {
        GenerationConfig {
            bos_token_id: config.bos_token_id.clone(),
            eos_token_id: config.eos_token_id.clone(),
            pad_token_id: config.pad_token_id.clone(),
        }
    }

    /// Read `generation_config.json`; what it leaves out, `config.json` says.
    pub(super) fn load(folder: &Path, config: &ModelConfig) -> Result<Self, PolicyError> {
        let path = folder.join("generation_config.json");
        let fallback = GenerationConfig::of(config);
        if !path.exists() {
            return Ok(fallback);
        }
        let own: GenerationConfig = read_json(&path)?;
        Ok(GenerationConfig {
            bos_token_id: own.bos_token_id.or(fallback.bos_token_id),
            eos_token_id: own.eos_token_id.or(fallback.eos_token_id),
            pad_token_id: own.pad_token_id.or(fallback.pad_token_id),
        })
    }

    /// Tokens that end an answer, the main one first.
    pub(super) fn end_tokens(&self) -> &[u32] {
        self.eos_token_id.as_ref().map_or(&[], TokenIds::as_slice)
    }
}
