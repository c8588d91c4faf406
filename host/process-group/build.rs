//! Compiles what of libtorch's c10d `tch` does not hand out.

use std::path::Path;

const SOURCES: [&str; 2] = ["c10d/group.cpp", "c10d/gloo"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    let Ok(linked) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    // For the tests of this crate; programs say for themselves where libtorch is.
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../../.deps/torch/lib:{linked}");
    let include = Path::new(&linked).with_file_name("include");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(false)
        .define("USE_DISTRIBUTED", None)
        .define("USE_C10D_GLOO", None)
        // libtorch comes without Gloo's headers: `c10d/gloo` declares what its own include of them.
        .include("c10d")
        .include(include.join("torch/csrc/api/include"))
        .include(&include)
        .file("c10d/group.cpp")
        .compile("troupe_process_group");
    println!("cargo:rustc-link-search=native={linked}");
    ["torch_cpu", "c10"].iter().for_each(|library| println!("cargo:rustc-link-lib={library}"));
}
