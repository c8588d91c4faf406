//! The image as a tool for images has it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::venv::{cache, command, root, said};

/// Debian's `umoci`: the one that was brought, or the system's.
fn umoci() -> Command {
    let brought = cache().join("umoci/usr/bin/umoci");
    Command::new(if brought.is_file() { brought } else { PathBuf::from("umoci") })
}

/// The image without libtorch, which is made in seconds.
fn image(folder: &Path) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).args(["xtask", "image", "--serving", "--no-build", "--out"]);
    said(cargo.arg(folder));
    folder.read_dir().unwrap().next().unwrap().unwrap().path()
}

#[test]
fn an_image_is_unpacked_by_umoci_and_has_all_that_its_program_needs_and_no_shell() {
    let folder = tempfile::tempdir().unwrap();
    let archive = image(&folder.path().join("image"));
    let layout = folder.path().join("layout");
    fs::create_dir(&layout).unwrap();
    said(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&layout));
    let bundle = folder.path().join("bundle");
    let named = format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION"));
    said(umoci().args(["unpack", "--rootless", "--image", &named]).arg(&bundle));

    let config: Value =
        serde_json::from_slice(&fs::read(bundle.join("config.json")).unwrap()).unwrap();
    let process = &config["process"];
    assert_eq!(process["args"], serde_json::json!(["/usr/local/bin/host", "--help"]));
    assert_eq!(process["cwd"], "/home/troupe");
    let there = bundle.join("rootfs");
    for absent in ["bin", "usr/bin", "usr/sbin", "usr/local/lib/troupe/host-engine"] {
        assert!(!there.join(absent).exists(), "{absent}");
    }
    for present in ["etc/ssl/certs/ca-certificates.crt", "proc", "usr/share/doc/libc6/copyright"] {
        assert!(there.join(present).exists(), "{present}");
    }
    // By its own dynamic linker, with nothing but its own libraries.
    let libraries = there.join("usr/lib").join(format!("{}-linux-gnu", env::consts::ARCH));
    let mut linkers = libraries.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let linker =
        linkers.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("ld-linux"));
    let mut program = command(&linker.unwrap());
    program.arg("--inhibit-cache").arg("--library-path").arg(&libraries);
    program.arg(there.join("usr/local/bin/troupe"));
    let version = said(program.arg("--version"));
    assert!(version.starts_with(&format!("host {}", env!("CARGO_PKG_VERSION"))), "{version}");
}
