//! For build scripts of crates that link libtorch: where it is looked for when a
//! program or a test starts, and how C++ that `tch` does not hand out is compiled.
//!
//! Each crate names `torch-sys` among its dependencies, whose `links` metadata
//! say where libtorch lay when it was linked.

use std::env;
use std::path::{Path, PathBuf};

/// What keeps exceptions of C++ on their side: `guarded.h`.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// Lets what is linked find libtorch without `LD_LIBRARY_PATH`: where `cargo xtask install` puts
/// it, in Python's package of it beside ours, beside the workspace, and where it was linked.
/// Nothing to do, and nothing comes back, where the crate is only documented or checked without
/// libtorch.
#[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
pub fn find_at_run_time() -> Option<PathBuf> {
    println!("cargo:rerun-if-changed=build.rs");
    let linked = PathBuf::from(env::var_os("DEP_TCH_LIBTORCH_LIB")?);
    let beside = "$ORIGIN/torch/lib:$ORIGIN/../torch/lib:$ORIGIN/../../.deps/torch/lib:\
                  $ORIGIN/../../../.deps/torch/lib";
    println!("cargo:rustc-link-arg=-Wl,-rpath,{beside}:{}", linked.display());
    println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol=mkl_serv_intel_cpu_true");
    Some(linked)
}

/// A library of C++ sources, ready to be compiled with libtorch's headers.
#[expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
pub fn sources(linked: &Path, files: &[&str]) -> cc::Build {
    for watched in files.iter().chain([&SHARED]) {
        println!("cargo:rerun-if-changed={watched}");
    }
    let include = linked.with_file_name("include");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").warnings(false).include(SHARED);
    build.include(include.join("torch/csrc/api/include")).include(&include).files(files);
    build
}
