//! `[policies.<name>]`: where a policy comes from.

use std::path::PathBuf;

use super::table::{above, choices, table};
use super::{
    EnsembleConfig, Learns, PreferenceCriticConfig, RemoteConfig, SamplerConfig, TinkerConfig,
    ValueCriticConfig,
};

/// All linear maps of a layer.
const MODULES: [&str; 7] =
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

table! {
    /// One policy: a checkpoint to load, a small random one to make, or one that
    /// a server answers for, or trains, or several others. The default shape is the `tiny` preset: about
    /// 110,000 parameters, enough for a word-level game.
    pub struct PolicyConfig {
        /// Folder of a checkpoint in the Hugging Face layout. Without it, a small
        /// random policy is made from the shape below.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub path: Option<PathBuf> = None;
        /// Type of the weights in memory, whatever the checkpoint has.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dtype: Option<DtypeChoice> = None;
        /// What the chat template is told beside the messages.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub chat: Option<ChatConfig> = None;
        /// Another policy, by name, whose weights stay as they are and are kept in
        /// memory once; this policy is an adapter over them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub base: Option<String> = None;
        /// The shape of that adapter.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub lora: Option<LoraConfig> = None;
        /// A trained policy, by name, of which this one is an earlier state: an opponent
        /// that gets better, or a judge that lags behind.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub snapshot_of: Option<String> = None;
        /// Training steps after which that state is taken anew.
        pub every: usize = 20, 1..=1_000_000_000;
        /// Whether training changes it; a remote one is never trained.
        pub train: bool = true;
        /// What it learns: to play its roles, or to judge those that do.
        pub learns: Learns = Learns::Role;
        /// How a critic with `learns = "preference"` does.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub preference: Option<PreferenceCriticConfig> = None;
        /// How a critic with `learns = "value"` does.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub value: Option<ValueCriticConfig> = None;
        /// Its own peak learning rate, in the place of `train.learning_rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub learning_rate: Option<f64> = None, above(0.0, 1.0);
        /// Width of the residual stream.
        pub hidden_size: i64 = 64, 1..=65_536;
        /// Number of decoder layers.
        pub layers: i64 = 2, 1..=1024;
        /// Query heads per layer.
        pub heads: i64 = 4, 1..=1024;
        /// Key and value heads per layer.
        pub key_value_heads: i64 = 2, 1..=1024;
        /// Width of a head.
        pub head_size: i64 = 16, 2..=1024;
        /// Width of the SwiGLU block.
        pub intermediate_size: i64 = 192, 1..=1_048_576;
        /// Base of the rotary position embedding.
        pub rope_theta: f64 = 100.0, 1.0..=1e12;
        /// The server that answers for it, instead of weights of our own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub remote: Option<RemoteConfig> = None;
        /// The server that draws its answers while it is trained here.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sampler: Option<SamplerConfig> = None;
        /// The server that has it, draws its answers and trains it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tinker: Option<TinkerConfig> = None;
        /// Other policies that play in its place.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ensemble: Option<EnsembleConfig> = None;
    }
}

impl PolicyConfig {
    /// Whether a server answers for it, draws its answers or trains it.
    pub fn is_served(&self) -> bool {
        self.remote.is_some() || self.sampler.is_some() || self.tinker.is_some()
    }
}

choices! {
    /// Types of weights, as they are asked for.
    pub enum DtypeChoice {
        /// 16 bits on GPUs and on processors that multiply matrices of them (AMX, AVX-512 with bfloat16), else 32; a run keeps what it began with.
        Auto,
        /// 32 bits.
        Float32,
        /// 16 bits with the range of 32.
        Bfloat16,
    }
}

impl DtypeChoice {
    /// The type, where `suited` is the one that suits the device.
    pub fn settle(self, suited: Dtype) -> Dtype {
        match self {
            DtypeChoice::Auto => suited,
            DtypeChoice::Float32 => Dtype::Float32,
            DtypeChoice::Bfloat16 => Dtype::Bfloat16,
        }
    }
}

impl From<Dtype> for DtypeChoice {
    fn from(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Float32 => DtypeChoice::Float32,
            Dtype::Bfloat16 => DtypeChoice::Bfloat16,
        }
    }
}

/// Types of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

table! {
    /// `[policies.<name>.chat]`: what the chat template is told beside the messages.
    pub struct ChatConfig {
        /// Whether the policy thinks before it answers; left to the template if unset.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub enable_thinking: Option<bool> = None;
        /// Functions that the policy is told it may call, as JSON schemas.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub tools: Vec<toml::Value> = Vec::new();
    }
}

table! {
    /// `[policies.<name>.lora]`: a low-rank adapter.
    pub struct LoraConfig {
        /// Folder of an adapter to go on from, as `peft` writes it. Without it, a
        /// fresh one is made from the settings below.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub path: Option<PathBuf> = None;
        /// Inner width.
        pub rank: i64 = 16, 1..=4096;
        /// What the adapter adds is scaled by alpha / rank.
        pub alpha: f64 = 32.0, above(0.0, 1e6);
        /// Scale by alpha / √rank instead.
        pub rank_stabilized: bool = false;
        /// The linear maps that are adapted.
        pub target_modules: Vec<String> = MODULES.map(str::to_owned).to_vec();
    }
}
