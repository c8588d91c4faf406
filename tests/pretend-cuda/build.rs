//! Builds the pretended card as a library of the name of libtorch's CUDA half, and beside it what
//! its own tests do wrong on purpose.

use std::env;
use std::path::{Path, PathBuf};

const PARTS: [&str; 7] = [
    "cpp/memory.cpp",
    "cpp/streams.cpp",
    "cpp/graphs.cpp",
    "cpp/tensors.cpp",
    "cpp/kernels.cpp",
    "cpp/fused.cpp",
    "cpp/cost.cpp",
];

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    let Some(linked) = troupe_libtorch::find_at_run_time() else { return };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    build(&linked, &out.join("libtorch_cuda.so"));
    troupe_libtorch::sources(&linked, &["cpp/breaks.cpp"]).compile("pretend_cuda_breaks");
}

fn build(linked: &Path, library: &Path) {
    let mut sources = troupe_libtorch::sources(linked, &PARTS);
    // What it works with is optimized: libtorch.
    let sources = sources.pic(true).opt_level(1);
    let status = (sources.get_compiler().to_command())
        .args(["-shared", "-Wl,-soname,libtorch_cuda.so", "-o"])
        .arg(library)
        .args(sources.compile_intermediates())
        .arg("-L")
        .arg(linked)
        .args(["-ltorch_cpu", "-lc10"])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the pretended card cannot be linked");
}
