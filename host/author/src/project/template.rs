//! What `host plugin new` writes: a template with the project's name in it, the
//! contract and the SDK, all embedded in this program.

use std::path::Path;

use super::language::Language;
use super::manifest::{FILE, ProjectManifest};
use super::sdk;
use troupe_core::storage::{StorageError, create_folder, write_file};

/// Every file that may belong to a project, by its path in Troupe's sources.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Writes all files of a new project into a folder.
pub fn write(manifest: &ProjectManifest, folder: &Path) -> Result<(), StorageError> {
    let own = toml::to_string(manifest).unwrap_or_default();
    put(folder, FILE, own.as_bytes())?;
    let (language, kind) = (manifest.language.word(), manifest.kind.word());
    for (name, bytes) in below(&format!("plugin-sdk/templates/{language}/{kind}/")) {
        put(folder, &filled(&destination(name), manifest), filled_bytes(bytes, manifest).as_ref())?;
    }
    match manifest.language {
        Language::Rust => write_rust_sdk(folder),
        Language::Python | Language::JavaScript | Language::C => {
            copy(folder, &format!("plugin-sdk/{language}/"), "sdk/")?;
            copy(folder, "wit/", "wit/")
        }
    }
}

/// The crate as it would be published, with the contract inside.
fn write_rust_sdk(folder: &Path) -> Result<(), StorageError> {
    let text = |name| String::from_utf8_lossy(embedded(name)).into_owned();
    let cargo = sdk::stand_alone(&text("plugin-sdk/Cargo.toml"), &text("Cargo.toml"));
    put(folder, "sdk/Cargo.toml", cargo.as_bytes())?;
    copy(folder, "plugin-sdk/src/", "sdk/src/")?;
    copy(folder, "wit/", "sdk/wit/")
}

fn copy(folder: &Path, from: &str, to: &str) -> Result<(), StorageError> {
    below(from).try_for_each(|(name, bytes)| put(folder, &format!("{to}{name}"), bytes))
}

/// The files in one of our folders, by their paths in it.
pub(super) fn below(prefix: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let inside = move |(name, bytes): &(&'static str, &'static [u8])| {
        Some((name.strip_prefix(prefix)?, *bytes))
    };
    EMBEDDED.iter().filter_map(inside)
}

fn embedded(name: &str) -> &'static [u8] {
    EMBEDDED.iter().find(|(known, _)| *known == name).map_or(&[], |(_, bytes)| bytes)
}

/// Files that would mean something where the templates lie have other names there.
fn destination(name: &str) -> String {
    let name = name.strip_suffix(".template").unwrap_or(name);
    let (folder, file) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    match file.strip_prefix("dot-") {
        Some(hidden) => format!("{folder}.{hidden}"),
        None => name.to_owned(),
    }
}

fn filled(text: &str, manifest: &ProjectManifest) -> String {
    text.replace("{{name}}", &manifest.name)
        .replace("{{name_}}", &manifest.snake())
        .replace("{{Name}}", &manifest.pascal())
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
}

fn filled_bytes(bytes: &[u8], manifest: &ProjectManifest) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => filled(text, manifest).into_bytes(),
        Err(_) => bytes.to_owned(),
    }
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let path = folder.join(name);
    create_folder(path.parent().unwrap_or(folder))?;
    write_file(&path, bytes)
}

#[cfg(test)]
mod tests {
    use super::super::language::Kind;
    use super::*;

    #[test]
    fn what_a_project_is_called_is_in_the_names_of_its_files_as_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let (language, kind) = (Language::JavaScript, Kind::Environment);
        write(&ProjectManifest { name: "dot-maze".to_owned(), language, kind }, folder.path())
            .unwrap();
        for name in ["dot-maze.js", "dot-maze.test.js", ".gitignore", "package.json"] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
        assert_eq!(destination("src/dot-hidden"), "src/.hidden");
    }
}
