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
    /// Both, of weights that have no more bytes: halved for the few rows of a batch that has all
    /// threads to itself.
    Either { few: Arc<Halved>, many: Reordered },
}

/// Rows up to which all threads read 16 bits faster than oneDNN multiplies by them on one: one
/// row 1.3 times as fast, 16 at 0.7 of its speed (AMD Zen 4).
const FEW: i64 = 8;

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
        let few = match purpose {
            Use::Answering { threads, rounding } => {
                Halved::of(weight, threads, rounding).ok().flatten()
            }
            Use::Learning => None,
        };
        let many = Reordered::suits(weight).then(|| Reordered::of(weight).ok()).flatten();
        match (few, many) {
            (Some(few), Some(many)) => Some(Packed::Either { few, many }),
            (few, many) => few.map(Packed::Halved).or(many.map(Packed::Reordered)),
        }
    }

    /// Another handle on the same copy.
    pub(super) fn share(&self) -> Self {
        match self {
            Packed::Reordered(reordered) => Packed::Reordered(reordered.share()),
            Packed::Halved(halved) => Packed::Halved(halved.clone()),
            Packed::Either { few, many } => Packed::Either { few: few.clone(), many: many.share() },
        }
    }

    /// Whether both are handles on one halved copy.
    #[cfg(test)]
    pub(super) fn is(&self, other: &Self) -> bool {
        let halved = |packed: &Self| match packed {
            Packed::Reordered(_) => None,
            Packed::Halved(few) | Packed::Either { few, .. } => Some(few.clone()),
        };
        halved(self).zip(halved(other)).is_some_and(|(one, other)| Arc::ptr_eq(&one, &other))
    }

    /// `[rows, inputs]` to `[rows, outputs]`; none if the plain matrix serves these rows better.
    pub(super) fn product(&self, states: &Tensor) -> Option<Tensor> {
        match self {
            Packed::Reordered(reordered) => reordered.product(states).ok(),
            Packed::Halved(halved) => halved.product(states).ok().flatten(),
            Packed::Either { few, many } => {
                let is_alone = rayon::current_thread_index().is_some();
                let found = match is_alone && states.size()[0] <= FEW {
                    true => few.product(states).ok().flatten(),
                    false => None,
                };
                found.or_else(|| many.product(states).ok())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_all_threads_reads_the_weights_themselves_and_others_what_was_reordered() {
        let wave = |shape: [i64; 2]| {
            let count = shape[0] * shape[1];
            let wave = (Tensor::arange(count, tch::kind::FLOAT_CPU) * 0.37).sin().view(shape);
            wave.to_kind(tch::Kind::BFloat16)
        };
        let weight = wave([700, 321]);
        let purpose = Use::Answering { threads: 2, rounding: Rounding::Exact };
        let Some(Packed::Either { few, .. }) = Packed::of(&weight, purpose) else {
            assert!(!has_avx2() || !has_instructions());
            return;
        };
        // The same numbers would not tell which of both was read.
        let many = Reordered::of(&-&weight).unwrap();
        for (rows, is_few) in [(1, true), (FEW, true), (FEW + 1, false)] {
            let states = wave([rows, 321]);
            let read = few.product(&states).unwrap().unwrap();
            let reordered = many.product(&states).unwrap();
            assert_ne!(read, reordered);
            let either = Packed::Either { few: few.clone(), many: many.share() };
            assert_eq!(either.product(&states).unwrap(), reordered);
            let alone = rayon::scope(move |_| either.product(&states).unwrap());
            assert_eq!(alone, if is_few { read } else { reordered });
        }
        assert!(matches!(Packed::of(&weight, Use::Learning), Some(Packed::Reordered(_))));
    }
}
