//! The shape of the host's source: what ARCHITECTURE.md promises.

use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules in the order of lib.rs.
fn modules() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    let name = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(name).collect()
}

/// All files of a module with their text, tests left out.
fn files_of(module: &str) -> Vec<(PathBuf, String)> {
    let mut pending = vec![source().join(module)];
    let mut files = vec![source().join(format!("{module}.rs"))];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() { pending.push(path) } else { files.push(path) }
        }
    }
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        (path, code)
    };
    files.into_iter().map(read).collect()
}

/// The modules named by `crate::…`, also in `use crate::{a, b}`.
fn used_modules(text: &str) -> Vec<String> {
    let word = |text: &str| {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1).map(word).collect::<Vec<_>>())
        .collect()
}

#[test]
fn a_module_uses_only_modules_above_it_in_lib_rs() {
    let modules = modules();
    assert!(modules.len() > 10, "lib.rs lists {modules:?}");
    for (rank, module) in modules.iter().enumerate() {
        for (path, text) in files_of(module) {
            assert!(!text.contains("use crate::{"), "{}: name the module first", path.display());
            for used in used_modules(&text) {
                let used_rank = modules.iter().position(|name| *name == used);
                assert!(
                    used_rank.is_some_and(|used_rank| used_rank <= rank),
                    "{} is part of `{module}` and uses `{used}`, which is not above it in lib.rs",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn only_plugin_and_sandbox_name_wasmtime_and_only_policy_and_trainer_name_tch() {
    let allowed = [("wasmtime", &["plugin", "sandbox"][..]), ("tch", &["policy", "trainer"][..])];
    for module in modules() {
        for (path, text) in files_of(&module) {
            for (library, modules) in allowed {
                let names = text.contains(&format!("{library}::"));
                assert!(
                    !names || modules.contains(&module.as_str()),
                    "{} names {library}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn architecture_md_maps_every_module() {
    let map = fs::read_to_string(source().join("../../ARCHITECTURE.md")).unwrap();
    for module in modules() {
        assert!(
            map.contains(&format!("`{module}`")) || map.contains(&format!("`{module}/`")),
            "ARCHITECTURE.md does not mention `{module}`"
        );
    }
}
