//! Weights in the order in which oneDNN multiplies by them; its C++ half is `reordered.cpp`.
//!
//! oneDNN multiplies bfloat16 on CPUs. A plain matrix it reorders for every product, which for
//! the few rows of a decoding step takes as long as the product itself: with packed weights one
//! row took half of the time, 16 rows two thirds (AMD Zen 5).

use std::ffi::c_char;

use tch::{Kind, TchError, Tensor};
use torch_sys::C_tensor;

use super::super::message::made;

/// Rows for which weights are packed. For others they serve as well.
const ROWS: i64 = 16;

#[expect(unsafe_code, reason = "declares the C++ half")]
// SAFETY: declared as in reordered.cpp; `C_tensor` is libtorch's `at::Tensor`.
unsafe extern "C" {
    fn troupe_pack(
        weight: *const C_tensor,
        rows: i64,
        message: *mut c_char,
        capacity: usize,
    ) -> *mut C_tensor;
    fn troupe_packed_product(
        states: *const C_tensor,
        packed: *const C_tensor,
        message: *mut c_char,
        capacity: usize,
    ) -> *mut C_tensor;
}

/// A matrix as oneDNN reads it.
#[derive(Debug)]
pub(in super::super) struct Reordered(Tensor);

impl Reordered {
    /// A copy of `weight` `[outputs, inputs]`.
    pub(super) fn of(weight: &Tensor) -> Result<Self, TchError> {
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: the tensor lives as long as its borrow; the C++ half keeps no pointer, writes
        // at most `capacity` bytes with a zero at their end and throws nothing.
        received(|message, capacity| unsafe {
            troupe_pack(weight.as_ptr(), ROWS, message, capacity)
        })
        .map(Reordered)
    }

    /// Whether matrices like this one are packed at all.
    pub(super) fn suits(weight: &Tensor) -> bool {
        weight.kind() == Kind::BFloat16 && weight.device() == tch::Device::Cpu
    }

    /// Another handle on the same copy.
    pub(super) fn share(&self) -> Self {
        Reordered(self.0.shallow_clone())
    }

    /// `[rows, inputs]` to `[rows, outputs]`.
    pub(super) fn product(&self, states: &Tensor) -> Result<Tensor, TchError> {
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: as above; the C++ half checks shapes and types.
        received(|message, capacity| unsafe {
            troupe_packed_product(states.as_ptr(), self.0.as_ptr(), message, capacity)
        })
    }
}

/// The tensor that the C++ half returns, or its message.
fn received(call: impl FnOnce(*mut c_char, usize) -> *mut C_tensor) -> Result<Tensor, TchError> {
    let tensor = made(call)?;
    #[expect(unsafe_code, reason = "takes over what the C++ half made")]
    // SAFETY: made by `new` for us alone.
    Ok(unsafe { Tensor::from_ptr(tensor.as_ptr()) })
}

/// Whether the processor has the instructions with which oneDNN multiplies bfloat16 anywhere;
/// some do without them.
#[cfg(test)]
pub(crate) fn has_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512dq");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(shape: [i64; 2], step: f64) -> Tensor {
        let count = shape[0] * shape[1];
        let wave = (Tensor::arange(count, tch::kind::FLOAT_CPU) * step).sin();
        wave.view(shape).to_kind(Kind::BFloat16)
    }

    /// The packed matrix; none, and oneDNN's word for it, where the processor cannot.
    fn packed(weight: &Tensor) -> Option<Reordered> {
        match Reordered::of(weight) {
            Err(error) if !has_instructions() => {
                assert!(error.to_string().contains("needs the cpu support"), "{error}");
                None
            }
            packed => Some(packed.unwrap()),
        }
    }

    #[test]
    fn a_product_by_packed_weights_is_that_by_plain_ones_for_any_number_of_rows() {
        let weight = wave([96, 64], 0.37);
        let Some(packed) = packed(&weight) else { return };
        for rows in [1, 2, 16, 17, 300] {
            let states = wave([rows, 64], 0.11);
            let found = packed.share().product(&states).unwrap();
            let exact = states.to_kind(Kind::Float).matmul(&weight.to_kind(Kind::Float).tr());
            let apart = (found.to_kind(Kind::Float) - &exact).abs().max().double_value(&[]);
            assert!(apart <= exact.abs().max().double_value(&[]) / 128.0, "{rows}: {apart}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_no_abort() {
        assert!(Reordered::of(&Tensor::zeros([2, 3, 4], (Kind::Int64, tch::Device::Cpu))).is_err());
        let Some(packed) = packed(&wave([96, 64], 0.37)) else { return };
        assert!(packed.product(&wave([3, 65], 0.1)).is_err());
    }
}
