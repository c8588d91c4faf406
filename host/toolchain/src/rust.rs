//! Rust for `wasm32-unknown-unknown`, wherever it is installed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target that plugins are built for: it imports nothing of its own.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The folder in the cache of Debian's Rust for browsers, which `cargo xtask setup` unpacks where
/// rustup has no target to offer.
const DEBIAN: &str = "rustc-web";

/// What cannot be compiled without.
#[derive(Debug, thiserror::Error)]
pub enum NoToolchain {
    /// There is no Rust at all.
    #[error("cannot start Rust: install it with rustup")]
    Rust,
    /// The linker is missing.
    #[error("no linker for WebAssembly: `apt-get install lld`")]
    Linker,
}

/// How guests are compiled.
#[derive(Debug)]
pub enum Toolchain {
    /// The user's toolchain has the target's standard library.
    Installed,
    /// Debian's compiler builds the standard library from source.
    Debian {
        /// The folder that holds the compiler, the library's sources included.
        home: PathBuf,
        /// The linker.
        linker: PathBuf,
    },
}

impl Toolchain {
    /// The user's own toolchain, if it has the target.
    ///
    /// # Errors
    /// If there is no Rust.
    pub fn installed() -> Result<Option<Self>, NoToolchain> {
        let libdir = read(rustc().args(["--print", "target-libdir", "--target", TARGET]))?;
        // rustc names the folder of a target's libraries even where it is missing or empty.
        let Ok(files) = fs::read_dir(libdir.trim()) else { return Ok(None) };
        let is_core = |name: &str| name.starts_with("libcore-");
        let mut names = files.flatten().map(|file| file.file_name());
        Ok(names.any(|name| is_core(&name.to_string_lossy())).then_some(Self::Installed))
    }

    /// Debian's compiler, if it was unpacked in this cache.
    ///
    /// # Errors
    /// If the linker that belongs to it is missing.
    pub fn cached(cache: &Path) -> Result<Option<Self>, NoToolchain> {
        let home = Self::debian_home(cache);
        if !compiler(&home).is_file() {
            return Ok(None);
        }
        Ok(Some(Self::Debian { home, linker: linker()? }))
    }

    /// The folder in a cache where Debian's compiler belongs.
    pub fn debian_home(cache: &Path) -> PathBuf {
        cache.join(DEBIAN)
    }

    /// Makes a `cargo build` compile for the target. What was compiled before is not built on, by
    /// which other bytes would be made of the same sources.
    pub fn apply(&self, cargo: &mut Command) {
        cargo.args(["--target", TARGET]).env("CARGO_ENCODED_RUSTFLAGS", self.rustflags());
        cargo.env("CARGO_INCREMENTAL", "0");
        if let Self::Debian { home, linker } = self {
            cargo
                .args(["-Z", "build-std=std,panic_abort"])
                .env("RUSTC", compiler(home))
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
    }

    /// Panic messages name source files: without their folders on this machine, every machine
    /// makes the same bytes. These flags also replace a `RUSTFLAGS` that is meant for the host.
    fn rustflags(&self) -> String {
        let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo_home = cargo_home.or_else(|| Some(env::home_dir()?.join(".cargo")));
        let rust_home = match self {
            Self::Installed => None,
            Self::Debian { home, .. } => Some(home.clone()),
        };
        let renamed = [(cargo_home, "/cargo"), (rust_home, "/rust")];
        let flag = |(from, to): (Option<PathBuf>, &str)| {
            Some(format!("--remap-path-prefix={}={to}", from?.display()))
        };
        renamed.into_iter().filter_map(flag).collect::<Vec<_>>().join("\u{1f}")
    }
}

/// The program to use as `rustc` in a folder of Debian's.
fn compiler(home: &Path) -> PathBuf {
    home.join("rustc")
}

/// LLVM's linker for WebAssembly: rustup's toolchains bring it, else the system may.
fn linker() -> Result<PathBuf, NoToolchain> {
    let sysroot = read(rustc().args(["--print", "sysroot"]))?;
    let version = read(rustc().arg("-vV"))?;
    let bundled = bundled_linker(Path::new(sysroot.trim()), &version);
    if let Some(linker) = bundled.filter(|path| path.is_file()) {
        return Ok(linker);
    }
    let mut wasm_ld = Command::new("wasm-ld");
    wasm_ld.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    match wasm_ld.status() {
        Ok(status) if status.success() => Ok(PathBuf::from("wasm-ld")),
        _ => Err(NoToolchain::Linker),
    }
}

/// Where a rustup toolchain keeps `rust-lld`, from its sysroot and what `rustc -vV` says.
fn bundled_linker(sysroot: &Path, version: &str) -> Option<PathBuf> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(sysroot.join("lib/rustlib").join(host).join("bin/rust-lld"))
}

fn rustc() -> Command {
    Command::new("rustc")
}

fn read(command: &mut Command) -> Result<String, NoToolchain> {
    let output = command.stderr(Stdio::null()).output().map_err(|_| NoToolchain::Rust)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_lies_beside_the_host_libraries() {
        let version = "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        let expected = "/toolchain/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld";
        assert_eq!(bundled_linker(Path::new("/toolchain"), version), Some(expected.into()));
        assert_eq!(bundled_linker(Path::new("/toolchain"), ""), None);
    }

    #[test]
    fn a_component_depends_neither_on_earlier_builds_nor_on_flags_for_the_host() {
        let mut cargo = Command::new("cargo");
        Toolchain::Installed.apply(&mut cargo);
        let set = |name: &str| {
            let (_, value) = cargo.get_envs().find(|(known, _)| *known == name)?;
            value?.to_str().map(str::to_owned)
        };
        assert_eq!(set("CARGO_INCREMENTAL").as_deref(), Some("0"));
        let flags = set("CARGO_ENCODED_RUSTFLAGS").unwrap();
        assert!(
            flags.split('\u{1f}').all(|flag| flag.starts_with("--remap-path-prefix=")),
            "{flags}"
        );
    }

    #[test]
    fn an_empty_cache_has_no_toolchain() {
        assert!(Toolchain::cached(Path::new("/nowhere/at/all")).unwrap().is_none());
    }
}
