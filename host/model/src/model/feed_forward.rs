//! The block of a layer that looks at each token by itself: a gated one
//! (GLU, arXiv 2002.05202), or experts, some of them for each token.

use tch::Tensor;

use super::adapter::Site;
use super::architecture::ModelConfig;
use super::experts::Experts;
use super::linear::Linear;
use super::norm::Norm;
use super::parameters::Layout;
use super::residual::Residual;
use super::shared_base::LayerRows;

/// What a gate goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// x·σ(x): SwiGLU.
    Silu,
    /// The normal distribution's, by a hyperbolic tangent: GeGLU.
    Gelu,
}

impl Activation {
    /// What `config.json` calls it, as it is usually written first.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Activation::Silu => &["silu", "swish"],
            Activation::Gelu => &["gelu_pytorch_tanh"],
        }
    }

    /// Gates and what they let through, `[rows, 2 · width]`, to `[rows, width]`.
    pub(super) fn gate(self, fused: &Tensor) -> Tensor {
        let width = fused.size()[1] / 2;
        let (gate, up) = split(fused, 1, width);
        let gate = match self {
            Activation::Silu => gate.silu(),
            Activation::Gelu => gate.gelu("tanh"),
        };
        gate * up
    }
}

/// The first `length` of a dimension, and the rest. Cheaper to differentiate
/// than two `narrow`s, which would each fill a gradient of full size.
pub(super) fn split(tensor: &Tensor, dimension: i64, length: i64) -> (Tensor, Tensor) {
    let rest = tensor.size()[dimension as usize] - length;
    let mut parts = tensor.split_with_sizes([length, rest], dimension);
    let rest = parts.swap_remove(1);
    (parts.swap_remove(0), rest)
}

/// The block of one layer.
#[derive(Debug)]
pub(super) enum FeedForward {
    Gated(Gated),
    Experts(Experts),
}

/// One gated map for all tokens.
#[derive(Debug)]
pub(super) struct Gated {
    gate_up: Linear, // [2 · intermediate, hidden]
    down: Residual,  // [hidden, intermediate]
    activation: Activation,
}

impl FeedForward {
    /// The tensors of a layer's block under their names.
    pub(super) fn lay_out(layout: &mut Layout, config: &ModelConfig, index: usize, layer: &str) {
        let prefix = format!("{layer}mlp.");
        if let Some(shape) = config.experts(index) {
            return Experts::lay_out(layout, shape, config.hidden_size, &prefix);
        }
        let (hidden, width) = (config.hidden_size, config.intermediate_size);
        let biased = config.feed_forward_bias();
        let fused = [("gate_proj", width), ("up_proj", width)];
        Linear::lay_out(layout, &prefix, &fused, hidden, biased);
        Linear::lay_out(layout, &prefix, &[("down_proj", hidden)], width, biased);
        if config.normed_blocks() {
            layout.push_all(layer, &["post_feedforward_layernorm.weight"], &[hidden]);
        }
    }

    /// Name the blocks of [`FeedForward::lay_out`].
    pub(super) fn of(config: &ModelConfig, index: usize, next: &mut dyn FnMut() -> Tensor) -> Self {
        let activation = config.activation();
        if let Some(shape) = config.experts(index) {
            return FeedForward::Experts(Experts::of(shape, activation, next));
        }
        let biased = config.feed_forward_bias();
        FeedForward::Gated(Gated {
            gate_up: Linear::of(next, biased),
            down: Residual {
                map: Linear::of(next, biased),
                norm: config.normed_blocks().then(|| Norm::of(config, next())),
            },
            activation,
        })
    }

    /// The maps that all tokens go through.
    pub(super) fn linears_mut(&mut self) -> Vec<&mut Linear> {
        match self {
            FeedForward::Gated(gated) => vec![&mut gated.gate_up, &mut gated.down.map],
            FeedForward::Experts(_) => Vec::new(),
        }
    }

    /// What `normed` `[rows, hidden]` adds to `stream` `[rows, hidden]`, which nobody reads any more.
    pub(super) fn add_onto(&self, stream: Tensor, normed: &Tensor, rows: &LayerRows) -> Tensor {
        match self {
            FeedForward::Gated(gated) => gated.add_onto(stream, normed, rows),
            FeedForward::Experts(experts) => stream + experts.apply(normed),
        }
    }
}

impl Gated {
    fn add_onto(&self, stream: Tensor, normed: &Tensor, rows: &LayerRows) -> Tensor {
        let fused = rows.add(self.gate_up.apply(normed), normed, Site::GateUp);
        self.down.add_onto(stream, &self.activation.gate(&fused), rows, Site::Down)
    }
}
