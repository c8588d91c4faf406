//! Prompts read for the first time, on top of what was read before.

use tch::{Kind, Tensor};

use super::kv_cache::Layer;
use crate::policy::model::{Attention, LayerSight, Mask, Masking, attend, by_head, causal};

/// Attention among the tokens of prompts and to what lies before them; keeps
/// keys and values for the answers.
pub(super) struct PromptReader {
    batch: i64,
    mask: Mask, // [batch or 1, 1, length · group, before + length]
    before: Vec<Layer>,
    layers: Vec<Layer>,
}

impl PromptReader {
    /// Reads `batch` prompts of equal (padded) `length`.
    pub(super) fn new(batch: i64, length: i64, masking: &Masking) -> Self {
        let (seen, back) = causal(length, masking.device);
        let mask = Mask::new(&seen, || back, masking);
        PromptReader { batch, mask, before: Vec::new(), layers: Vec::new() }
    }

    /// The same after `before`, by layer `[batch, key_value_heads, positions,
    /// head_dim]`, of which prompt i sees what `seen` `[batch, positions]` says:
    /// the first so many.
    pub(super) fn after(before: Vec<Layer>, seen: &Tensor, length: i64, masking: &Masking) -> Self {
        let (batch, positions) = (seen.size()[0], seen.size()[1]);
        let (own, own_back) = causal(length, masking.device);
        let join = |before: Tensor, own: &Tensor| {
            let before = before.expand([batch, length, positions], false);
            Tensor::cat(&[before, own.expand([batch, length, length], false)], 2)
        };
        let back = || {
            let at = |length| Tensor::arange(length, (Kind::Int64, masking.device));
            let starts = seen.sum_dim_intlist(1, true, Kind::Int64).unsqueeze(1);
            join(starts + at(length).unsqueeze(1) - at(positions), &own_back)
        };
        let mask = Mask::new(&join(seen.unsqueeze(1), &own), back, masking);
        PromptReader { batch, mask, before, layers: Vec::new() }
    }

    /// By layer `[batch, key_value_heads, before + length, head_dim]`.
    pub(super) fn into_layers(self) -> Vec<Layer> {
        self.layers
    }
}

impl Attention for PromptReader {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let (keys, values) = (by_head(&keys, self.batch), by_head(&values, self.batch));
        let read = match self.before.get(at.layer) {
            // Every decoding step reads them, and views would keep alive what they are views of.
            None => Layer { keys: keys.contiguous(), values: values.contiguous() },
            Some(before) => Layer {
                keys: Tensor::cat(&[&before.keys, &keys], 2),
                values: Tensor::cat(&[&before.values, &values], 2),
            },
        };
        let attended = attend(&queries, &read.keys, &read.values, self.mask.bias(at.sight));
        self.layers.push(read);
        attended
    }
}
