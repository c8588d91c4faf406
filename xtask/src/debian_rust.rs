//! Debian's Rust for browsers, `rustc-web`, unpacked beside the user's own: no root, no installing.
//!
//! Debian ships the standard library's sources in the compiler's very version, so cargo can build
//! it for a target that nobody packaged. The packages follow the distribution's security updates,
//! and apt checks their signatures.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use troupe_toolchain::Toolchain;

use crate::apt;
use crate::cache::{Cache, fresh_dir, remove_dir};
use crate::process;
use crate::progress::{Bytes, Step, size_of};

/// The compiler and the sources of its standard library.
const PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

/// A package as apt offers it.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: String,
    file: String,
    size: u64,
}

/// Downloads and unpacks the compiler; it appears under its name only when complete.
pub fn fetch(cache: &Cache) -> Result<()> {
    if !process::succeeds(Command::new("apt-get").arg("--version")) {
        bail!("this is not a Debian or Ubuntu, whose `rustc-web` could stand in");
    }
    let archives = download(&cache.join("debs"))?;
    let home = Toolchain::debian_home(cache.root());
    let staging = home.with_extension("partial");
    fresh_dir(&staging)?;
    unpack(&archives, &staging)?;
    write_launcher(&staging)?;
    version(&staging).context("Debian's compiler does not start here")?;
    fs::rename(&staging, &home)?;
    remove_dir(&cache.join("debs"))
}

/// What the compiler calls itself.
pub fn version(home: &Path) -> Result<String> {
    let version = process::read(Command::new(home.join("rustc")).arg("--version"))?;
    Ok(version.trim().to_owned())
}

/// The compiler expects its libraries in the system's folders: a script says where they are.
fn write_launcher(home: &Path) -> Result<()> {
    let script = format!(
        "#!/bin/sh\n\
         usr=$(dirname \"$0\")/usr\n\
         LD_LIBRARY_PATH=$usr/lib/{ARCH}-linux-gnu exec \"$usr/bin/rustc\" \"$@\"\n"
    );
    fs::write(home.join("rustc"), script)?;
    fs::set_permissions(home.join("rustc"), fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Brings all packages into `folder`; those that an interrupted run brought are kept.
fn download(folder: &Path) -> Result<Vec<PathBuf>> {
    let packages = offered()?;
    let partial = folder.join("partial");
    fresh_dir(&partial)?;
    for package in &packages {
        let archive = folder.join(&package.file);
        if archive.is_file() {
            continue;
        }
        let step = Step::start(&format!("downloading {}", package.name), Bytes(package.size));
        let mut apt = apt::get();
        apt.args(["-qq", "download", &package.name]).current_dir(&partial).stdout(Stdio::null());
        process::watch(&mut apt, None, || step.set(size_of(&partial)))
            .context("cannot download; if apt's lists are old: `apt-get update`")?;
        fs::rename(partial.join(&package.file), archive)?;
        step.finish();
    }
    Ok(packages.iter().map(|package| folder.join(&package.file)).collect())
}

/// What apt would download, after a look at the mirror if it knows nothing yet.
fn offered() -> Result<Vec<Package>> {
    apt::know(PACKAGES[0])?;
    let names = with_dependencies()?;
    let uris = process::read(apt::get().args(["download", "--print-uris"]).args(&names))?;
    uris.lines().map(parse_uri).collect()
}

/// The packages and those libraries they need that the system does not have.
fn with_dependencies() -> Result<BTreeSet<String>> {
    let mut wanted: Vec<String> = PACKAGES.map(str::to_owned).into();
    let mut names = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        let depends = process::read(apt::cache("depends").arg(&name))?;
        wanted.extend(needed_libraries(&depends).map(str::to_owned));
        names.insert(name);
        wanted.retain(|name| !names.contains(name) && !is_installed(name));
    }
    Ok(names)
}

/// The libraries among a package's dependencies, from what `apt-cache depends` says.
fn needed_libraries(depends: &str) -> impl Iterator<Item = &str> {
    let names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.filter(|name| name.starts_with("lib"))
}

/// A Rust that the system has does not count: its parts must lie side by side.
fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    let query = query.args(["-W", "-f", "${db:Status-Status}\n", package]);
    !package.contains("rust")
        && process::read(query).is_ok_and(|status| status.lines().any(|l| l == "installed"))
}

/// Reads one line of `apt-get download --print-uris`: `'address' file size digest`.
fn parse_uri(line: &str) -> Result<Package> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, file, size, ..] = fields[..] else {
        bail!("cannot understand `apt-get download --print-uris`: `{line}`");
    };
    let name = file.split('_').next().unwrap_or(file);
    Ok(Package { name: name.to_owned(), file: file.to_owned(), size: size.parse()? })
}

fn unpack(archives: &[PathBuf], home: &Path) -> Result<()> {
    let size = archives.iter().map(fs::metadata).map(|m| m.map(|m| m.len()));
    let step = Step::start("unpacking Debian's Rust", Bytes(size.sum::<Result<_, _>>()?));
    let mut done = 0;
    for archive in archives {
        process::run(Command::new("dpkg-deb").arg("--extract").arg(archive).arg(home))?;
        done += fs::metadata(archive)?.len();
        step.set(done);
    }
    keep_library_sources(&home.join("usr/src"))?;
    step.finish();
    Ok(())
}

/// Of the compiler's sources only the standard library is needed: the rest is 300 MB.
fn keep_library_sources(sources: &Path) -> Result<()> {
    for version in fs::read_dir(sources)? {
        for entry in fs::read_dir(version?.path())? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("library") {
                fs::remove_dir_all(path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_print_uris_is_read() {
        let line = "'http://mirror/pool/rustc-web_1.96.0%2bdfsg1_amd64.deb' \
                    rustc-web_1.96.0+dfsg1_amd64.deb 4450500 SHA256:8fef";
        let expected = Package {
            name: "rustc-web".to_owned(),
            file: "rustc-web_1.96.0+dfsg1_amd64.deb".to_owned(),
            size: 4_450_500,
        };
        assert_eq!(parse_uri(line).unwrap(), expected);
        assert!(parse_uri("Reading package lists...").is_err());
    }

    #[test]
    fn only_libraries_are_followed() {
        let depends = "rustc-web\n  Depends: libstd-rust-web-dev\n  Depends: gcc\n  \
                       Depends: <libc-dev>\n    libc6-dev\n |Depends: liba\n  Conflicts: librust\n";
        assert_eq!(needed_libraries(depends).collect::<Vec<_>>(), ["libstd-rust-web-dev"]);
    }
}
