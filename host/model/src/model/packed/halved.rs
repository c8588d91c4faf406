//! Weights that are read as 16 bits each.
//!
//! To answer with few rows is to wait for weights: half the bytes take half the time, and two
//! cores read them faster than one. States and sums stay in 32 bits. What a checkpoint kept in
//! bfloat16 is read as it is; other weights lose what 16 bits do not hold.

mod in_place;
mod kernel;

#[cfg(test)]
pub(crate) use kernel::is_possible as has_avx2;

use std::sync::Arc;

use super::Rounding;
use in_place::InPlace;
use tch::{Device, Kind, TchError, Tensor};

/// Rows that this is for. Products of hundreds are libtorch's, which arranges states for the cache;
/// where it overtakes was not measured.
const ROWS: usize = 64;
/// Weights that are rounded at a time.
const PART: i64 = 1 << 18;
/// The exponent of IEEE's halves that have none.
const INFINITE: i16 = 0x7c00;
/// Weights for which a second thread is not worth being asked.
const PIECE: usize = 1 << 16;

/// A matrix `[outputs, inputs]`, copied unless it lies there so.
#[derive(Debug)]
pub(in super::super) struct Halved {
    stored: Halves,
    inputs: usize,
    /// Threads that a product is split over.
    threads: usize,
}

/// The numbers, row by row, as their bits.
#[derive(Debug)]
enum Halves {
    /// Bfloat16: seven bits after the point, and the range of 32 bits.
    Brain(Vec<u16>),
    /// The same, of a matrix that has no more bits.
    InPlace(InPlace),
    /// IEEE's halves: ten bits after the point.
    Half(Vec<u16>),
}

impl Halved {
    /// A copy of `weight` `[outputs, inputs]`; none if the processor cannot multiply by it, or
    /// 16 bits do not hold it.
    pub(in super::super) fn of(
        weight: &Tensor,
        threads: usize,
        rounding: Rounding,
    ) -> Result<Option<Arc<Self>>, TchError> {
        let suits = weight.dim() == 2
            && weight.device() == Device::Cpu
            && weight.numel() > 0
            && matches!(weight.kind(), Kind::Float | Kind::BFloat16);
        if !suits || !kernel::is_possible() {
            return Ok(None);
        }
        let inputs = weight.size()[1] as usize;
        let stored = Halves::of(weight, rounding)?;
        Ok(stored.map(|stored| Arc::new(Halved { stored, inputs, threads })))
    }

    /// `[rows, inputs]` to `[rows, outputs]`; none for more rows than this is for.
    pub(in super::super) fn product(&self, states: &Tensor) -> Result<Option<Tensor>, TchError> {
        let &[rows, inputs] = states.size().as_slice() else { return Ok(None) };
        if !(1..=ROWS).contains(&(rows as usize)) || inputs as usize != self.inputs {
            return Ok(None);
        }
        let flat = states.f_to_kind(Kind::Float)?.f_contiguous()?;
        let mut numbers = vec![0.0_f32; flat.numel()];
        flat.f_copy_data(&mut numbers, flat.numel())?;
        let outputs = self.weights().len() / self.inputs;
        let mut sums = vec![0.0; outputs * rows as usize];
        // Who is none of the workers is one of several batches, which are a thread each.
        let threads = rayon::current_thread_index().map_or(1, |_| self.threads);
        self.fill(0, &numbers, &mut sums, threads);
        let by_output = Tensor::f_from_slice(&sums)?.f_view([outputs as i64, rows])?;
        by_output.f_tr()?.f_contiguous()?.f_to_kind(states.kind()).map(Some)
    }

    /// The sums of the outputs from `first` on: `[outputs, rows]`.
    fn fill(&self, first: usize, states: &[f32], sums: &mut [f32], threads: usize) {
        let rows = states.len() / self.inputs;
        let outputs = sums.len() / rows;
        if threads > 1 && outputs * self.inputs >= 2 * PIECE {
            // Who multiplies what changes no sum.
            let near = outputs * (threads / 2) / threads;
            let (left, right) = sums.split_at_mut(near * rows);
            rayon::join(
                || self.fill(first, states, left, threads / 2),
                || self.fill(first + near, states, right, threads - threads / 2),
            );
            return;
        }
        let weights = &self.weights()[first * self.inputs..][..outputs * self.inputs];
        match self.stored {
            Halves::Brain(_) | Halves::InPlace(_) => {
                kernel::multiply::<true>(weights, self.inputs, states, sums);
            }
            Halves::Half(_) => kernel::multiply::<false>(weights, self.inputs, states, sums),
        }
    }

    fn weights(&self) -> &[u16] {
        match &self.stored {
            Halves::Brain(weights) | Halves::Half(weights) => weights,
            Halves::InPlace(matrix) => matrix.numbers(),
        }
    }
}

impl Halves {
    /// As they are, or else rounded as little as possible.
    fn of(weight: &Tensor, rounding: Rounding) -> Result<Option<Self>, TchError> {
        if let Some(matrix) = InPlace::of(weight) {
            return Ok(Some(Halves::InPlace(matrix)));
        }
        let kept =
            |part: &Tensor| part.f_to_kind(Kind::BFloat16)?.f_to_kind(part.kind())?.f_equal(part);
        if let Some(bits) = bits(weight, Kind::BFloat16, |part, _| kept(part))? {
            return Ok(Some(Halves::Brain(bits)));
        }
        if rounding == Rounding::Exact {
            return Ok(None);
        }
        let is_finite = |bits: &i16| bits & INFINITE != INFINITE;
        let bits = bits(weight, Kind::Half, |_, bits| Ok(bits.iter().all(is_finite)))?;
        Ok(bits.map(Halves::Half))
    }
}

/// A matrix as numbers of 16 bits, row by row; none if a part of it is not `kept`. Part by part,
/// so that there is never a second copy of it.
fn bits(
    matrix: &Tensor,
    kind: Kind,
    kept: impl Fn(&Tensor, &[i16]) -> Result<bool, TchError>,
) -> Result<Option<Vec<u16>>, TchError> {
    let (outputs, inputs) = matrix.size2()?;
    let mut bits = Vec::with_capacity(matrix.numel());
    let rows = (PART / inputs.max(1)).max(1);
    for first in (0..outputs).step_by(rows as usize) {
        let part = matrix.f_narrow(0, first, rows.min(outputs - first))?;
        let halves = part.f_to_kind(kind)?.f_contiguous()?.f_view_dtype(Kind::Int16)?;
        let mut signed = vec![0_i16; halves.numel()];
        halves.f_copy_data(&mut signed, halves.numel())?;
        if !kept(&part, &signed)? {
            return Ok(None);
        }
        bits.extend(signed.into_iter().map(i16::cast_unsigned));
    }
    Ok(Some(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(shape: [i64; 2], step: f64) -> Tensor {
        let count = shape[0] * shape[1];
        (Tensor::arange(count, tch::kind::FLOAT_CPU) * step).sin().view(shape)
    }

    /// On all of its threads.
    fn product(halved: &Halved, states: &Tensor) -> Tensor {
        let states = states.shallow_clone();
        rayon::scope(move |_| halved.product(&states).unwrap().unwrap())
    }

    #[test]
    fn weights_of_16_bits_lose_nothing_and_others_as_much_as_10_bits_do() {
        if !kernel::is_possible() {
            return;
        }
        let exact = wave([500, 321], 0.37).to_kind(Kind::BFloat16).to_kind(Kind::Float);
        // As weights lie: after others.
        let brain = wave([510, 321], 0.37).to_kind(Kind::BFloat16).narrow(0, 10, 500);
        let cases = [(exact, 1e-6), (brain, 1e-6), (wave([500, 321], 0.37), 2.5e-4)];
        for (weight, bound) in cases {
            for (rows, threads) in [(1, 1), (1, 3), (2, 2), (3, 1), (5, 2), (64, 2)] {
                let halved = Halved::of(&weight, threads, Rounding::Nearest).unwrap().unwrap();
                let states = wave([rows, 321], 0.11);
                let found = product(&halved, &states);
                let weight = weight.to_kind(Kind::Float);
                let apart = (found - states.matmul(&weight.tr())).abs().max();
                let most = states.abs().matmul(&weight.abs().tr()).max();
                let apart = (apart / most).double_value(&[]);
                assert!(apart < bound, "{rows} rows: {apart}");
            }
        }
    }

    #[test]
    fn a_row_is_the_same_to_the_bit_whoever_shares_its_product_and_however_many_threads_there_are()
    {
        let Some(halved) = Halved::of(&wave([700, 400], 0.37), 1, Rounding::Nearest).unwrap()
        else {
            return;
        };
        let states = wave([8, 400], 0.11);
        let together = halved.product(&states).unwrap().unwrap();
        for threads in [1, 2, 5] {
            let halved =
                Halved::of(&wave([700, 400], 0.37), threads, Rounding::Nearest).unwrap().unwrap();
            for row in 0..8 {
                let one = states.narrow(0, row, 1);
                let alone = product(&halved, &one);
                assert_eq!(alone, together.narrow(0, row, 1), "{threads} threads, row {row}");
            }
        }
    }

    #[test]
    fn what_it_is_not_for_is_left_to_libtorch() {
        let Some(halved) = Halved::of(&wave([16, 40], 0.37), 1, Rounding::Nearest).unwrap() else {
            return;
        };
        assert!(halved.product(&wave([ROWS as i64 + 1, 40], 0.1)).unwrap().is_none());
        assert!(halved.product(&wave([1, 41], 0.1)).unwrap().is_none());
        assert!(halved.product(&Tensor::zeros([0, 40], tch::kind::FLOAT_CPU)).unwrap().is_none());
        let vast = wave([16, 40], 0.37) * 1e5;
        assert!(Halved::of(&vast, 1, Rounding::Nearest).unwrap().is_none());
        assert!(Halved::of(&vast.to_kind(Kind::BFloat16), 1, Rounding::Nearest).unwrap().is_some());
        let of = |weight: &Tensor| Halved::of(weight, 1, Rounding::Exact).unwrap();
        assert!(of(&wave([16, 40], 0.37)).is_none());
        assert!(of(&wave([16, 40], 0.37).to_kind(Kind::BFloat16).to_kind(Kind::Float)).is_some());
        assert!(Halved::of(&vast.to_kind(Kind::Int64), 1, Rounding::Nearest).unwrap().is_none());
    }
}
