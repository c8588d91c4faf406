//! Tensors under the names of a Hugging Face checkpoint.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use half::bf16;
use safetensors::tensor::{Dtype as Kind, View};

use super::rope::FACTORS;
use super::shape::{Architecture, EMBEDDING, HEAD, Shape, missing};
use super::tensor::{Stored, Tensors};
use crate::error::PolicyError;
use troupe_core::config::Dtype;
use troupe_core::storage::replace;

/// Parts of every layer, here and there.
const PARTS: [(&str, &str); 11] = [
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

/// Norms of Gemma 3, which has them before and after each block.
const GEMMA3_NORMS: [(&str, &str); 3] = [
    ("post_attention_norm", "post_attention_layernorm"),
    ("ffn_norm", "pre_feedforward_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

/// The weights of a model.
#[derive(Debug)]
pub(super) struct Weights<'t, 'f> {
    tensors: Vec<Weight<'t, 'f>>,
}

#[derive(Debug)]
struct Weight<'t, 'f> {
    name: String,
    stored: &'t Stored<'f>,
    /// Heads whose rows lie in llama.cpp's order, if they do.
    turned: Option<usize>,
    /// Whether the file has what a norm multiplies by, and a checkpoint how much above 1 that is.
    is_factor: bool,
}

impl<'t, 'f> Weights<'t, 'f> {
    /// What a model of this shape consists of.
    pub(super) fn of(shape: &Shape, tensors: &'t Tensors<'f>) -> Result<Self, String> {
        let mut weights = Vec::new();
        for (name, stored) in tensors.iter().filter(|(name, _)| *name != FACTORS) {
            let place = TensorPlace::of(shape, name).ok_or_else(|| {
                let architecture = shape.architecture.name();
                format!("tensor `{name}` is no part of a `{architecture}` that we can run")
            })?;
            if stored.shape != place.shape {
                return Err(format!(
                    "tensor `{name}` has shape {:?}, but a model of these sizes has {:?} there",
                    stored.shape, place.shape
                ));
            }
            let turned = place.heads.filter(|_| shape.architecture == Architecture::Llama);
            let is_factor = place.is_norm && shape.architecture == Architecture::Gemma3;
            weights.push(Weight { name: place.name, stored, turned, is_factor });
        }
        // The loader knows which tensors a layer has; here, that there are as many layers.
        let last = format!("blk.{}.attn_norm.weight", shape.layers - 1);
        match tensors.get(&last) {
            Some(_) => Ok(Weights { tensors: weights }),
            None => Err(missing(&last)),
        }
    }

    /// Write them as one file, replaced as a whole; its bytes of weights.
    pub(super) fn write(&self, path: &Path, dtype: Dtype) -> Result<u64, PolicyError> {
        let contents =
            self.tensors.iter().map(|weight| (&weight.name, TensorContent { weight, dtype }));
        let contents: Vec<_> = contents.collect();
        let bytes = contents.iter().map(|(_, content)| content.data_len() as u64).sum();
        // Without this entry `transformers` refuses the file.
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        replace(path, |temporary| {
            safetensors::serialize_to_file(contents, Some(metadata), temporary)
                .map_err(std::io::Error::other)
        })?;
        Ok(bytes)
    }
}

/// What a tensor is in a checkpoint.
struct TensorPlace {
    name: String,
    shape: Vec<usize>,
    /// Heads whose rows lie in another order, where a family is turned so.
    heads: Option<usize>,
    is_norm: bool,
}

impl TensorPlace {
    /// The place of a file's tensor; none if it is not part of the model.
    fn of(shape: &Shape, name: &str) -> Option<Self> {
        let whole = |name: &str, shape: &[usize]| {
            let (name, is_norm) = (name.to_owned(), shape.len() == 1);
            Some(TensorPlace { name, shape: shape.to_vec(), heads: None, is_norm })
        };
        match name {
            EMBEDDING => {
                return whole("model.embed_tokens.weight", &[shape.vocabulary, shape.width]);
            }
            "output_norm.weight" => return whole("model.norm.weight", &[shape.width]),
            HEAD => return whole("lm_head.weight", &[shape.vocabulary, shape.width]),
            _ => {}
        }
        let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
        let layer: usize = layer.parse().ok().filter(|layer| *layer < shape.layers)?;
        let (part, kind) = rest.split_once('.')?;
        let norms = match shape.architecture {
            Architecture::Gemma3 => GEMMA3_NORMS.as_slice(),
            _ => &[],
        };
        let (_, own) = norms.iter().chain(&PARTS).find(|(known, _)| *known == part)?;
        let (rows, columns) = size_of(shape, part);
        let size = match (kind, columns) {
            ("weight", Some(columns)) => vec![rows, columns],
            ("weight", None) | ("bias", Some(_)) => vec![rows],
            _ => return None,
        };
        let heads = match part {
            "attn_q" => Some(shape.heads),
            "attn_k" => Some(shape.key_value_heads),
            _ => None,
        };
        let name = format!("model.layers.{layer}.{own}.{kind}");
        Some(TensorPlace { name, shape: size, heads, is_norm: columns.is_none() })
    }
}

/// Rows and columns of a part of a layer; norms have no columns.
fn size_of(shape: &Shape, part: &str) -> (usize, Option<usize>) {
    let queries = shape.heads * shape.head_width;
    let keys = shape.key_value_heads * shape.head_width;
    match part {
        "attn_q" => (queries, Some(shape.width)),
        "attn_k" | "attn_v" => (keys, Some(shape.width)),
        "attn_output" => (shape.width, Some(queries)),
        "attn_q_norm" | "attn_k_norm" => (shape.head_width, None),
        "ffn_gate" | "ffn_up" => (shape.feed_forward, Some(shape.width)),
        "ffn_down" => (shape.width, Some(shape.feed_forward)),
        _ => (shape.width, None),
    }
}

impl Weight<'_, '_> {
    /// Its numbers in the order of a Hugging Face checkpoint. llama.cpp has the
    /// two numbers of a pair that is turned together beside each other, we have
    /// them half a head apart. Norms of Gemma begin at zero there, at one in a file.
    fn numbers(&self) -> Vec<f32> {
        let mut decoded = self.stored.encoding.decode(self.stored.bytes);
        if self.is_factor {
            decoded.iter_mut().for_each(|number| *number -= 1.0);
        }
        let Some(heads) = self.turned else { return decoded };
        let rows = self.stored.shape[0];
        let (columns, width) = (decoded.len() / rows, rows / heads);
        let mut numbers = Vec::with_capacity(decoded.len());
        for row in 0..rows {
            let (head, place) = (row / width, row % width);
            let (side, pair) = (place / (width / 2), place % (width / 2));
            let from = head * width + 2 * pair + side;
            numbers.extend_from_slice(&decoded[from * columns..(from + 1) * columns]);
        }
        numbers
    }
}

/// A tensor to be saved, decoded when it is written.
struct TensorContent<'w> {
    weight: &'w Weight<'w, 'w>,
    dtype: Dtype,
}

impl View for TensorContent<'_> {
    fn dtype(&self) -> Kind {
        match self.dtype {
            Dtype::Float32 => Kind::F32,
            Dtype::Bfloat16 => Kind::BF16,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.weight.stored.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let numbers = self.weight.numbers();
        Cow::Owned(match self.dtype {
            Dtype::Float32 => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Dtype::Bfloat16 => {
                let narrow = numbers.iter().map(|number| bf16::from_f32(*number));
                narrow.flat_map(bf16::to_le_bytes).collect()
            }
        })
    }

    fn data_len(&self) -> usize {
        let size = match self.dtype {
            Dtype::Float32 => 4,
            Dtype::Bfloat16 => 2,
        };
        self.weight.stored.shape.iter().product::<usize>() * size
    }
}
