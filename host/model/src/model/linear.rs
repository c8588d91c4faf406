//! A linear map, and what of it lies in a checkpoint.

use tch::Tensor;

use super::packed::{Packed, Use};
use super::parameters::Layout;

/// A linear map: `[outputs, inputs]` and, in some families, a bias `[outputs]`.
#[derive(Debug)]
pub(super) struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
    packed: Option<Packed>,
}

impl Linear {
    /// Name the blocks of [`Linear::lay_out`].
    pub(super) fn of(next: &mut dyn FnMut() -> Tensor, biased: bool) -> Self {
        let weight = next();
        Linear { weight, bias: biased.then(next), packed: None }
    }

    /// One without a bias.
    pub(super) fn plain(weight: Tensor) -> Self {
        Linear { weight, bias: None, packed: None }
    }

    /// A copy of the weights for products of few rows; nothing if plain ones serve as well.
    pub(super) fn pack(&self, purpose: Use) -> Option<Packed> {
        Packed::of(&self.weight, purpose)
    }

    #[cfg(test)]
    pub(super) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// Multiply by these.
    pub(super) fn take(&mut self, packed: Option<&Packed>) {
        self.packed = packed.map(Packed::share);
    }

    /// Maps of the same `inputs` that are applied at once, with their outputs.
    pub(super) fn lay_out(
        layout: &mut Layout,
        prefix: &str,
        maps: &[(&str, i64)],
        inputs: i64,
        biased: bool,
    ) {
        let slots = |part: &str, rest: &[i64]| -> Vec<(String, Vec<i64>)> {
            let shape = |outputs| [&[outputs], rest].concat();
            maps.iter().map(|(name, n)| (format!("{prefix}{name}.{part}"), shape(*n))).collect()
        };
        layout.push(&slots("weight", &[inputs]));
        if biased {
            layout.push(&slots("bias", &[]));
        }
    }

    /// `[rows, inputs]` to `[rows, outputs]`.
    pub(super) fn apply(&self, states: &Tensor) -> Tensor {
        match (self.packed_product(states), &self.bias) {
            (Some(product), Some(bias)) => product + bias,
            (Some(product), None) => product,
            (None, Some(bias)) => bias.addmm(states, &self.weight.tr()),
            (None, None) => states.matmul(&self.weight.tr()),
        }
    }

    /// The same on top of `stream` `[rows, outputs]`.
    pub(super) fn add_to(&self, stream: &Tensor, states: &Tensor) -> Tensor {
        let sum = match self.packed_product(states) {
            Some(product) => stream + product,
            None => stream.addmm(states, &self.weight.tr()),
        };
        self.biased(sum)
    }

    /// The same where nobody reads `stream` any more: without gradients, the sum takes its place,
    /// which saves a GPU a copy of it.
    pub(super) fn add_onto(&self, mut stream: Tensor, states: &Tensor) -> Tensor {
        let learns = [&stream, states, &self.weight].iter().any(|tensor| tensor.requires_grad());
        if learns || self.packed.is_some() {
            return self.add_to(&stream, states);
        }
        let sum = stream.addmm_(states, &self.weight.tr());
        self.biased(sum)
    }

    fn biased(&self, sum: Tensor) -> Tensor {
        match &self.bias {
            Some(bias) => sum + bias,
            None => sum,
        }
    }

    fn packed_product(&self, states: &Tensor) -> Option<Tensor> {
        self.packed.as_ref()?.product(states)
    }
}
