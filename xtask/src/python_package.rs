//! Troupe as a Python wheel: the programs, plugins and configurations, a small package that calls
//! them, and not libtorch, which the package `torch` brings.
//!
//! `host/core/src/installation/site_packages.rs` looks for the parts where pip puts them.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use troupe_core::installation::LIBTORCH;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::layout::{ALIAS, Layout, PARTS, PROGRAM};
use crate::needs::{Needs, cut_run_path};
use crate::progress::{Bytes, Elapsed};
use crate::workspace::Workspace;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The package, and where its sources are.
const PACKAGE: &str = "troupe";
const SOURCES: &str = "host/programs/python/troupe";
/// Where the engine, which lies in the package, finds the libtorch of the package beside it.
const BESIDE: &str = "$ORIGIN/../torch/lib";
/// A wheel has no links, and the program is large.
const OTHER_NAME: &str = "\
#!/bin/sh
# The same as `host`, under a name that no other program has.
exec \"$(dirname \"$(readlink -f \"$0\")\")/host\" \"$@\"
";

/// A file of the wheel.
struct Entry {
    path: String,
    bytes: Vec<u8>,
    runs: bool,
}

/// Writes `troupe-<version>-py3-none-<tag>.whl` into a folder.
pub fn write(workspace: &Workspace, folder: &Path) -> Result<()> {
    let elapsed = Elapsed::start();
    let layout = Layout::without_libtorch(workspace)?;
    let tag = format!("py3-none-{}", platform(&layout)?);
    let mut entries = parts(&layout)?;
    entries.extend(sources(workspace)?);
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries.extend(metadata(workspace, &tag)?);
    let record = record(&entries);
    entries.push(record);
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{PACKAGE}-{VERSION}-{tag}.whl"));
    let partial = path.with_added_extension("partial");
    pack(&entries, &partial).with_context(|| format!("cannot write `{}`", partial.display()))?;
    fs::rename(&partial, &path)?;
    let size = Bytes(fs::metadata(&path)?.len());
    let unpacked = Bytes(entries.iter().map(|entry| entry.bytes.len() as u64).sum());
    eprintln!("wheel: {} ({size}, installed {unpacked}; {elapsed})", path.display());
    eprintln!("  `pip install` it where torch=={LIBTORCH}.* is, or pip brings that");
    Ok(())
}

/// The kind of Linux that both programs start on: that of the newer symbols.
fn platform(layout: &Layout) -> Result<String> {
    let mut glibc = 0;
    for place in [Path::new(PROGRAM), &Path::new(PARTS).join("host-engine")] {
        let program = layout.source(place).context("a program is missing")?;
        let name = program.display();
        let needs = Needs::of(program)?;
        glibc = glibc.max(needs.glibc().with_context(|| format!("`{name}` goes into no wheel"))?);
        ensure!(
            needs.run_path.is_empty() || needs.run_path.iter().any(|folder| folder == BESIDE),
            "`{name}` would not find libtorch in `{BESIDE}`: build it again"
        );
    }
    Ok(format!("manylinux_2_{glibc}_{ARCH}"))
}

/// What was built, and configurations.
fn parts(layout: &Layout) -> Result<Vec<Entry>> {
    let scripts = format!("{PACKAGE}-{VERSION}.data/scripts");
    let mut entries =
        vec![Entry { path: format!("{scripts}/{PACKAGE}"), bytes: OTHER_NAME.into(), runs: true }];
    for file in layout.files() {
        let place = match file.place.strip_prefix(PARTS) {
            Ok(part) => Path::new(PACKAGE).join(part),
            Err(_) if file.place == Path::new(PROGRAM) => {
                Path::new(&scripts).join(Path::new(ALIAS).file_name().unwrap_or_default())
            }
            Err(_) => continue,
        };
        let mut bytes = fs::read(&file.source)
            .with_context(|| format!("cannot read `{}`", file.source.display()))?;
        let runs = bytes.starts_with(b"\x7fELF");
        if runs {
            cut_run_path(&mut bytes)?;
        }
        let path = place.to_str().context("a name that is not UTF-8")?.to_owned();
        entries.push(Entry { path, bytes, runs });
    }
    Ok(entries)
}

/// The package's own files.
fn sources(workspace: &Workspace) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let folder = workspace.root.join(SOURCES);
    for entry in fs::read_dir(&folder).context("the package's sources")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() {
            let path = format!("{PACKAGE}/{name}");
            entries.push(Entry { path, bytes: fs::read(folder.join(name))?, runs: false });
        }
    }
    Ok(entries)
}

/// What pip and people want to know.
fn metadata(workspace: &Workspace, tag: &str) -> Result<Vec<Entry>> {
    let folder = format!("{PACKAGE}-{VERSION}.dist-info");
    let licenses = ["LICENSE-APACHE", "LICENSE-MIT"];
    let license_files = licenses.map(|name| format!("License-File: {name}\n")).concat();
    let about = format!(
        "Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {VERSION}\n\
         Summary: Trains teams of LLM agents with on-policy reinforcement learning\n\
         License-Expression: MIT OR Apache-2.0\n{license_files}\
         Requires-Python: >=3.10\nRequires-Dist: torch=={LIBTORCH}.*\n\
         Provides-Extra: polars\nRequires-Dist: polars; extra == 'polars'\n\
         Provides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n\
         Requires-Dist: pyarrow; extra == 'pandas'\n\
         Description-Content-Type: text/markdown\n\n\
         The programs `host` and `troupe`, which are one, and the Python package `troupe`, which \
         calls them.\n\nInstall the wheel by its file: what a registry has under this name may be \
         somebody else's.\n"
    );
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: cargo xtask wheel ({VERSION})\nRoot-Is-Purelib: false\n\
         Tag: {tag}\n"
    );
    let entry =
        |name: &str, bytes: Vec<u8>| Entry { path: format!("{folder}/{name}"), bytes, runs: false };
    let mut entries = vec![entry("METADATA", about.into()), entry("WHEEL", wheel.into())];
    for name in licenses {
        let text = fs::read(workspace.root.join(name)).with_context(|| format!("`{name}`"))?;
        entries.push(entry(&format!("licenses/{name}"), text));
    }
    Ok(entries)
}

/// The list of all files, with their digests.
fn record(entries: &[Entry]) -> Entry {
    let path = format!("{PACKAGE}-{VERSION}.dist-info/RECORD");
    let line = |entry: &Entry| {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&entry.bytes));
        format!("{},sha256={digest},{}\n", entry.path, entry.bytes.len())
    };
    let text: String = entries.iter().map(line).chain([format!("{path},,\n")]).collect();
    Entry { path, bytes: text.into(), runs: false }
}

/// The archive: the same bytes for the same files, whenever they were made.
fn pack(entries: &[Entry], path: &Path) -> Result<()> {
    let mut archive = ZipWriter::new(File::create(path)?);
    for entry in entries {
        // In 1980, as the format has it.
        let options = SimpleFileOptions::default()
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(if entry.runs { 0o755 } else { 0o644 });
        archive.start_file(&entry.path, options)?;
        archive.write_all(&entry.bytes)?;
    }
    Ok(archive.finish()?.sync_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_wheel_and_are_all_in_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |path: &str, runs| Entry { path: path.to_owned(), bytes: b"ab".to_vec(), runs };
        let mut entries = vec![entry("troupe/__init__.py", false), entry("troupe/x", true)];
        let list = record(&entries);
        let text = String::from_utf8(list.bytes.clone()).unwrap();
        let digest = "sha256=-44g_C5MPySMYMOb1lLzwTRymLuXe4tNWQO4UFViBgM";
        let expected =
            format!("troupe/__init__.py,{digest},2\ntroupe/x,{digest},2\n{},,\n", list.path);
        assert_eq!(text, expected);
        entries.push(list);
        let wheels = ["one", "two"].map(|name| folder.path().join(name));
        for wheel in &wheels {
            pack(&entries, wheel).unwrap();
        }
        assert_eq!(fs::read(&wheels[0]).unwrap(), fs::read(&wheels[1]).unwrap());
        let mut archive = zip::ZipArchive::new(File::open(&wheels[0]).unwrap()).unwrap();
        assert_eq!(archive.by_index(0).unwrap().unix_mode().unwrap() & 0o777, 0o644);
        assert_eq!(archive.by_index(1).unwrap().unix_mode().unwrap() & 0o777, 0o755);
    }
}
