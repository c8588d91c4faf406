//! The device a policy lives on, and what libtorch must be told first.
//!
//! The program links only libtorch's CPU half. On a machine with a GPU the
//! CUDA half is opened at run time, and that must happen before the first
//! CUDA query: libtorch remembers that there was none.

use std::path::Path;
use std::sync::{LazyLock, Once};
use std::time::Instant;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use tch::Tensor;

use super::architecture::kind_of;
use crate::error::{PolicyError, first_line};
use troupe_core::config::{DeviceChoice, Dtype};
use troupe_core::rank::{Rank, processors};

/// libtorch makes its tensors by it, too. glibc's allocator took a fifth of a language model's step
/// to look for blocks that fit, and held twice the memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rows and columns of the matrices that types are compared by, and how often; the best counts.
const PRODUCT: i64 = 512;
const PRODUCTS: usize = 4;

/// A device that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(tch::Device);

impl Device {
    /// The CPU.
    pub fn cpu() -> Self {
        settle_threads();
        Device(tch::Device::Cpu)
    }

    /// Make sure that a device works and take it.
    ///
    /// # Errors
    /// If a GPU was asked for and libtorch cannot use it.
    pub fn choose(choice: DeviceChoice) -> Result<Self, PolicyError> {
        settle_threads();
        match choice {
            DeviceChoice::Cpu => Ok(Device::cpu()),
            DeviceChoice::Cuda(index) => cuda(index),
            DeviceChoice::Gpu => cuda(place()),
            DeviceChoice::Automatic if Path::new("/dev/nvidia0").exists() => match place() {
                0 => Ok(cuda(0).unwrap_or_else(|_| Device::cpu())),
                place => cuda(place),
            },
            DeviceChoice::Automatic => Ok(Device::cpu()),
        }
    }

    /// Whether it is a GPU.
    pub fn is_gpu(self) -> bool {
        self.0.is_cuda()
    }

    /// The type of weights that it computes fastest with. On two cores with AMX, products of
    /// bfloat16 took a sixth of the time of float32, on two with AVX-512's a half; on cores
    /// without, they took longer.
    pub fn suited_dtype(self) -> Dtype {
        static MULTIPLIES_BFLOAT16: LazyLock<bool> = LazyLock::new(|| {
            let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            let mut flags = processors.split_whitespace();
            flags.any(|flag| ["amx_bf16", "avx512_bf16"].contains(&flag))
        });
        if self.is_gpu() || *MULTIPLIES_BFLOAT16 { Dtype::Bfloat16 } else { Dtype::Float32 }
    }

    /// How many times as long a large product of this type takes as one of the suited type, as
    /// measured now.
    pub fn slowdown(self, dtype: Dtype) -> f64 {
        let seconds = |dtype: Dtype| {
            let factor = Tensor::ones([PRODUCT, PRODUCT], (kind_of(dtype), self.0));
            let once = || {
                let started = Instant::now();
                // A GPU is done when a number can be read.
                let _ = factor.matmul(&factor).double_value(&[0, 0]);
                started.elapsed().as_secs_f64()
            };
            (0..PRODUCTS).map(|_| once()).fold(f64::INFINITY, f64::min)
        };
        seconds(dtype) / seconds(self.suited_dtype())
    }

    /// The device of a tensor that is there already.
    pub(super) fn of(device: tch::Device) -> Self {
        Device(device)
    }

    /// As `tch` has it.
    pub fn torch(self) -> tch::Device {
        self.0
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            tch::Device::Cuda(index) => write!(to, "cuda:{index}"),
            _ => to.write_str("cpu"),
        }
    }
}

/// One thread per libtorch operation: the models are small or on a GPU, and
/// OpenMP's waiting threads cost more than they bring. Batches are split over
/// threads of our own instead, which keeps results independent of their number.
fn settle_threads() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Named here so that the program has it.
        #[cfg(target_arch = "x86_64")]
        std::hint::black_box(super::mkl::mkl_serv_intel_cpu_true as extern "C" fn() -> _);
        tch::set_num_threads(1);
        tch::set_num_interop_threads(1);
    });
}

/// Threads a new policy works with.
pub fn default_threads(device: Device) -> usize {
    if device.is_gpu() {
        return 1;
    }
    processors()
}

/// The number of this process among those of a run on this machine: each has its own card.
fn place() -> usize {
    Rank::from_environment().ok().flatten().map_or(0, |rank| rank.local)
}

fn cuda(index: usize) -> Result<Device, PolicyError> {
    let refuse = |reason: String| PolicyError::Device { device: format!("cuda:{index}"), reason };
    cuda_half().map_err(refuse)?;
    let device = tch::Device::Cuda(index);
    // Touching it is the only proof that driver, libraries and card fit together.
    let _ = tch::Tensor::f_zeros([1], (tch::Kind::Float, device))
        .map_err(|error| refuse(first_line(&error)))?;
    Ok(Device(device))
}

/// libtorch's CUDA half, opened once; its path is found as that of the CPU half.
pub(super) fn cuda_half() -> Result<&'static Library, String> {
    static OPENED: LazyLock<Result<Library, String>> = LazyLock::new(|| {
        #[expect(unsafe_code, reason = "opening a library runs its initializers")]
        // SAFETY: libtorch_cuda.so belongs to the libtorch we are linked
        // to; its initializers only register kernels. It is never closed.
        let library = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
        library.map_err(|error| {
            format!(
                "libtorch's CUDA half cannot be opened ({}); install the full libtorch, or set TROUPE_DEVICE=cpu",
                root_cause(&error)
            )
        })
    });
    OPENED.as_ref().map_err(String::clone)
}

fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_compared_with_the_one_that_suits_the_device() {
        let device = Device::cpu();
        let other = match device.suited_dtype() {
            Dtype::Bfloat16 => Dtype::Float32,
            Dtype::Float32 => Dtype::Bfloat16,
        };
        for dtype in [device.suited_dtype(), other] {
            let slowdown = device.slowdown(dtype);
            assert!(slowdown.is_finite() && slowdown > 0.0, "{dtype:?}: {slowdown}");
        }
    }

    #[test]
    fn a_missing_gpu_is_an_error_when_asked_for_and_the_cpu_otherwise() {
        assert!(Device::choose(DeviceChoice::Cuda(99)).is_err());
        let there = Path::new("/dev/nvidia0").exists();
        assert!(there || !Device::choose(DeviceChoice::Automatic).unwrap().is_gpu());
    }
}
