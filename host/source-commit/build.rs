//! Asks git, if there is one, which commit the sources are of. Looked at anew when a source of the
//! host changes, which makes the host anew anyway, or when there is another commit.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the host is made of. With commits of anything else it stays the same to the last byte.
const SOURCES: [&str; 5] = ["Cargo.lock", "Cargo.toml", "host", "plugin-sdk", "wit"];
/// What a hook of git's sets, and would have asked about something else.
const OF_HOOKS: [&str; 3] = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(source).display());
    }
    let (commit, changed) = commit(&root).unwrap_or_default();
    println!("cargo:rustc-env=TROUPE_COMMIT={commit}");
    println!("cargo:rustc-env=TROUPE_CHANGED={}", if changed { "yes" } else { "" });
}

/// The commit, and whether the sources differ from it; nothing outside of a repository of ours.
fn commit(root: &Path) -> Option<(String, bool)> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    // Sources unpacked within another repository belong to none of its commits.
    if top.canonicalize().ok()? != root {
        return None;
    }
    for name in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(root, &["rev-parse", "--git-path", name])?);
        // A file that is not there would be looked for at every build.
        if path.is_file() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    let about_sources = |arguments: &[&str]| git(root, &[arguments, &["--"], &SOURCES].concat());
    let commit = about_sources(&["log", "-1", "--format=%H"])?;
    let changes = about_sources(&["status", "--porcelain"])?;
    Some((commit, !changes.is_empty()))
}

/// What git says; nothing if it is not there or says that something is wrong.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(root).args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
    for name in OF_HOOKS {
        git.env_remove(name);
    }
    let said = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(said.stdout).ok()?.trim().to_owned())
}
