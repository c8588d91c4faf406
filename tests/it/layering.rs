//! The shape of the host's source: what ARCHITECTURE.md promises.

use std::fs;
use std::path::{Path, PathBuf};

/// The host's crates, the lower one first.
fn sources() -> [PathBuf; 2] {
    ["runtime/src", "src"].map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

/// The modules of a crate in the order of its lib.rs.
fn modules_of(source: &Path) -> Vec<String> {
    listed(&fs::read_to_string(source.join("lib.rs")).unwrap(), "pub mod ")
}

/// What a file says after `keyword`, line by line.
fn listed(text: &str, keyword: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix(keyword)?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(name).collect()
}

/// All modules with the crate each lies in, those of the lower crate first.
fn modules() -> Vec<(PathBuf, String)> {
    let of = |source: PathBuf| {
        modules_of(&source).into_iter().map(move |module| (source.clone(), module))
    };
    sources().into_iter().flat_map(of).collect()
}

/// All files of a module with their text; what is compiled for tests alone is left out.
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

/// The code without items behind `#[cfg(test)]` and without comments, and the
/// modules among these items that have a file of their own.
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

/// The modules named by `crate::…`, also in `use crate::{a, b}`.
fn used_modules(text: &str) -> Vec<String> {
    text.split("crate::").skip(1).map(first_word).collect()
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Whether the code names a library or one of its family, as `hyper_util` is of `hyper`'s.
fn names(code: &str, library: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(library).any(|(start, _)| {
        let rest = code[start + library.len()..].trim_start_matches(is_word);
        let family = code[start + library.len()..].starts_with(['_', ':', ';', ' ']);
        let begins = !code[..start].ends_with(is_word);
        begins && family && (rest.starts_with("::") || code[..start].ends_with("use "))
    })
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

/// The rooms that a file of `policy/` names; an empty name where it goes around them.
fn used_rooms(text: &str) -> Vec<String> {
    let uses = text.split("crate::policy").skip(1).filter(|rest| !rest.starts_with(')'));
    uses.map(|rest| rest.strip_prefix("::").map(first_word).unwrap_or_default()).collect()
}

#[test]
fn a_room_of_policy_uses_only_rooms_above_it_in_policy_rs() {
    let [_, source] = sources();
    let (text, _) = without_tests(&fs::read_to_string(source.join("policy.rs")).unwrap());
    let (policy, rooms) = (source.join("policy"), listed(&text, "mod "));
    assert!(rooms.len() > 4, "policy.rs lists {rooms:?}");
    for (rank, room) in rooms.iter().enumerate() {
        for (path, text) in files_of(&policy, room) {
            let way_out = "super::".repeat(path.strip_prefix(&policy).unwrap().iter().count());
            assert!(!text.contains(&way_out), "{}: say `crate::policy::…`", path.display());
            for used in used_rooms(&text) {
                assert!(
                    rooms[..=rank].contains(&used),
                    "{} is part of `{room}` and uses `{used}`, which is not above it in policy.rs",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn a_library_is_named_only_by_the_modules_that_architecture_md_says() {
    let allowed = [
        ("wasmtime", &["plugin", "sandbox"][..]),
        ("hyper", &["foreign", "server"]),
        ("http_body", &["foreign", "server"]),
        ("tokio_tungstenite", &["foreign", "server"]),
        ("tch", &["policy", "trainer"]),
        ("torch_sys", &["policy", "trainer"]),
        ("process_group", &["ranks", "trainer"]),
        ("ureq", &["policy"]),
        ("parquet", &["data", "table"]),
        ("bm25", &["retrieval"]),
        ("ratatui", &["screen", "cli"]),
    ];
    for (library, owners) in allowed {
        let mut named_by = Vec::new();
        for (source, module) in modules() {
            for (path, text) in files_of(&source, &module) {
                let here = names(&text, library);
                let allowed = owners.contains(&module.as_str());
                assert!(!here || allowed, "{} names {library}", path.display());
                named_by.extend(here.then(|| module.clone()));
            }
        }
        assert!(!named_by.is_empty(), "nobody names {library}: is the test blind?");
    }
}

#[test]
fn only_what_is_compiled_for_tests_is_overlooked() {
    let text = "use a::b;\n#[cfg(test)]\nmod tests;\n// tch::no\nfn f() {\n    tch::yes();\n}\n\
                #[cfg(test)]\n#[path = \"x.rs\"]\nmod more {\n    use ureq;\n}\nuse crate::z;\n";
    let (code, modules) = without_tests(text);
    assert_eq!(modules, ["tests"]);
    assert_eq!(code, "use a::b;\nfn f() {\n    tch::yes();\n}\nuse crate::z;\n");
    assert!(names(&code, "tch") && !names(&code, "ureq") && !names("patch::x()", "tch"));
    assert!(names("use hyper_util::rt;", "hyper") && names("use ureq;", "ureq"));
    assert!(!names("let hyper = 1;", "hyper"));
}

#[test]
fn architecture_md_maps_every_module() {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let map = fs::read_to_string(map).unwrap();
    for (_, module) in modules() {
        assert!(
            map.contains(&format!("`{module}`")) || map.contains(&format!("`{module}/`")),
            "ARCHITECTURE.md does not mention `{module}`"
        );
    }
}

#[test]
fn every_error_that_says_its_exit_code_is_asked_for_it() {
    let asked: String =
        sources().map(|source| fs::read_to_string(source.join("cli.rs")).unwrap()).concat();
    let mut found = 0;
    for (source, module) in modules() {
        for (path, text) in files_of(&source, &module) {
            for line in text.lines() {
                let Some(error) = line.strip_prefix("impl Coded for ") else { continue };
                let error = error.trim_end_matches(" {");
                let is_asked = asked.contains(&format!("ask::<{error}>"))
                    || asked.contains(&format!("::{error}>"));
                assert!(is_asked, "{}: `{error}` is in no list of `cli.rs`", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 30, "{found}");
}
