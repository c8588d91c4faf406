//! The shape of the house: what ARCHITECTURE.md promises of crates and modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// What a crate's Cargo.toml says that it is built with, tests left out.
struct Manifest {
    ours: BTreeSet<String>,
    others: BTreeSet<String>,
}

/// The crates below `host/`, by their folder.
fn crates() -> BTreeMap<String, Manifest> {
    let folders = fs::read_dir(root().join("host")).unwrap();
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let named = table.get("dependencies").and_then(toml::Value::as_table);
        let names: Vec<&String> = named.into_iter().flat_map(|named| named.keys()).collect();
        let ours = names.iter().filter_map(|name| name.strip_prefix("troupe-"));
        let others = names.iter().filter(|name| !name.starts_with("troupe-"));
        let manifest = Manifest {
            ours: ours.map(str::to_owned).collect(),
            others: others.map(|name| (*name).clone()).collect(),
        };
        (entry.file_name().into_string().unwrap(), manifest)
    };
    folders.map(|entry| read(entry.unwrap())).collect()
}

/// The crates that a crate is built with, directly or not, itself included.
fn below(crates: &BTreeMap<String, Manifest>, top: &str) -> BTreeSet<String> {
    let (mut found, mut pending) = (BTreeSet::new(), vec![top.to_owned()]);
    while let Some(name) = pending.pop() {
        pending.extend(crates[&name].ours.iter().cloned());
        found.insert(name);
    }
    found
}

#[test]
fn no_crate_knows_what_it_must_not_know() {
    let crates = crates();
    let knows = |top: &str| below(&crates, top);
    let only = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(crates["estimators"].ours, only(&["core"]));
    for top in ["model", "trainer"] {
        for hidden in ["guests", "sandbox", "server", "training"] {
            assert!(!knows(top).contains(hidden), "`{top}` is built with `{hidden}`");
        }
    }
    for top in ["core", "guests", "sandbox"] {
        for hidden in ["estimators", "model", "trainer", "training", "terminal"] {
            assert!(!knows(top).contains(hidden), "`{top}` is built with `{hidden}`");
        }
    }
    for wing in ["author", "data", "experiment", "grading", "report", "server", "serving"] {
        let users = crates.iter().filter(|(_, made)| made.ours.contains(wing));
        let users: Vec<&str> = users.map(|(name, _)| name.as_str()).collect();
        let may: &[&str] = match wing {
            // Grades what is sent to it.
            "grading" => &["cli", "data", "server"],
            // One HTTP floor for everything that is served.
            "server" => &["cli", "engine", "serving"],
            "serving" => &["engine"],
            _ => &["cli"],
        };
        assert_eq!(users, may, "users of `{wing}`");
    }
}

#[test]
fn only_what_learns_or_answers_is_built_with_libtorch() {
    let crates = crates();
    let with = |library: &str| {
        let has = |name: &&String| {
            below(&crates, name).iter().any(|part| crates[part].others.contains(library))
        };
        crates.keys().filter(has).map(String::as_str).collect::<Vec<_>>()
    };
    let torch = [
        "engine",
        "model",
        "process-group",
        "programs",
        "serving",
        "tinker",
        "trainer",
        "training",
    ];
    assert_eq!(with("torch-sys"), torch);
    // The program `host` can be built without.
    let programs = fs::read_to_string(root().join("host/programs/Cargo.toml")).unwrap();
    for part in ["tch", "torch-sys", "troupe-engine", "troupe-model", "troupe-training"] {
        assert!(
            programs.contains(&format!("{part} = {{ workspace = true, optional = true }}")),
            "{part}"
        );
    }
}

#[test]
fn a_library_is_named_only_by_the_crates_that_own_it() {
    let owners = [
        ("bm25", &["guests"][..]),
        ("hyper", &["guests", "server"]),
        ("oci-client", &["registry"]),
        ("parquet", &["core", "data"]),
        ("ratatui-core", &["report"]),
        ("tch", &["model", "programs", "trainer"]),
        ("ureq", &["model"]),
        ("wasmtime", &["guests", "sandbox"]),
    ];
    for (library, may) in owners {
        let crates = crates();
        let named = crates.iter().filter(|(_, made)| made.others.contains(library));
        assert_eq!(named.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), may, "{library}");
    }
}

#[test]
fn the_program_host_links_no_libtorch() {
    let needed = |program: &str| {
        let bytes = fs::read(program).unwrap();
        bytes.windows(15).any(|window| window == b"libtorch_cpu.so")
    };
    assert!(!needed(env!("CARGO_BIN_EXE_host")));
    assert!(needed(env!("CARGO_BIN_EXE_host-engine")), "the test is blind");
}

/// The crates whose `lib.rs` lists its modules from the lowest to the highest.
const ORDERED: [&str; 9] =
    ["cli", "core", "estimators", "guests", "model", "report", "tinker", "trainer", "training"];

#[test]
fn a_module_uses_only_modules_above_it_in_lib_rs() {
    for name in ORDERED {
        let source = root().join("host").join(name).join("src");
        let modules = modules_of(&source);
        assert!(modules.len() > 2, "{name} lists {modules:?}");
        for (place, module) in modules.iter().enumerate() {
            for (path, text) in files_of(&source, module) {
                assert!(!text.contains("use crate::{"), "{}: name the module", path.display());
                for used in text.split("crate::").skip(1).map(first_word) {
                    // What is no module is an item of the root, which is below all.
                    let Some(other) = modules.iter().position(|module| *module == used) else {
                        continue;
                    };
                    assert!(
                        other <= place,
                        "{} is part of `{module}` and uses `{used}`, which is below it in lib.rs",
                        path.display()
                    );
                }
            }
        }
    }
}

/// The modules of a crate in the order of its lib.rs; those of commands, which print, are left out.
fn modules_of(source: &Path) -> Vec<String> {
    let (text, of_tests) = without_tests(&fs::read_to_string(source.join("lib.rs")).unwrap());
    let name = |line: &str| {
        let rest = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
        Some(rest.strip_suffix(';')?.to_owned())
    };
    let listed = text.lines().filter_map(name);
    listed.filter(|name| name != "commands" && !of_tests.contains(name)).collect()
}

/// All files of a module with their text; what is compiled for tests alone is left out.
fn files_of(source: &Path, module: &str) -> Vec<(PathBuf, String)> {
    let mut pending = vec![source.join(module)];
    let mut files = vec![source.join(format!("{module}.rs"))];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let is_source = path.extension().is_some_and(|ending| ending == "rs");
            if path.is_dir() {
                pending.push(path);
            } else if is_source {
                files.push(path);
            }
        }
    }
    let mut of_tests = Vec::new();
    let mut texts = Vec::new();
    for path in files {
        let (code, modules) = without_tests(&fs::read_to_string(&path).unwrap());
        of_tests.extend(modules.iter().map(|name| path.with_extension("").join(name)));
        texts.push((path, code));
    }
    let is_test =
        |path: &Path| of_tests.iter().any(|test| path.with_extension("").starts_with(test));
    texts.retain(|(path, _)| !is_test(path));
    texts
}

/// The code without items behind `#[cfg(test)]` and without comments, and the modules among these
/// items that have a file of their own.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let mut code = String::new();
    let mut modules = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            let comment = line.trim_start().starts_with("//");
            code.extend((!comment).then(|| format!("{line}\n")));
            continue;
        }
        let end = format!("{}}}", line.trim_end_matches("#[cfg(test)]"));
        let item = lines.find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
        let words: Vec<&str> = item.trim_end_matches(';').split_whitespace().collect();
        match words.as_slice() {
            [.., "mod", name] if item.ends_with(';') => modules.push((*name).to_owned()),
            _ if item.ends_with(';') || item.ends_with('}') => {}
            _ => while lines.next().is_some_and(|line| line != end) {},
        }
    }
    (code, modules)
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn a_type_name_stands_in_one_module_of_its_crate() {
    let mut declarations = 0;
    for name in crates().keys() {
        let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for (path, text) in sources(&root().join("host").join(name).join("src")) {
            let is_test = path.iter().any(|part| part == "tests") || path.ends_with("tests.rs");
            let (code, _) = without_tests(&text);
            for declared in code.lines().filter(|_| !is_test).filter_map(declared_type) {
                found.entry(declared).or_default().push(path.clone());
                declarations += 1;
            }
        }
        found.retain(|_, files| files.len() > 1);
        assert!(found.is_empty(), "types of `{name}` that share a name: {found:#?}");
    }
    assert!(declarations > 900, "{declarations}");
}

/// The type that a line declares at the top of its module.
fn declared_type(line: &str) -> Option<String> {
    let visibility = ["pub(super) ", "pub(crate) ", "pub "];
    let line = visibility.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    Some(first_word(rest))
}

#[test]
fn every_error_that_says_its_exit_code_is_asked_for_it() {
    let mut found = 0;
    for name in crates().keys() {
        let source = root().join("host").join(name).join("src");
        // The programs have no library, and no errors.
        let asked = fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
        for (path, text) in sources(&source) {
            for line in text.lines() {
                let Some(error) = line.strip_prefix("impl Coded for ") else { continue };
                let error = error.trim_end_matches(" {");
                // What the system says has no crate: the command line asks it last.
                let is_asked = error == "io::Error" || asked.contains(&format!("ask::<{error}>"));
                assert!(is_asked, "{}: `{error}` is not in ERRORS of `{name}`", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 30, "{found}");
    let cli = fs::read_to_string(root().join("host/cli/src/lib.rs")).unwrap()
        + &fs::read_to_string(root().join("host/engine/src/lib.rs")).unwrap();
    for name in crates().keys() {
        let lib = root().join("host").join(name).join("src/lib.rs");
        let lib = fs::read_to_string(lib).unwrap_or_default();
        let said = lib.contains("pub const ERRORS");
        assert!(!said || cli.contains(&format!("troupe_{name}::ERRORS")), "nobody asks `{name}`");
    }
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// The crates that ARCHITECTURE.md draws, and what it says that each is built with.
fn drawn() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let picture = text.split("<!-- crates -->").nth(1).expect("a picture of the crates");
    let row = |line: &str| {
        let (name, on) = line.split_once('→')?;
        let on = on.split_whitespace().map(|name| name.trim_end_matches(',').to_owned());
        Some((name.split_whitespace().next()?.to_owned(), on.filter(|name| name != "—").collect()))
    };
    picture.lines().filter_map(row).collect()
}

#[test]
fn architecture_md_draws_the_crates_as_cargo_knows_them() {
    let known: BTreeMap<String, BTreeSet<String>> =
        crates().into_iter().map(|(name, made)| (name, made.ours)).collect();
    assert_eq!(drawn(), known);
}

#[test]
fn only_what_is_compiled_for_tests_is_overlooked() {
    let text = "use a::b;\n#[cfg(test)]\nmod tests;\n// tch::no\nfn f() {\n    tch::yes();\n}\n\
                #[cfg(test)]\n#[path = \"x.rs\"]\nmod more {\n    use ureq;\n}\nuse crate::z;\n";
    let (code, modules) = without_tests(text);
    assert_eq!(modules, ["tests"]);
    assert_eq!(code, "use a::b;\nfn f() {\n    tch::yes();\n}\nuse crate::z;\n");
}
