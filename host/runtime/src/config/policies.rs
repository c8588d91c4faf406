//! `[policies.<name>]`: where a policy comes from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::RemoteConfig;

/// One policy: a checkpoint to load, a small random one to make, or one that
/// a server answers for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// Folder of a checkpoint in the Hugging Face layout. Without it, a small
    /// random policy is made from the shape below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Type of the weights in memory, whatever the checkpoint has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<Dtype>,
    /// What the chat template is told beside the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatConfig>,
    /// Another policy, by name, whose weights stay as they are and are kept in
    /// memory once; this policy is an adapter over them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The shape of that adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraConfig>,
    /// Whether training changes it; a remote one is never trained.
    pub train: bool,
    /// Width of the residual stream.
    pub hidden_size: i64,
    /// Number of decoder layers.
    pub layers: i64,
    /// Query heads per layer.
    pub heads: i64,
    /// Key and value heads per layer.
    pub key_value_heads: i64,
    /// Width of a head.
    pub head_size: i64,
    /// Width of the SwiGLU block.
    pub intermediate_size: i64,
    /// Base of the rotary position embedding.
    pub rope_theta: f64,
    /// The server that answers for it, instead of weights of our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteConfig>,
}

impl Default for PolicyConfig {
    /// The `tiny` preset: about 110,000 parameters, enough for a word-level game.
    fn default() -> Self {
        PolicyConfig {
            path: None,
            dtype: None,
            chat: None,
            base: None,
            lora: None,
            train: true,
            hidden_size: 64,
            layers: 2,
            heads: 4,
            key_value_heads: 2,
            head_size: 16,
            intermediate_size: 192,
            rope_theta: 100.0,
            remote: None,
        }
    }
}

/// Types of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32 bits.
    Float32,
    /// 16 bits with the range of 32.
    Bfloat16,
}

impl Dtype {
    /// As `config.json` has it.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Float32 => "float32",
            Dtype::Bfloat16 => "bfloat16",
        }
    }
}

/// `[policies.<name>.chat]`: what the chat template is told beside the messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChatConfig {
    /// Whether the policy thinks before it answers; left to the template if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_thinking: Option<bool>,
    /// Functions that the policy is told it may call, as JSON schemas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<toml::Value>,
}

/// `[policies.<name>.lora]`: a low-rank adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoraConfig {
    /// Folder of an adapter to go on from, as `peft` writes it. Without it, a
    /// fresh one is made from the settings below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Inner width.
    pub rank: i64,
    /// What the adapter adds is scaled by alpha / rank.
    pub alpha: f64,
    /// Scale by alpha / √rank instead.
    pub rank_stabilized: bool,
    /// The linear maps that are adapted.
    pub target_modules: Vec<String>,
}

impl Default for LoraConfig {
    fn default() -> Self {
        let modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
        LoraConfig {
            path: None,
            rank: 16,
            alpha: 32.0,
            rank_stabilized: false,
            target_modules: modules.map(str::to_owned).to_vec(),
        }
    }
}
