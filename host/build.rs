//! Lets the binaries find libtorch at run time without `LD_LIBRARY_PATH`: where
//! `cargo xtask install` puts it, beside the workspace they were built in, and
//! where they were linked. And compiles what of libtorch `tch` does not hand out.

use std::path::Path;

const SOURCES: [&str; 3] = [
    "src/trainer/fused_adamw.cpp",
    "src/policy/model/packed.cpp",
    "src/policy/model/recording.cpp",
];
const SHARED: &str = "src/guarded.h";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for source in SOURCES.iter().chain([&SHARED]) {
        println!("cargo:rerun-if-changed={source}");
    }
    let Ok(linked) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    let beside = "$ORIGIN/torch/lib:$ORIGIN/../../.deps/torch/lib:$ORIGIN/../../../.deps/torch/lib";
    println!("cargo:rustc-link-arg=-Wl,-rpath,{beside}:{linked}");
    println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol=mkl_serv_intel_cpu_true");
    let include = Path::new(&linked).with_file_name("include");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(false)
        .include("src")
        .include(include.join("torch/csrc/api/include"))
        .include(&include)
        .files(SOURCES)
        .compile("troupe_libtorch");
}
