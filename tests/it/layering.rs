//! The shape of the host's source: what ARCHITECTURE.md promises.

use std::fs;
use std::path::{Path, PathBuf};

/// The host's crates, the lower one first.
fn sources() -> [PathBuf; 2] {
    ["runtime/src", "src"].map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

/// The modules of a crate in the order of its lib.rs.
fn modules_of(source: &Path) -> Vec<String> {
    let text = fs::read_to_string(source.join("lib.rs")).unwrap();
    let name = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(name).collect()
}

/// All modules with the crate each lies in, those of the lower crate first.
fn modules() -> Vec<(PathBuf, String)> {
    let of = |source: PathBuf| {
        modules_of(&source).into_iter().map(move |module| (source.clone(), module))
    };
    sources().into_iter().flat_map(of).collect()
}

/// All files of a module with their text, tests left out.
fn files_of(source: &Path, module: &str) -> Vec<(PathBuf, String)> {
    let mut pending = vec![source.join(module)];
    let mut files = vec![source.join(format!("{module}.rs"))];
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
    for (rank, (source, module)) in modules.iter().enumerate() {
        for (path, text) in files_of(source, module) {
            assert!(!text.contains("use crate::{"), "{}: name the module first", path.display());
            for used in used_modules(&text) {
                assert!(
                    modules[..=rank].iter().any(|(_, above)| *above == used),
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
    for (source, module) in modules() {
        for (path, text) in files_of(&source, &module) {
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
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let map = fs::read_to_string(map).unwrap();
    for (_, module) in modules() {
        assert!(
            map.contains(&format!("`{module}`")) || map.contains(&format!("`{module}/`")),
            "ARCHITECTURE.md does not mention `{module}`"
        );
    }
}
