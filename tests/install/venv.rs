//! Virtual environments.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A program that finds libraries only by its own means, and runs on the CPU.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("TROUPE_DEVICE", "cpu").env("NO_COLOR", "1");
    for name in ["LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME"] {
        command.env_remove(name);
    }
    command
}

/// What a command says on standard output; it must succeed.
pub fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(status.success(), "{command:?}: {stdout}{stderr}");
    stdout
}

/// The wheel, written once.
pub fn wheel() -> &'static Path {
    static WHEEL: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, wheel) = WHEEL.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root()).args(["xtask", "wheel", "--no-build", "--out"]);
        said(cargo.arg(folder.path()));
        let mut entries = folder.path().read_dir().unwrap();
        let wheel = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none());
        (folder, wheel)
    });
    wheel
}

/// A virtual environment with the wheel, and an empty folder to work in.
pub struct Venv {
    folder: tempfile::TempDir,
}

impl Venv {
    /// Made anew, without torch.
    pub fn without_torch() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let venv = Venv { folder };
        fs::create_dir(venv.work()).unwrap();
        said(command(Path::new("python3")).args(["-m", "venv"]).arg(venv.path()));
        venv
    }

    /// One for all tests that only use it: the wheel, the set-up's libtorch as if pip had put it
    /// there, and what `cargo xtask test` brings of Python.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Venv> = OnceLock::new();
        SHARED.get_or_init(|| {
            let venv = Venv::without_torch();
            venv.pip(&["install", "--no-deps", wheel().to_str().unwrap()]);
            venv.link_torch();
            let tools = cache().join("python-tools");
            assert!(tools.is_dir(), "`cargo xtask test` brings {}", tools.display());
            fs::write(venv.packages().join("tools.pth"), tools.to_str().unwrap()).unwrap();
            venv
        })
    }

    fn link_torch(&self) {
        let torch = env::var_os("LIBTORCH").map_or_else(|| root().join(".deps/torch"), Into::into);
        let torch = root().join(torch).canonicalize().unwrap();
        for entry in torch.parent().unwrap().read_dir().unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.path() == torch || name == "nvidia" || name.ends_with(".dist-info") {
                symlink(entry.path(), self.packages().join(name)).unwrap();
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("venv")
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn packages(&self) -> PathBuf {
        let python = self.path().join("lib").read_dir().unwrap().next().unwrap().unwrap();
        python.path().join("site-packages")
    }

    /// A program of it.
    pub fn program(&self, name: &str) -> Command {
        let mut command = command(&self.path().join("bin").join(name));
        command.current_dir(self.work());
        command
    }

    pub fn pip(&self, arguments: &[&str]) -> String {
        said(
            self.program("python3")
                .args(["-m", "pip", "--disable-pip-version-check", "--quiet"])
                .args(arguments),
        )
    }

    /// Runs a script of the tests.
    pub fn script(&self, name: &str, arguments: &[&Path]) -> String {
        let script = root().join("tests/install").join(name);
        said(self.program("python3").arg(script).args(arguments))
    }

    /// All files, without what Python compiles.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut pending = vec![self.path()];
        while let Some(folder) = pending.pop() {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    if !path.ends_with("__pycache__") {
                        pending.push(path);
                    }
                } else {
                    found.insert(path);
                }
            }
        }
        found
    }
}

/// Where `cargo xtask` keeps what it brings.
pub fn cache() -> PathBuf {
    troupe_core::installation::user_cache().unwrap()
}
