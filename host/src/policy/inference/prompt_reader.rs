//! Prompts read for the first time, on top of what was read before.

use tch::{Kind, Tensor};

use super::kv_cache::Layer;
use crate::policy::model::{Attention, attend, bias_of, by_head};

/// Attention among the tokens of prompts and to what lies before them; keeps
/// keys and values for the answers.
pub(super) struct PromptReader {
    batch: i64,
    bias: Tensor, // [batch or 1, 1, length · group, before + length]
    before: Vec<Layer>,
    layers: Vec<Layer>,
}

impl PromptReader {
    /// Reads `batch` prompts of equal (padded) `length`, where `group` query
    /// heads share a key head. `like` gives kind and device.
    pub(super) fn new(batch: i64, length: i64, group: i64, like: &Tensor) -> Self {
        let bias = causal(length, like).repeat_interleave_self_int(group, 1, None).unsqueeze(1);
        PromptReader { batch, bias, before: Vec::new(), layers: Vec::new() }
    }

    /// The same after `before`, by layer `[batch, key_value_heads, positions,
    /// head_dim]`, of which prompt i sees what `seen` `[batch, positions]` says.
    pub(super) fn after(
        before: Vec<Layer>,
        seen: &Tensor,
        length: i64,
        group: i64,
        like: &Tensor,
    ) -> Self {
        let (batch, positions) = (seen.size()[0], seen.size()[1]);
        let before_bias =
            bias_of(seen, like.kind()).unsqueeze(1).expand([batch, length, positions], false);
        let own = causal(length, like).expand([batch, length, length], false);
        let bias = Tensor::cat(&[before_bias, own], 2);
        let bias = bias.repeat_interleave_self_int(group, 1, None).unsqueeze(1);
        PromptReader { batch, bias, before, layers: Vec::new() }
    }

    /// By layer `[batch, key_value_heads, before + length, head_dim]`.
    pub(super) fn into_layers(self) -> Vec<Layer> {
        self.layers
    }
}

/// Every token sees itself and those before it: `[1, length, length]`.
fn causal(length: i64, like: &Tensor) -> Tensor {
    let seen = Tensor::ones([1, length, length], (Kind::Bool, like.device())).tril(0);
    bias_of(&seen, like.kind())
}

impl Attention for PromptReader {
    fn attend(&mut self, layer: usize, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let (keys, values) = (by_head(&keys, self.batch), by_head(&values, self.batch));
        let read = match self.before.get(layer) {
            // Every decoding step reads them, and views would keep alive what they are views of.
            None => Layer { keys: keys.contiguous(), values: values.contiguous() },
            Some(before) => Layer {
                keys: Tensor::cat(&[&before.keys, &keys], 2),
                values: Tensor::cat(&[&before.values, &values], 2),
            },
        };
        let attended = attend(&queries, &read.keys, &read.values, &self.bias);
        self.layers.push(read);
        attended
    }
}
