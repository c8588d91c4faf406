//! What a program finds below it in an image: the C and C++ libraries, certificates, a user, and no
//! shell; of packages of the Debian that this machine has.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tar::{Archive, EntryType};

use super::tree::{Node, ROOT, Tree};
use crate::apt;
use crate::cache::fresh_dir;
use crate::process;

const PACKAGES: [&str; 5] = ["base-files", "ca-certificates", "libc6", "libgcc-s1", "libstdc++6"];
/// Who runs the program, without a name anywhere else.
pub const USER: u64 = 65_532;
/// Where it begins, and what it may write to.
pub const HOME: &str = "home/troupe";

/// Brings the packages into a folder, and lays out what is needed of them. Returns their names and
/// versions, too.
pub fn lay_out(folder: &Path) -> Result<(Tree, BTreeMap<String, String>)> {
    let mut tree = Tree::default();
    let mut versions = BTreeMap::new();
    let mut certificates = BTreeMap::new();
    for package in download(folder)? {
        let control = process::read(Command::new("dpkg-deb").arg("--field").arg(&package))?;
        let field = |name: &str| {
            let line = control.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim).map(str::to_owned).context("a package that does not say what it is")
        };
        let name = field("Package:")?;
        versions.insert(name.clone(), field("Version:")?);
        // Where those look who ask which packages an image has.
        tree.text(&format!("var/lib/dpkg/status.d/{name}"), control);
        unpack(&package, &mut tree, &mut certificates)?;
    }
    check_complete(&versions)?;
    ensure!(!certificates.is_empty(), "the package ca-certificates has none");
    let bundle: Vec<String> = certificates.into_values().collect();
    tree.text("etc/ssl/certs/ca-certificates.crt", bundle.concat());
    for folder in ["lib", "lib64"] {
        tree.put(folder, Node::Link(format!("usr/{folder}")));
    }
    // Where what runs it mounts what it has.
    for folder in ["dev", "proc", "run", "sys"] {
        tree.put(folder, Node::Folder(ROOT, 0o755));
    }
    tree.put("tmp", Node::Folder(ROOT, 0o1777));
    tree.put(HOME, Node::Folder(USER, 0o755));
    let users = format!(
        "root:x:0:0:root:/root:/usr/sbin/nologin\n\
         troupe:x:{USER}:{USER}:troupe:/{HOME}:/usr/sbin/nologin\n"
    );
    tree.text("etc/passwd", users);
    tree.text("etc/group", format!("root:x:0:\ntroupe:x:{USER}:\n"));
    tree.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    Ok((tree, versions))
}

fn download(folder: &Path) -> Result<Vec<PathBuf>> {
    fresh_dir(folder)?;
    apt::know(PACKAGES[0])?;
    let mut download = apt::get();
    download.args(["-qq", "download"]).args(PACKAGES).current_dir(folder).stdout(Stdio::null());
    process::run(&mut download).context("the base of an image is made of Debian's packages")?;
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.sort_unstable();
    Ok(found)
}

/// An image without one of the packages would be found out only where it is to start.
fn check_complete(versions: &BTreeMap<String, String>) -> Result<()> {
    for name in PACKAGES {
        ensure!(versions.contains_key(name), "the package `{name}` did not come; try again");
    }
    Ok(())
}

fn unpack(
    package: &Path,
    tree: &mut Tree,
    certificates: &mut BTreeMap<String, String>,
) -> Result<()> {
    let mut unpacking = Command::new("dpkg-deb");
    unpacking.arg("--fsys-tarfile").arg(package).stdout(Stdio::piped());
    let mut child = unpacking.spawn().context("cannot start `dpkg-deb`")?;
    let output = child.stdout.take().context("no output of `dpkg-deb`")?;
    for entry in Archive::new(output).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.display().to_string();
        let path = merged(path.trim_start_matches("./"));
        let kind = entry.header().entry_type();
        if kind == EntryType::Symlink && is_wanted(&path) {
            let target = entry.link_name()?.context("a link to nowhere")?;
            tree.put(path, Node::Link(target.display().to_string()));
        } else if kind == EntryType::Regular {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            if let Some(name) = path.strip_prefix("usr/share/ca-certificates/") {
                certificates.insert(name.to_owned(), String::from_utf8(bytes)?);
            } else if is_wanted(&path) {
                let runs = entry.header().mode()? & 0o111 != 0;
                tree.put(path, Node::File(bytes, runs));
            }
        }
    }
    ensure!(child.wait()?.success(), "`dpkg-deb` cannot unpack `{}`", package.display());
    Ok(())
}

/// Where a file lies since `/lib` is a link to `/usr/lib`.
fn merged(path: &str) -> String {
    let moves = path.starts_with("lib/") || path.starts_with("lib64/");
    if moves { format!("usr/{path}") } else { path.to_owned() }
}

/// Libraries and the terms on which they are had; no programs, manuals or conversions of texts.
fn is_wanted(path: &str) -> bool {
    let is_library = path.starts_with("usr/lib") && !path.contains("/gconv/");
    let is_terms = path.starts_with("usr/share/doc/") && path.ends_with("/copyright");
    is_library || is_terms || ["etc/debian_version", "etc/os-release"].contains(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_without_one_of_its_packages_is_refused() {
        let came = |names: &[&str]| {
            let version = |name: &&str| ((*name).to_owned(), "1".to_owned());
            check_complete(&names.iter().map(version).collect())
        };
        assert!(came(&PACKAGES).is_ok());
        let refusal = came(&PACKAGES[..4]).unwrap_err().to_string();
        assert_eq!(refusal, "the package `libstdc++6` did not come; try again");
    }

    #[test]
    fn libraries_and_terms_are_wanted_and_programs_are_not() {
        let wanted = |path: &str| is_wanted(&merged(path));
        assert!(wanted("lib64/ld-linux-x86-64.so.2"));
        assert!(wanted("lib/x86_64-linux-gnu/libc.so.6"));
        assert!(wanted("usr/share/doc/libc6/copyright"));
        assert!(wanted("usr/lib/os-release"));
        for other in ["usr/lib/x86_64-linux-gnu/gconv/BIG5.so", "usr/bin/ldd", "etc/skel/.bashrc"] {
            assert!(!wanted(other), "{other}");
        }
    }
}
