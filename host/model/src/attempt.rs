//! Work in which libtorch may fail.

use tch::TchError;
use troupe_core::caught::caught;

/// With this `tch` panics in an operation that returns no result.
const PANIC: &str = "called `Result::unwrap()` on an `Err` value: Torch(\"";

/// The result of work with tensors. Most operations of `tch` panic where libtorch fails, of which
/// an error is made here; other panics go on.
///
/// # Errors
/// If the work or libtorch fails.
pub fn attempt<R, E: From<TchError>>(work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    caught(work).unwrap_or_else(|said| match said.strip_prefix(PANIC) {
        // Lines of the message are escaped; all but the first are a back trace.
        Some(said) => {
            let line = said.split("\\n").next().unwrap_or_default();
            Err(TchError::Torch(line.to_owned()).into())
        }
        None => panic!("{said}"),
    })
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::*;
    use crate::PolicyError;

    #[test]
    fn what_libtorch_cannot_do_is_an_error() {
        let product = || -> Result<Tensor, PolicyError> {
            let ones = Tensor::ones([2, 3], (Kind::Float, tch::Device::Cpu));
            Ok(ones.matmul(&ones))
        };
        let said = attempt(product).unwrap_err().to_string();
        assert!(said.starts_with("libtorch: ") && said.contains("2x3"), "{said}");
        assert!(!said.contains("frame") && !said.contains('\n'), "{said}");
        assert_eq!(attempt(|| Ok::<_, PolicyError>(5)).unwrap(), 5);
    }

    #[test]
    #[should_panic(expected = "of ours")]
    fn a_mistake_of_ours_is_no_error_of_libtorchs() {
        let _ = attempt(|| -> Result<(), PolicyError> { panic!("of ours") });
    }
}
