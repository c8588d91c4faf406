//! Compiles what of libtorch's c10d `tch` does not hand out.

const SOURCES: [&str; 2] = ["c10d/group.cpp", "c10d/gloo"];

fn main() {
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    let Some(linked) = troupe_libtorch::find_at_run_time() else { return };
    troupe_libtorch::sources(&linked, &["c10d/group.cpp"])
        .define("USE_DISTRIBUTED", None)
        .define("USE_C10D_GLOO", None)
        // libtorch comes without Gloo's headers: `c10d/gloo` declares what its own include of them.
        .include("c10d")
        .compile("troupe_process_group");
    println!("cargo:rustc-link-search=native={}", linked.display());
    ["torch_cpu", "c10"].iter().for_each(|library| println!("cargo:rustc-link-lib={library}"));
}
