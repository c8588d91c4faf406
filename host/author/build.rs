//! Puts into the crate what `host plugin new` writes: the SDKs, the templates and
//! the contract.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What goes into a user's project, seen from the workspace's root.
const EMBEDDED: [&str; 7] = [
    "Cargo.toml",
    "plugin-sdk/Cargo.toml",
    "plugin-sdk/src",
    "plugin-sdk/templates",
    "plugin-sdk/python",
    "plugin-sdk/javascript",
    "plugin-sdk/c",
];
const CONTRACT: &str = "wit";
/// What tools leave in these folders, and what is only for those who work on the SDKs.
const LEFT_OUT: [&str; 6] = ["__pycache__", "node_modules", "target", "tests", "test", "dist"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let mut files = Vec::new();
    for part in EMBEDDED.iter().chain([&CONTRACT]) {
        println!("cargo:rerun-if-changed={}", root.join(part).display());
        gather(&root.join(part), &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root)?;
        writeln!(list, "    ({name:?}, include_bytes!({file:?})),")?;
    }
    fs::write(out.join("embedded.rs"), list + "]\n")?;
    Ok(())
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') || LEFT_OUT.contains(&&*name) {
        return Ok(());
    }
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            gather(&entry?.path(), files)?;
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
    Ok(())
}
