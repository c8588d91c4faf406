//! Which crates `cargo test` asks for examples in their docs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// What starts an example that is compiled, whichever comment it stands in.
const FENCES: [&str; 5] = ["```", "```rust", "```no_run", "```should_panic", "```compile_fail"];

/// The folders of crates with a library, each below one of these.
fn libraries() -> Vec<PathBuf> {
    let above = ["host", "plugin-sdk", "plugins/environments", "plugins/workflows", "tests"];
    let folders = above.iter().flat_map(|above| fs::read_dir(root().join(above)).unwrap());
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.push(root().join("plugin-sdk"));
    folders.retain(|folder| {
        folder.join("src/lib.rs").is_file() && folder.join("Cargo.toml").is_file()
    });
    folders
}

fn is_asked(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let asked = manifest.get("lib").and_then(|lib| lib.get("doctest"));
    asked.and_then(toml::Value::as_bool).unwrap_or(true)
}

fn has_examples(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return has_examples(&path);
        }
        let is_code = path.extension().is_some_and(|ending| ending == "rs");
        is_code && fs::read_to_string(&path).unwrap().lines().any(starts_example)
    })
}

fn starts_example(line: &str) -> bool {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    text.is_some_and(|text| FENCES.contains(&text.trim()))
}

#[test]
fn every_crate_whose_docs_have_examples_is_asked_for_them_and_no_other() {
    let libraries = libraries();
    assert!(libraries.len() > 40);
    for folder in libraries {
        let (asked, has) = (is_asked(&folder), has_examples(&folder.join("src")));
        assert_eq!(asked, has, "`doctest` in {}", folder.join("Cargo.toml").display());
    }
}
