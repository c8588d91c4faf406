//! The contract of a release stays as it is: `tests/fixtures/contract-0.2` keeps
//! a copy of it, and what is in `wit/` may only have more interfaces.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use wit_component::{OutputToString, WitPrinter};
use wit_parser::Resolve;

/// Every interface and every world of a folder as text, without its documentation.
fn blocks(folder: &Path) -> Vec<String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder).unwrap();
    let mut printer = WitPrinter::new(OutputToString::default());
    printer.emit_docs(false).print(&resolve, package, &[]).unwrap();
    let text = String::from(printer.output);
    let blocks = text.split("\n}").map(|block| block.trim().to_owned());
    blocks.filter(|block| !block.is_empty()).collect()
}

/// What was there is no longer there, or is something else.
fn broken(kept: &Path, current: &Path) -> Vec<String> {
    let current = blocks(current);
    // The first block begins with the package's line, which names the version.
    let body = |block: &String| {
        block.split_once("\n\n").map_or(block.clone(), |(head, rest)| {
            if head.starts_with("package ") { rest.to_owned() } else { block.clone() }
        })
    };
    let current: Vec<String> = current.iter().map(body).collect();
    blocks(kept).iter().map(body).filter(|block| !current.contains(block)).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn the_contract_only_gained_interfaces_since_it_was_released() {
    let kept = root().join("tests/fixtures/contract-0.2/wit");
    let broken = broken(&kept, &root().join("wit"));
    assert!(blocks(&kept).len() >= 10, "there are seven interfaces and three worlds");
    assert!(broken.is_empty(), "changed since 0.2.0: {}", broken.join("\n\n"));
}

#[test]
fn a_changed_record_a_lost_function_and_a_new_case_are_noticed_and_a_new_interface_is_none() {
    let kept = root().join("tests/fixtures/contract-0.2/wit");
    let changed = |file: &str, from: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&kept).unwrap() {
            let path = entry.unwrap().path();
            let mut text = std::fs::read_to_string(&path).unwrap();
            if path.ends_with(file) {
                assert!(text.contains(from), "{from}");
                text = text.replacen(from, to, 1);
            }
            std::fs::write(folder.path().join(path.file_name().unwrap()), text).unwrap();
        }
        broken(&kept, folder.path()).len()
    };
    assert_eq!(changed("environment.wit", "max-turns: u32,", "max-turns: u64,"), 1);
    assert_eq!(changed("environment.wit", "max-turns: u32,", "max-turns: u32, more: bool,"), 1);
    assert_eq!(changed("log.wit", "write: func(level: level, line: string);", ""), 1);
    assert_eq!(changed("types.wit", "validation, test }", "validation, test, other }"), 1);
    assert_eq!(changed("world.wit", "import log;\n  export workflow;", "export workflow;"), 1);
    let more = "/// More.\ninterface scenes { count: func() -> u32; }\n\ninterface log {";
    assert_eq!(changed("log.wit", "interface log {", more), 0);
    assert_eq!(changed("world.wit", "@0.2.0;", "@0.2.1;"), 0);
}
