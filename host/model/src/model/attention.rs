//! Grouped-query attention over a batch of sequences, and which keys a query
//! may see.

use tch::{Kind, Tensor};

/// Scores per key head up to which a CPU computes them all at once.
const MAX_PLAIN_SCORES: i64 = 128 * 128;

/// How far back a layer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// To the beginning.
    All,
    /// To the beginning of the model's window.
    Window,
}

/// A layer as attention sees it.
#[derive(Clone, Copy, Debug)]
pub struct LayerSight {
    /// Its number, from 0.
    pub layer: usize,
    /// Which keys it sees.
    pub sight: Sight,
}

/// Which keys and values a query is compared with, and where they are kept.
pub trait Attention {
    /// Attend in one layer. `queries` are already scaled.
    ///
    /// Takes `queries` `[rows, heads, head_dim]`, `keys` and `values`
    /// `[rows, key_value_heads, head_dim]`; returns `[rows, heads · head_dim]`.
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor;
}

impl<A: Attention> Attention for &mut A {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        (**self).attend(at, queries, keys, values)
    }
}

/// What masks of a model have in common.
#[derive(Clone, Copy, Debug)]
pub struct Masking {
    /// Query heads that share a key head.
    pub group: i64,
    /// Tokens that layers with a window see.
    pub window: Option<i64>,
    /// Of the weights.
    pub kind: Kind,
    /// Where the weights are.
    pub device: tch::Device,
}

/// Which keys the queries of a pass see, for layers of both kinds of sight.
pub struct Mask {
    all: Tensor, // [batch or 1, 1, queries · group, keys]
    /// None if the window limits nothing.
    window: Option<Tensor>,
}

impl Mask {
    /// Query i sees key j where `seen` `[batch or 1, queries, keys]` is true and, in layers with
    /// a window, j is no further back than that; `back` says how far, in the same shape.
    pub fn new(seen: &Tensor, back: impl FnOnce() -> Tensor, masking: &Masking) -> Self {
        let bias = |seen: &Tensor| {
            let bias = bias_of(seen, masking.kind);
            bias.repeat_interleave_self_int(masking.group, 1, None).unsqueeze(1)
        };
        // No key is further back than there are keys.
        let window = masking.window.filter(|size| *size < seen.size()[2]);
        let window = window.map(|size| bias(&seen.logical_and(&back().lt(size))));
        Mask { all: bias(seen), window }
    }

    /// The bias of a layer's scores.
    pub fn bias(&self, sight: Sight) -> &Tensor {
        match (sight, &self.window) {
            (Sight::Window, Some(window)) => window,
            _ => &self.all,
        }
    }
}

/// What each of `length` tokens in a row sees of those at and before it, `[1, length, length]`,
/// and how far back they are.
pub fn causal(length: i64, device: tch::Device) -> (Tensor, Tensor) {
    let at = Tensor::arange(length, (Kind::Int64, device));
    let back = (at.unsqueeze(1) - at.unsqueeze(0)).unsqueeze(0);
    (back.ge(0), back)
}

/// Sequences of equal (padded) length that see only themselves.
pub struct SelfAttention {
    batch: i64,
    mask: Mask,
}

impl SelfAttention {
    /// Every token sees itself and those before it.
    #[cfg(test)]
    pub fn causal(batch: i64, length: i64, masking: &Masking) -> Self {
        let (seen, back) = causal(length, masking.device);
        SelfAttention::among(batch, Mask::new(&seen, || back, masking))
    }

    /// What `mask` `[batch or 1, 1, length · group, length]` lets them see; every token must see
    /// at least itself.
    pub fn among(batch: i64, mask: Mask) -> Self {
        SelfAttention { batch, mask }
    }
}

impl Attention for SelfAttention {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let (keys, values) = (by_head(&keys, self.batch), by_head(&values, self.batch));
        attend(&queries, &keys, &values, self.mask.bias(at.sight))
    }
}

/// 0 where a key is seen, −∞ where it is not.
pub fn bias_of(seen: &Tensor, kind: Kind) -> Tensor {
    seen.zeros_like().to_kind(kind).masked_fill(&seen.logical_not(), f64::NEG_INFINITY)
}

/// `[batch · rows, heads, head_dim]` to `[batch, heads, rows, head_dim]`, as a view.
pub fn by_head(states: &Tensor, batch: i64) -> Tensor {
    let size = states.size();
    states.view([batch, -1, size[1], size[2]]).transpose(1, 2)
}

/// softmax(q·kᵀ + bias)·v, where the query heads of a group share a key head.
///
/// Takes `queries` `[batch · rows, heads, head_dim]`, `keys` and `values`
/// `[batch, key_value_heads, length, head_dim]` and a `bias` `[batch or 1, 1,
/// rows · group, length]`; returns `[batch · rows, heads · head_dim]`. The
/// group lies beside the rows, so that keys are never repeated.
pub fn attend(queries: &Tensor, keys: &Tensor, values: &Tensor, bias: &Tensor) -> Tensor {
    let (batch, key_heads, _, width) = size4(keys);
    let heads = queries.size()[1];
    let group = heads / key_heads;
    let queries = queries
        .reshape([batch, -1, key_heads, group, width])
        .transpose(1, 2)
        .reshape([batch, key_heads, -1, width]); // [batch, key_heads, rows · group, head_dim]
    // The fused kernel pays off once the scores no longer fit a core's cache.
    let small = !keys.device().is_cuda() && queries.size()[2] * keys.size()[2] <= MAX_PLAIN_SCORES;
    let attended = if small {
        let scores = queries.matmul(&keys.transpose(2, 3)) + bias;
        scores.softmax(-1, None::<Kind>).matmul(values)
    } else {
        let bias = Some(bias);
        Tensor::scaled_dot_product_attention(&queries, keys, values, bias, 0.0, false, 1.0, false)
    };
    attended.view([batch, key_heads, -1, group, width]).transpose(1, 2).reshape([-1, heads * width])
}

fn size4(tensor: &Tensor) -> (i64, i64, i64, i64) {
    let size = tensor.size();
    (size[0], size[1], size[2], size[3])
}
