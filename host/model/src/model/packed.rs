//! Copies of weights by which few rows are multiplied faster than by the plain ones.

mod halved;
mod reordered;

use std::sync::Arc;

use tch::Tensor;

use halved::Halved;
#[cfg(test)]
pub(crate) use halved::has_avx2;
use reordered::Reordered;
#[cfg(test)]
pub(crate) use reordered::has_instructions;

/// A copy of a matrix, which does not see the matrix change.
#[derive(Debug)]
pub(super) enum Packed {
    /// In the order in which oneDNN reads it.
    Reordered(Reordered),
    /// With half the bytes.
    Halved(Arc<Halved>),
}

/// Whether copies may have fewer digits than the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Those of weights that 16 bits hold as they are.
    Exact,
    /// Any.
    Nearest,
}

/// What copies are for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// Answers that are learned from: nothing may be lost.
    Learning,
    /// Answers that nobody learns from, on so many threads.
    Answering { threads: usize, rounding: Rounding },
}

impl Packed {
    /// A copy of `weight` `[outputs, inputs]`; none if the plain one serves as well.
    pub(super) fn of(weight: &Tensor, purpose: Use) -> Option<Self> {
        if let Use::Answering { threads, rounding } = purpose
            && let Ok(Some(halved)) = Halved::of(weight, threads, rounding)
        {
            return Some(Packed::Halved(halved));
        }
        let reordered = Reordered::suits(weight).then(|| Reordered::of(weight).ok())?;
        reordered.map(Packed::Reordered)
    }

    /// Another handle on the same copy.
    pub(super) fn share(&self) -> Self {
        match self {
            Packed::Reordered(reordered) => Packed::Reordered(reordered.share()),
            Packed::Halved(halved) => Packed::Halved(halved.clone()),
        }
    }

    /// Whether both are handles on one halved copy.
    #[cfg(test)]
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Packed::Halved(one), Packed::Halved(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// `[rows, inputs]` to `[rows, outputs]`; none if the plain matrix serves these rows better.
    pub(super) fn product(&self, states: &Tensor) -> Option<Tensor> {
        match self {
            Packed::Reordered(reordered) => reordered.product(states).ok(),
            Packed::Halved(halved) => halved.product(states).ok().flatten(),
        }
    }
}
