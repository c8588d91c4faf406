//! Whether weights are others than they were.

use tch::{Kind, Tensor};

use crate::error::TrainerError;
use troupe_model::Policy;

/// The sum of the bits of all trained weights: another number if one of them changed, and all but
/// surely if several did.
///
/// # Errors
/// If libtorch fails.
pub fn fingerprint(policy: &Policy) -> Result<i64, TrainerError> {
    sum_of_bits(policy.trainable().buffer())
}

/// Two numbers of 16 bits are taken as one of 32: a buffer has an even number of them. What is
/// summed is copied to 64 bits first, so it is a stretch at a time.
pub(super) fn sum_of_bits(buffer: &Tensor) -> Result<i64, TrainerError> {
    const STRETCH: i64 = 1 << 20;
    let stretches = buffer.f_view_dtype(Kind::Int)?.f_split(STRETCH, 0)?;
    let sums = stretches.iter().map(|stretch| stretch.f_sum(Kind::Int64)?.f_int64_value(&[]));
    Ok(sums.sum::<Result<i64, _>>()?)
}
