//! Lets the binaries find libtorch at run time without `LD_LIBRARY_PATH`:
//! beside the workspace they were built in, and where they were linked.

fn main() {
    let Ok(linked) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    let beside = "$ORIGIN/../../.deps/torch/lib:$ORIGIN/../../../.deps/torch/lib";
    println!("cargo:rustc-link-arg=-Wl,-rpath,{beside}:{linked}");
}
