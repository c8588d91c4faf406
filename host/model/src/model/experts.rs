//! Experts: gated maps; each token takes the few that a router
//! finds likeliest (arXiv 1701.06538; without noise or capacity).
//!
//! Tokens are sorted by expert, so that each expert's are multiplied at once
//! and no token is dropped. Gradients reach the router through the weights of
//! those that were taken.

use tch::{Kind, Tensor};

use super::feed_forward::Activation;
use super::parameters::Layout;

/// How many experts there are and how they are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpertsShape {
    /// Experts of a layer.
    pub number: i64,
    /// Experts that a token takes.
    pub taken: i64,
    /// Width of an expert.
    pub width: i64,
    /// Whether the weights of those taken are scaled to a sum of one.
    pub(super) renormalized: bool,
    /// Which layers have experts; the others have one map for all tokens.
    pub(super) layers: Vec<bool>,
}

/// The experts of one layer.
#[derive(Debug)]
pub(super) struct Experts {
    router: Tensor,  // [experts, hidden]
    gate_up: Tensor, // [experts · 2 · width, hidden]
    down: Tensor,    // [experts · hidden, width]
    taken: i64,
    renormalized: bool,
    activation: Activation,
}

impl Experts {
    /// The router and every expert's maps, those of one kind together.
    pub(super) fn lay_out(layout: &mut Layout, shape: &ExpertsShape, hidden: i64, prefix: &str) {
        layout.push_all(prefix, &["gate.weight"], &[shape.number, hidden]);
        let slots = |maps: &[&str], shape_of: [i64; 2]| -> Vec<(String, Vec<i64>)> {
            let named = |expert: i64, map: &&str| {
                (format!("{prefix}experts.{expert}.{map}.weight"), shape_of.to_vec())
            };
            let of_expert = |expert| maps.iter().map(move |map| named(expert, map));
            (0..shape.number).flat_map(of_expert).collect()
        };
        layout.push(&slots(&["gate_proj", "up_proj"], [shape.width, hidden]));
        layout.push(&slots(&["down_proj"], [hidden, shape.width]));
    }

    /// Name the blocks of [`Experts::lay_out`].
    pub(super) fn of(
        shape: &ExpertsShape,
        activation: Activation,
        next: &mut dyn FnMut() -> Tensor,
    ) -> Self {
        Experts {
            router: next(),
            gate_up: next(),
            down: next(),
            taken: shape.taken,
            renormalized: shape.renormalized,
            activation,
        }
    }

    /// `[rows, hidden]` to the same.
    pub(super) fn apply(&self, states: &Tensor) -> Tensor {
        let (weights, experts) = self.route(states);
        let experts = experts.view([-1]); // row by row
        let order = experts.argsort_stable(true, 0, false);
        let counts = experts.bincount(None::<&Tensor>, self.number());
        // Row by row again: where in the sorted order each one is.
        let places = order.argsort(0, false);
        let sorted = gather(states, &order.floor_divide_scalar(self.taken));
        let answers = gather(&self.answers(&sorted, &counts), &places);
        let answers = answers.view([-1, self.taken, states.size()[1]]);
        weights.unsqueeze(1).matmul(&answers).squeeze_dim(1)
    }

    fn number(&self) -> i64 {
        self.router.size()[0]
    }

    /// The weights of the experts that each row takes, and which they are: `[rows, taken]`.
    fn route(&self, states: &Tensor) -> (Tensor, Tensor) {
        let likely = states.matmul(&self.router.tr()).softmax(-1, Kind::Float);
        let (weights, experts) = likely.topk(self.taken, -1, true, true);
        let weights = match self.renormalized {
            true => &weights / weights.sum_dim_intlist(-1, true, Kind::Float),
            false => weights,
        };
        (weights.to_kind(states.kind()), experts)
    }

    /// The experts' outputs for rows sorted by expert; `counts` has the rows of each.
    fn answers(&self, sorted: &Tensor, counts: &Tensor) -> Tensor {
        let counts = counts.to_device(tch::Device::Cpu);
        let counts: Vec<i64> = (0..self.number()).map(|at| counts.int64_value(&[at])).collect();
        let parts = sorted.split_with_sizes(counts, 0).into_iter();
        // Taken apart at once, their gradients are put together at once.
        let each = |maps: &Tensor| {
            let width = maps.size()[1];
            maps.view([self.number(), -1, width]).unbind(0).into_iter()
        };
        let answers: Vec<Tensor> = parts
            .zip(each(&self.gate_up))
            .zip(each(&self.down))
            .filter(|((part, _), _)| part.size()[0] > 0)
            .map(|((part, gate_up), down)| {
                self.activation.gate(&part.matmul(&gate_up.tr())).matmul(&down.tr())
            })
            .collect();
        Tensor::cat(&answers, 0)
    }
}

/// Rows of `states` by index. Differentiated in an order that threads do not
/// change, and on a CPU many times faster than `index_select`.
fn gather(states: &Tensor, rows: &Tensor) -> Tensor {
    Tensor::embedding(states, rows, -1, false, false)
}
