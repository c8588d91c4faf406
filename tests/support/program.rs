//! Where things are, and how the binary is run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::components::folder;

/// A component that `cargo xtask plugins` built.
pub fn plugin(name: &str) -> PathBuf {
    let file = folder().join(format!("{name}.wasm"));
    assert!(file.is_file(), "{} is missing; run `cargo xtask plugins --fixtures`", file.display());
    file
}

/// A component made to misbehave.
pub fn fixture(name: &str) -> PathBuf {
    plugin(&format!("fixtures/{name}"))
}

/// The program, on the CPU, in the project's root.
pub fn host(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("TROUPE_DEVICE", "cpu")
        .env("NO_COLOR", "1")
        .args(arguments);
    command
}

/// Run the program: exit code, standard output, standard error.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = host(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().expect("it ended by itself"), text(stdout), text(stderr))
}

/// `--plugins` for these components.
pub fn plugins(names: &[&str]) -> String {
    let files: Vec<String> = names.iter().map(|name| plugin(name).display().to_string()).collect();
    files.join(",")
}

/// The names of the plugins in these folders of `plugins/`, which have sources here.
pub fn shipped(kinds: &[&str]) -> Vec<String> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let entries = kinds.iter().flat_map(|kind| plugins.join(kind).read_dir().expect("a folder"));
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("a name in UTF-8")).collect();
    names.sort();
    names
}

/// A copy of a folder and all that is in it.
pub fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_all(&from, &to),
            false => drop(std::fs::copy(&from, &to).unwrap()),
        }
    }
}
