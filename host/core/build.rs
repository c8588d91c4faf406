//! Tells the crate where cargo puts what it builds, so that a program that was
//! copied elsewhere still finds the parts it was built with.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // <target>/<profile>/build/<crate>/out
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let built = out.ancestors().nth(3).unwrap_or(&out).display();
    println!("cargo:rustc-env=TROUPE_BUILT={built}");
}
