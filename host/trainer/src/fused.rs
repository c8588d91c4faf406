//! Libtorch's fused AdamW from Rust; its C++ half is `fused_adamw.cpp`.

use std::ffi::{c_char, c_int};

use tch::{TchError, Tensor};
use torch_sys::C_tensor;

use troupe_model::done;

/// Equal parts of the weights and of what belongs to them, all in 32 bits and
/// on one device.
pub(super) struct Part {
    pub(super) weights: Tensor,
    pub(super) gradient: Tensor,
    pub(super) first: Tensor,
    pub(super) second: Tensor,
}

/// Laid out as in fused_adamw.cpp.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct AdamWSettings {
    /// Steps made, this one included.
    pub(super) steps: f64,
    pub(super) learning_rate: f64,
    pub(super) beta1: f64,
    pub(super) beta2: f64,
    pub(super) weight_decay: f64,
    pub(super) epsilon: f64,
    /// Gradients are divided by it; they are written back so.
    pub(super) gradient_scale: f64,
}

#[expect(unsafe_code, reason = "declares the C++ half")]
// SAFETY: declared as in fused_adamw.cpp; `C_tensor` is libtorch's `at::Tensor`.
unsafe extern "C" {
    fn troupe_fused_adamw(
        weights: *const *mut C_tensor,
        gradients: *const *mut C_tensor,
        first: *const *mut C_tensor,
        second: *const *mut C_tensor,
        count: usize,
        settings: *const AdamWSettings,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
}

/// One step of AdamW (arXiv 1711.05101, algorithm 2) in place.
pub(super) fn step(parts: &mut [Part], settings: &AdamWSettings) -> Result<(), TchError> {
    let mut list = |of: fn(&mut Part) -> &mut Tensor| -> Vec<*mut C_tensor> {
        parts.iter_mut().map(|part| of(part).as_mut_ptr()).collect()
    };
    let (weights, gradients) = (list(|part| &mut part.weights), list(|part| &mut part.gradient));
    let (first, second) = (list(|part| &mut part.first), list(|part| &mut part.second));
    #[expect(unsafe_code, reason = "calls the C++ half")]
    // SAFETY: all four lists hold `parts.len()` pointers to tensors that live
    // as long as the borrow of `parts`; the C++ half checks their shapes,
    // types and devices, writes at most `capacity` bytes with a zero at their
    // end, keeps no pointer and throws nothing.
    done(|message, capacity| unsafe {
        troupe_fused_adamw(
            weights.as_ptr(),
            gradients.as_ptr(),
            first.as_ptr(),
            second.as_ptr(),
            parts.len(),
            settings,
            message,
            capacity,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_that_do_not_belong_together_are_an_error() {
        let zeros = |length| Tensor::zeros([length], (tch::Kind::Float, tch::Device::Cpu));
        let part = Part {
            weights: zeros(3),
            gradient: Tensor::zeros([3], (tch::Kind::Int64, tch::Device::Cpu)),
            first: zeros(3),
            second: zeros(2),
        };
        let settings = AdamWSettings {
            steps: 1.0,
            learning_rate: 0.1,
            beta1: 0.9,
            beta2: 0.9,
            weight_decay: 0.0,
            epsilon: 1e-8,
            gradient_scale: 1.0,
        };
        assert!(step(&mut [part], &settings).is_err());
        assert!(step(&mut [], &settings).is_ok());
    }
}
