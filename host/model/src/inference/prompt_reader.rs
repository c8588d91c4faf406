//! Prompts read for the first time, on top of what was read before.

use tch::{Kind, Tensor};

use super::kv_cache::Layer;
use super::prefix_cache::Piece;
use crate::model::{Attention, LayerSight, Mask, Masking, attend, by_head, causal};

/// Attention among the tokens of prompts and to what lies before them; keeps
/// keys and values for the answers.
pub(super) struct PromptReader<'p> {
    batch: i64,
    mask: Mask, // [batch or 1, 1, length · group, before + length]
    /// What was read before of each prompt, in pieces; none if nothing was.
    known: Vec<&'p [Piece]>,
    /// Positions for it.
    before: i64,
    layers: Vec<Layer>,
}

impl<'p> PromptReader<'p> {
    /// Reads `batch` prompts of equal (padded) `length`.
    pub(super) fn new(batch: i64, length: i64, masking: &Masking) -> Self {
        let (seen, back) = causal(length, masking.device);
        let mask = Mask::new(&seen, || back, masking);
        PromptReader { batch, mask, known: Vec::new(), before: 0, layers: Vec::new() }
    }

    /// The same after what is `known` of each prompt. Of the positions for it, prompt i sees what
    /// `seen` `[batch, positions]` says: the first so many.
    pub(super) fn after(
        known: Vec<&'p [Piece]>,
        seen: &Tensor,
        length: i64,
        masking: &Masking,
    ) -> Self {
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
        PromptReader { batch, mask, known, before: positions, layers: Vec::new() }
    }

    /// By layer `[batch, key_value_heads, before + length, head_dim]`.
    pub(super) fn into_layers(self) -> Vec<Layer> {
        self.layers
    }
}

impl PromptReader<'_> {
    /// Keys or values of a layer after those that are known: `[batch, key_value_heads, before +
    /// length, head_dim]`.
    fn joined(&self, layer: usize, read: &Tensor, of: fn(&Layer) -> &Tensor) -> Tensor {
        let mut size = read.size();
        size[2] += self.before;
        let all = Tensor::zeros(size, (read.kind(), read.device()));
        all.narrow(2, self.before, read.size()[2]).copy_(read);
        for (row, pieces) in self.known.iter().enumerate() {
            let (row, mut start) = (all.get(row as i64), 0);
            for piece in *pieces {
                let piece = of(&piece[layer]);
                row.narrow(1, start, piece.size()[1]).copy_(piece);
                start += piece.size()[1];
            }
        }
        all
    }
}

impl Attention for PromptReader<'_> {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let (keys, values) = (by_head(&keys, self.batch), by_head(&values, self.batch));
        // Every decoding step reads them, and views would keep alive what they are views of.
        let read = match self.known.is_empty() {
            true => Layer { keys: keys.contiguous(), values: values.contiguous() },
            false => Layer {
                keys: self.joined(at.layer, &keys, |layer| &layer.keys),
                values: self.joined(at.layer, &values, |layer| &layer.values),
            },
        };
        let attended = attend(&queries, &read.keys, &read.values, self.mask.bias(at.sight));
        self.layers.push(read);
        attended
    }
}
