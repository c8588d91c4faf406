//! Weights in and out of `safetensors` files.
//!
//! Neither way needs the model a second time: reading maps the files and
//! copies tensor by tensor into the model's buffer, writing hands the buffer
//! itself to the file, tensor by tensor.

mod load;
#[cfg(test)]
mod tests;
mod save;

use std::borrow::Cow;
use std::path::Path;

use safetensors::tensor::Dtype;
use tch::{Kind, Tensor};

use crate::error::PolicyError;

pub use load::load;
pub use load::read_tensors;
pub use save::write_tensors;
pub use save::{SHARD_BYTES, save};

/// A checkpoint in one file.
const SINGLE: &str = "model.safetensors";
/// Which file holds which tensor, if there are several.
const INDEX: &str = "model.safetensors.index.json";

/// The types of numbers that files may hold, here and there.
const TYPES: [(Dtype, Kind); 4] = [
    (Dtype::F32, Kind::Float),
    (Dtype::BF16, Kind::BFloat16),
    (Dtype::F16, Kind::Half),
    (Dtype::I64, Kind::Int64),
];

/// The bytes of a tensor in row-major order; its own memory where that is possible.
pub fn bytes(tensor: &Tensor) -> Result<Cow<'_, [u8]>, PolicyError> {
    let length = tensor.numel() * tensor.kind().elt_size_in_bytes();
    if tensor.device() == tch::Device::Cpu && tensor.is_contiguous() && length > 0 {
        #[expect(unsafe_code, reason = "the only way to the memory of a tensor")]
        // SAFETY: a contiguous tensor on the CPU is exactly these bytes, which
        // live as long as it does. Weights change only under an exclusive
        // borrow of the policy, so never while they are read.
        let bytes = unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<u8>(), length) };
        return Ok(Cow::Borrowed(bytes));
    }
    let tensor = tensor.f_to_device(tch::Device::Cpu)?.f_contiguous()?;
    let mut bytes = vec![0; length];
    tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
    Ok(Cow::Owned(bytes))
}

fn refuse(path: &Path, reason: String) -> PolicyError {
    PolicyError::Weights { path: path.to_owned(), reason }
}
