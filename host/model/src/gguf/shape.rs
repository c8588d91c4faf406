//! The shape of a model, and the `config.json` that says the same.

use serde_json::{Map, Value, json};

use super::gemma3::Gemma3;
use super::metadata::Metadata;
use super::options;
use super::rope::Rope;
use super::tensor::{Stored, Tensors};
use troupe_core::config::Dtype;

/// The name of the embedding in a file.
pub(super) const EMBEDDING: &str = "token_embd.weight";
/// That of an output head of its own.
pub(super) const HEAD: &str = "output.weight";

/// A kind of model that files hold and we can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    Llama,
    Qwen2,
    Qwen3,
    Gemma3,
}

/// The shape of a model.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) architecture: Architecture,
    pub(super) width: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) key_value_heads: usize,
    pub(super) head_width: usize,
    pub(super) feed_forward: usize,
    pub(super) vocabulary: usize,
    positions: u64,
    epsilon: f64,
    rope: Rope,
    /// Whether the output head is the embedding.
    pub(super) is_tied: bool,
    has_bias: bool,
    /// What only this family has.
    gemma3: Option<Gemma3>,
}

impl Architecture {
    const ALL: [Architecture; 4] =
        [Architecture::Llama, Architecture::Qwen2, Architecture::Qwen3, Architecture::Gemma3];

    /// Its name in a file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
            Architecture::Qwen2 => "qwen2",
            Architecture::Qwen3 => "qwen3",
            Architecture::Gemma3 => "gemma3",
        }
    }

    /// `model_type` in `config.json`.
    fn model_type(self) -> &'static str {
        match self {
            Architecture::Gemma3 => "gemma3_text",
            other => other.name(),
        }
    }

    fn class(self) -> &'static str {
        match self {
            Architecture::Llama => "LlamaForCausalLM",
            Architecture::Qwen2 => "Qwen2ForCausalLM",
            Architecture::Qwen3 => "Qwen3ForCausalLM",
            Architecture::Gemma3 => "Gemma3ForCausalLM",
        }
    }

    /// The function of its gates: the key and the value in `config.json`.
    fn activation(self) -> (&'static str, &'static str) {
        match self {
            Architecture::Gemma3 => ("hidden_activation", "gelu_pytorch_tanh"),
            _ => ("hidden_act", "silu"),
        }
    }

    /// The base of positions where a file has none.
    pub(super) fn rope_base(self) -> f64 {
        match self {
            // Of layers that see everything.
            Architecture::Gemma3 => 1_000_000.0,
            _ => 10_000.0,
        }
    }

    fn read(metadata: &Metadata) -> Result<Self, String> {
        let name = metadata.text("general.architecture")?;
        let name = metadata.required("general.architecture", name)?;
        let known = Architecture::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| {
            let names = Architecture::ALL.map(|known| format!("`{}`", known.name()));
            format!("it is a `{name}`; only models of {} can be run", names.join(", "))
        })
    }
}

/// Entries of an architecture, by the part of their name that follows its own.
pub(super) struct ArchitectureKeys<'m, 'f> {
    metadata: &'m Metadata<'f>,
    pub(super) architecture: Architecture,
}

impl<'f> ArchitectureKeys<'_, 'f> {
    /// The whole name.
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture.name())
    }

    /// All that the file has.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'f str> {
        let name = self.architecture.name();
        self.metadata.names().filter_map(move |entry| entry.strip_prefix(name)?.strip_prefix('.'))
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        self.metadata.flag(&self.name(key))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'f str>, String> {
        self.metadata.text(&self.name(key))
    }

    pub(super) fn whole(&self, key: &str) -> Result<Option<u64>, String> {
        self.metadata.whole(&self.name(key))
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.metadata.number(&self.name(key))
    }

    /// A number that may go by any of these names, and the first of them that the file has; they
    /// must agree.
    pub(super) fn number_by<'k>(&self, keys: &[&'k str]) -> Result<Option<(&'k str, f64)>, String> {
        let mut found: Option<(&'k str, f64)> = None;
        for &key in keys {
            let Some(number) = self.number(key)? else { continue };
            match found {
                None => found = Some((key, number)),
                Some((other, known)) if known != number => {
                    return Err(format!(
                        "`{}` is {known}, but `{}` is {number}; they mean the same, so keep one",
                        self.name(other),
                        self.name(key)
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(found)
    }

    /// A size: it is there, and small enough to reckon with.
    pub(super) fn size(&self, key: &str) -> Result<usize, String> {
        let size = self.whole(key)?;
        let size = self.metadata.required(&self.name(key), size)?;
        within(&self.name(key), size)
    }
}

impl Shape {
    pub(super) fn read(metadata: &Metadata, tensors: &Tensors) -> Result<Self, String> {
        let architecture = Architecture::read(metadata)?;
        let entries = ArchitectureKeys { metadata, architecture };
        options::check(&entries)?;
        let (width, heads) =
            (entries.size("embedding_length")?, entries.size("attention.head_count")?);
        let head_width = head_width(&entries, width, heads)?;
        let key_value_heads = match entries.whole("attention.head_count_kv")? {
            Some(heads) => within(&entries.name("attention.head_count_kv"), heads)?,
            None => heads,
        };
        let epsilon = entries.name("attention.layer_norm_rms_epsilon");
        let epsilon = metadata.required(&epsilon, metadata.number(&epsilon)?)?;
        let embedding = tensors.get(EMBEDDING).ok_or_else(|| missing(EMBEDDING))?;
        let has_bias = ["attn_q", "attn_output"]
            .iter()
            .any(|part| tensors.get(&format!("blk.0.{part}.bias")).is_some());
        let layers = entries.size("block_count")?;
        let gemma3 = match architecture {
            Architecture::Gemma3 => Some(Gemma3::read(&entries, width, heads, head_width, layers)?),
            _ => None,
        };
        Ok(Shape {
            architecture,
            width,
            layers,
            heads,
            key_value_heads,
            head_width,
            feed_forward: entries.size("feed_forward_length")?,
            vocabulary: rows(embedding)?,
            positions: entries.size("context_length")? as u64,
            epsilon: shortest(epsilon),
            rope: Rope::read(&entries, head_width, tensors)?,
            is_tied: tensors.get(HEAD).is_none(),
            has_bias,
            gemma3,
        })
    }

    /// The content of `config.json`; `special` are tokens with a meaning of their own.
    pub(super) fn config(&self, dtype: Dtype, special: &Map<String, Value>) -> Value {
        let mut config = json!({
            "architectures": [self.architecture.class()],
            "model_type": self.architecture.model_type(),
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.key_value_heads,
            "head_dim": self.head_width,
            "intermediate_size": self.feed_forward,
            "vocab_size": self.vocabulary,
            "max_position_embeddings": self.positions,
            "rms_norm_eps": self.epsilon,
            "rope_theta": self.rope.base,
            "rope_scaling": self.rope.scaling,
            "tie_word_embeddings": self.is_tied,
            "attention_bias": self.architecture == Architecture::Llama && self.has_bias,
            "torch_dtype": dtype.name(),
        });
        if let Some(config) = config.as_object_mut() {
            let (key, function) = self.architecture.activation();
            config.insert(key.to_owned(), function.into());
            config.extend(self.gemma3.iter().flat_map(|gemma3| gemma3.config(self.layers)));
            config.extend(special.clone());
        }
        config
    }
}

/// The width of a head: keys, values and what is turned must all have it.
fn head_width(entries: &ArchitectureKeys, width: usize, heads: usize) -> Result<usize, String> {
    let key_width = match entries.whole("attention.key_length")? {
        Some(width) => within(&entries.name("attention.key_length"), width)?,
        None if width.is_multiple_of(heads) => width / heads,
        None => return Err(format!("a width of {width} cannot be shared by {heads} heads evenly")),
    };
    let all = ["attention.value_length", "rope.dimension_count"];
    let with_window =
        ["attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"];
    for key in all.into_iter().chain(with_window) {
        if let Some(other) = entries.whole(key)?.filter(|other| *other != key_width as u64) {
            let name = entries.name(key);
            return Err(format!(
                "`{name}` is {other}, but heads are {key_width} wide, and other widths are not \
                 supported"
            ));
        }
    }
    match key_width % 2 {
        0 => Ok(key_width),
        _ => Err(format!("heads are {key_width} wide, but only an even number can be turned")),
    }
}

fn within(name: &str, size: u64) -> Result<usize, String> {
    match size {
        1..=0x7fff_ffff => Ok(size as usize),
        _ => Err(format!("`{name}` is {size}, but must be between 1 and 2³¹")),
    }
}

fn rows(embedding: &Stored) -> Result<usize, String> {
    match *embedding.shape.as_slice() {
        [rows, _] => Ok(rows),
        _ => Err(format!(
            "tensor `{EMBEDDING}` has shape {:?}, but must be a matrix",
            embedding.shape
        )),
    }
}

pub(super) fn missing(tensor: &str) -> String {
    format!("tensor `{tensor}` is missing; is the file complete, and a language model?")
}

/// A number that a file has in 32 bits, as one would write it.
pub(super) fn shortest(number: f64) -> f64 {
    (number as f32).to_string().parse().unwrap_or(number)
}
