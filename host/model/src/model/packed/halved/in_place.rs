//! A matrix in bfloat16, read where it lies.

use std::slice;

use tch::{Kind, Tensor};

/// A handle on it that threads share.
#[derive(Debug)]
pub(super) struct InPlace(Tensor);

#[expect(unsafe_code, reason = "threads read one tensor")]
// SAFETY: it is only read. Whoever changes weights has none of these, as with every other handle
// that threads have on them.
unsafe impl Send for InPlace {}
#[expect(unsafe_code, reason = "threads read one tensor")]
// SAFETY: as above.
unsafe impl Sync for InPlace {}

impl InPlace {
    /// None if the matrix is of another type, or its numbers do not lie one after the other.
    pub(super) fn of(matrix: &Tensor) -> Option<Self> {
        let lies_so = matrix.kind() == Kind::BFloat16 && matrix.is_contiguous();
        lies_so.then(|| InPlace(matrix.shallow_clone()))
    }

    /// The bits of its numbers, row by row.
    pub(super) fn numbers(&self) -> &[u16] {
        #[expect(unsafe_code, reason = "reads the tensor's memory")]
        // SAFETY: the handle keeps the memory of so many numbers of 16 bits, one after the other.
        unsafe {
            slice::from_raw_parts(self.0.data_ptr().cast(), self.0.numel())
        }
    }
}
