//! `config.json` of a Hugging Face checkpoint.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tch::Kind;

use super::entries::Entries;
use super::family::{ModelFamily, Parts};
use super::rotary::{Rotary, RotaryEmbedding};
use super::special_tokens::SpecialTokens;
use crate::config::Dtype;
use crate::policy::error::PolicyError;
use crate::storage::read_json;

/// Layers of a model; ten times what the largest have.
const MAX_LAYERS: i64 = 4096;

/// The shape of a model, in the words of its `config.json`.
///
/// Keys we do not know are kept but not looked at, as other libraries add
/// many that change nothing; options that would change the result are
/// honored or refused by name. Written as it was read, key by key.
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
    /// Width of the SwiGLU block.
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
    rotated: Vec<bool>,
    rotary: RotaryEmbedding,
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
    /// Read and check a `config.json`.
    pub(in crate::policy) fn load(path: &Path) -> Result<Self, PolicyError> {
        ModelConfig::read(read_json(path)?)
            .map_err(|reason| PolicyError::Architecture { path: path.to_owned(), reason })
    }

    /// Check the content of a `config.json`; says which entry cannot be honored.
    pub(in crate::policy) fn read(original: Map<String, Value>) -> Result<Self, String> {
        let entries = Entries::of(&original);
        let family = ModelFamily::of(&entries)?;
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
            rotated: family.rotated(&entries, layers)?,
            rotary: RotaryEmbedding::read(&entries, positions, defaults.rotary_base)?,
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
        let activation = entries.text("hidden_act")?.unwrap_or("silu");
        if !["silu", "swish"].contains(&activation) {
            return Err(format!("`hidden_act` is `{activation}`; only `silu` is supported"));
        }
        if entries.value("quantization_config").is_some() {
            return Err("`quantization_config` is set, but quantized weights cannot be trained; \
                        use the checkpoint that was quantized"
                .to_owned());
        }
        let window = self.family.window(entries, self.num_hidden_layers)?;
        // A window that no prompt and answer outgrow limits nothing.
        match window.filter(|(_, size)| *size < self.max_position_embeddings) {
            None => Ok(()),
            Some((key, 0)) => Err(format!(
                "`{key}` limits attention to a window, which is not supported; use a checkpoint \
                 with full attention"
            )),
            Some((key, size)) => Err(format!(
                "`{key}` limits attention to a window of {size} tokens, which is not supported; \
                 remove it and set `max_position_embeddings` to {size} to use the model up to there"
            )),
        }
    }

    /// Whether queries and keys of every head are normalized.
    pub(crate) fn query_key_norm(&self) -> bool {
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

    /// Whether this layer turns queries and keys by position.
    pub(super) fn rotates(&self, layer: usize) -> bool {
        self.rotated[layer]
    }

    /// How queries and keys are turned by position.
    pub(super) fn rotary(&self) -> Rotary {
        self.rotary.rotary(self.head_dim)
    }

    /// The same model with weights of another type.
    pub(in crate::policy) fn in_dtype(&self, dtype: Dtype) -> Self {
        let mut config = self.clone();
        config.kind = match dtype {
            Dtype::Float32 => Kind::Float,
            Dtype::Bfloat16 => Kind::BFloat16,
        };
        let key = if self.original.contains_key("dtype") { "dtype" } else { "torch_dtype" };
        config.original.insert(key.to_owned(), dtype.name().into());
        config
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
    pub(in crate::policy) fn special_tokens(&self) -> &SpecialTokens {
        &self.special
    }
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

/// `dtype`, which older files call `torch_dtype`.
fn kind(entries: &Entries) -> Result<Kind, String> {
    let key = if entries.value("dtype").is_some() { "dtype" } else { "torch_dtype" };
    let name = entries.text(key)?.unwrap_or("float32");
    match name.trim_start_matches("torch.") {
        "float32" => Ok(Kind::Float),
        "bfloat16" => Ok(Kind::BFloat16),
        other => Err(format!(
            "`{key}` is `{other}`; set it to `float32` or `bfloat16`, and the weights will be converted as they are read"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The least a file of this family says, with some entries replaced or added.
    fn file(family: &str, entries: Value) -> Map<String, Value> {
        let file = json!({
            "model_type": family, "hidden_size": 64, "num_hidden_layers": 3,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
            "vocab_size": 40, "max_position_embeddings": 512,
        });
        let mut file = file.as_object().unwrap().clone();
        file.extend(entries.as_object().unwrap().clone());
        file
    }

    fn read(family: &str, entries: Value) -> Result<ModelConfig, String> {
        ModelConfig::read(file(family, entries))
    }

    fn parts(config: &ModelConfig) -> [bool; 4] {
        [
            config.query_key_norm(),
            config.query_key_value_bias(),
            config.output_bias(),
            config.feed_forward_bias(),
        ]
    }

    #[test]
    fn what_is_left_out_means_what_it_means_in_transformers() {
        let read = |family| {
            let mut file = file(family, json!({}));
            file.retain(|key, _| key != "num_key_value_heads" && key != "max_position_embeddings");
            file["num_attention_heads"] = json!(32);
            file.insert("sliding_window".to_owned(), Value::Null);
            ModelConfig::read(file).unwrap()
        };
        let (llama, qwen2, qwen3) = (read("llama"), read("qwen2"), read("qwen3"));
        assert_eq!((llama.head_dim, qwen2.head_dim, qwen3.head_dim), (2, 2, 128));
        assert_eq!((llama.num_key_value_heads, qwen3.num_key_value_heads), (32, 32));
        assert_eq!((llama.max_position_embeddings, qwen2.max_position_embeddings), (2048, 32_768));
        assert_eq!(llama.special_tokens().ends(), [2]);
        assert!(qwen3.special_tokens().ends().is_empty());
        assert!(!llama.tie_word_embeddings && llama.rms_norm_eps == 1e-6);
        assert_eq!(llama.kind(), Kind::Float);
        let (mistral, smollm3) = (read("mistral"), read("smollm3"));
        assert_eq!((mistral.num_key_value_heads, smollm3.num_key_value_heads), (8, 4));
        assert_eq!(
            (mistral.special_tokens().ends(), smollm3.special_tokens().ends()),
            (&[2][..], &[128_001][..])
        );
        assert!(smollm3.tie_word_embeddings && !mistral.tie_word_embeddings);
        assert_ne!(smollm3.rotary, mistral.rotary);
    }

    #[test]
    fn every_fourth_layer_of_smollm3_sees_no_positions_unless_the_file_says_which() {
        let rotated = |entries| {
            let mut all = json!({ "num_hidden_layers": 5 });
            all.as_object_mut().unwrap().extend(Value::as_object(&entries).unwrap().clone());
            let config = read("smollm3", all)?;
            Ok::<_, String>((0..5).map(|layer| config.rotates(layer)).collect::<Vec<_>>())
        };
        assert_eq!(rotated(json!({})).unwrap(), [true, true, true, false, true]);
        let listed = json!({ "no_rope_layers": [0, 1, 1, 1, 0], "no_rope_layer_interval": 2 });
        assert_eq!(rotated(listed).unwrap(), [false, true, true, true, false]);
        let every_second = rotated(json!({ "no_rope_layer_interval": 2 })).unwrap();
        assert_eq!(every_second, [true, false, true, false, true]);
        let error = rotated(json!({ "no_rope_layers": [1, 0] })).unwrap_err();
        assert!(error.contains("speaks of 2 layers"), "{error}");
        let error = rotated(json!({ "no_rope_layer_interval": 0 })).unwrap_err();
        assert!(error.contains("`no_rope_layer_interval` is 0"), "{error}");
    }

    #[test]
    fn null_key_value_heads_are_as_many_as_query_heads() {
        let config = read("qwen2", json!({ "num_key_value_heads": null })).unwrap();
        assert_eq!(config.num_key_value_heads, 4);
    }

    #[test]
    fn each_family_has_its_own_parts() {
        let biased = json!({ "attention_bias": true, "mlp_bias": true });
        assert_eq!(parts(&read("qwen3", json!({})).unwrap()), [true, false, false, false]);
        assert_eq!(parts(&read("qwen3", biased.clone()).unwrap()), [true, true, true, false]);
        assert_eq!(parts(&read("qwen2", biased.clone()).unwrap()), [false, true, false, false]);
        assert_eq!(parts(&read("llama", json!({})).unwrap()), [false; 4]);
        assert_eq!(parts(&read("llama", biased.clone()).unwrap()), [false, true, true, true]);
        assert_eq!(parts(&read("smollm3", biased.clone()).unwrap()), [false, true, true, true]);
        assert_eq!(parts(&read("mistral", biased).unwrap()), [false; 4]);
    }

    #[test]
    fn it_is_written_as_it_was_read() {
        let file = file("llama", json!({ "eos_token_id": [2, 3], "made_up": { "z": 1, "a": 2 } }));
        let config = ModelConfig::read(file.clone()).unwrap();
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(text, serde_json::to_string(&file).unwrap());
    }

    #[test]
    fn both_names_of_the_type_are_read() {
        for entry in [json!({ "dtype": "bfloat16" }), json!({ "torch_dtype": "torch.bfloat16" })] {
            assert_eq!(read("qwen3", entry).unwrap().kind(), Kind::BFloat16);
        }
    }

    #[test]
    fn what_cannot_be_honored_is_refused_by_name() {
        for (family, entries, expected) in [
            (
                "mamba",
                json!({}),
                "its `model_type` is `mamba`; supported are `llama`, `qwen2`, `qwen3`, `mistral`, `smollm3`",
            ),
            ("qwen3", json!({ "model_type": null }), "`model_type` is missing"),
            (
                "qwen3",
                json!({ "architectures": ["Qwen3Model"] }),
                "`Qwen3Model`, but only language models are supported: `Qwen3ForCausalLM`",
            ),
            ("llama", json!({ "hidden_act": "gelu" }), "`hidden_act` is `gelu`"),
            ("llama", json!({ "hidden_size": null }), "`hidden_size` is missing"),
            (
                "llama",
                json!({ "hidden_size": "64" }),
                "`hidden_size` is `\"64\"`, but must be a whole number",
            ),
            ("llama", json!({ "hidden_size": 66 }), "`hidden_size` 66 cannot be shared by 4 heads"),
            ("llama", json!({ "num_attention_heads": 0 }), "cannot be shared by 0 heads"),
            ("llama", json!({ "num_key_value_heads": 3 }), "evenly"),
            ("llama", json!({ "head_dim": 7 }), "`head_dim` is 7"),
            ("llama", json!({ "vocab_size": 0 }), "`vocab_size` is 0"),
            ("llama", json!({ "num_hidden_layers": 1_000_000 }), "`num_hidden_layers` is 1000000"),
            ("llama", json!({ "num_hidden_layers": -1 }), "`num_hidden_layers` is -1"),
            ("llama", json!({ "rms_norm_eps": -1.0 }), "`rms_norm_eps` is -1"),
            ("llama", json!({ "dtype": "float16" }), "`dtype` is `float16`; set it to"),
            ("qwen2", json!({ "quantization_config": { "bits": 4 } }), "`quantization_config`"),
            ("qwen2", json!({ "eos_token_id": "x" }), "`eos_token_id` is `\"x\"`"),
        ] {
            let error = read(family, entries).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn a_window_is_refused_where_it_would_take_effect() {
        let qwen =
            json!({ "use_sliding_window": true, "sliding_window": 64, "max_window_layers": 2 });
        for (family, entries, expected) in [
            ("qwen2", qwen.clone(), "`use_sliding_window` limits attention to a window of 64"),
            ("qwen3", qwen, "`use_sliding_window`"),
            (
                "qwen3",
                json!({ "layer_types": ["full_attention", "sliding_attention", "full_attention"], "sliding_window": 16 }),
                "`layer_types` limits",
            ),
            (
                "qwen3",
                json!({ "layer_types": ["linear_attention"] }),
                "`layer_types` has `linear_attention`",
            ),
            ("llama", json!({ "sliding_window": 64 }), "`sliding_window` limits"),
            ("mistral", json!({ "sliding_window": 64 }), "`sliding_window` limits"),
            ("mistral", json!({ "max_position_embeddings": 8192 }), "to a window of 4096 tokens"),
            (
                "smollm3",
                json!({ "use_sliding_window": true, "sliding_window": 16 }),
                "`use_sliding_window` limits",
            ),
            (
                "smollm3",
                json!({ "layer_types": ["sliding_attention"], "sliding_window": 16 }),
                "`layer_types` limits",
            ),
        ] {
            let error = read(family, entries).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn a_window_without_effect_is_no_obstacle() {
        for (family, entries) in [
            (
                "qwen2",
                json!({ "use_sliding_window": false, "sliding_window": 64, "max_window_layers": 0 }),
            ),
            (
                "qwen2",
                json!({ "use_sliding_window": true, "sliding_window": 64, "max_window_layers": 3 }),
            ),
            (
                "qwen3",
                json!({ "use_sliding_window": true, "sliding_window": null, "max_window_layers": 0 }),
            ),
            (
                "qwen3",
                json!({ "use_sliding_window": true, "sliding_window": 512, "max_window_layers": 0 }),
            ),
            ("qwen3", json!({ "layer_types": ["full_attention"] })),
            ("llama", json!({ "sliding_window": null })),
            ("mistral", json!({})),
            ("mistral", json!({ "sliding_window": null, "max_position_embeddings": 8192 })),
            ("smollm3", json!({ "sliding_window": 16 })),
        ] {
            read(family, entries).unwrap();
        }
    }
}
