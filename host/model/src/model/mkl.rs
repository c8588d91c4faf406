//! What MKL, which multiplies float32 for libtorch, takes the processor for.
//!
//! On processors that are not Intel's it uses no AVX-512. Where there is AVX-512, that doubles the
//! time of a product (113 against 251 GFLOP/s on one core of an AMD Zen 5), so it is told there
//! that the processor is one of Intel's; what instructions there are, it asks the processor.

use std::ffi::c_int;

/// Stands in the place of MKL's own function of this name: what the program defines comes before
/// what its libraries define. `build.rs` has the linker hand it to them.
#[expect(unsafe_code, reason = "its name is MKL's")]
// SAFETY: nothing else in the program has this name; MKL's function takes nothing and returns
// an int, too.
#[unsafe(no_mangle)]
pub(super) extern "C" fn mkl_serv_intel_cpu_true() -> c_int {
    c_int::from(is_intel() || std::arch::is_x86_feature_detected!("avx512f"))
}

fn is_intel() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
}

#[cfg(test)]
mod tests {
    use libloading::os::unix::Library;

    use super::*;

    #[test]
    fn libraries_find_this_function_and_not_that_of_mkl() {
        let program = Library::this();
        #[expect(unsafe_code, reason = "looks a function up as libraries do")]
        // SAFETY: every library that defines the function gives it this type.
        let found = unsafe {
            program.get::<extern "C" fn() -> c_int>(b"mkl_serv_intel_cpu_true\0").unwrap()
        };
        assert_eq!(*found as usize, mkl_serv_intel_cpu_true as *const () as usize);
    }
}
