//! A toolchain that builds for `wasm32-unknown-unknown`, from wherever one can be had.
//!
//! The user's own toolchain with rustup's target is best. Where rustup's server cannot be reached
//! or rustup is not in use, Debian's packages serve: see [`debian_rust`](crate::debian_rust).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cache::Cache;
use crate::debian_rust::DebianRust;
use crate::{process, progress};

/// The target that plugins are built for: it imports nothing of its own.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// rustup waits long for a server that does not answer.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// How plugins are compiled.
#[derive(Debug)]
pub enum Toolchain {
    /// The user's toolchain has the target's standard library.
    Installed,
    /// Debian's compiler builds the standard library from source.
    Debian { rust: DebianRust, linker: PathBuf },
}

impl Toolchain {
    /// Finds a toolchain; fetches one if there is none.
    pub fn ensure(cache: &Cache) -> Result<Self> {
        let toolchain = Self::find(cache)?;
        progress::ready(TARGET, toolchain.describe()?);
        Ok(toolchain)
    }

    fn find(cache: &Cache) -> Result<Self> {
        if is_installed()? {
            return Ok(Self::Installed);
        }
        let rust = match DebianRust::cached(cache) {
            Some(rust) => rust,
            None if add_with_rustup() && is_installed()? => return Ok(Self::Installed),
            None => DebianRust::fetch(cache).with_context(|| {
                format!("no Rust for `{TARGET}`; where rustup works: `rustup target add {TARGET}`")
            })?,
        };
        Ok(Self::Debian { rust, linker: linker()? })
    }

    fn describe(&self) -> Result<String> {
        match self {
            Self::Installed => Ok("the installed toolchain".to_owned()),
            Self::Debian { rust, .. } => {
                Ok(format!("{} from Debian, -Z build-std", rust.version()?))
            }
        }
    }

    /// Makes a `cargo build` compile for the target.
    pub fn apply(&self, cargo: &mut Command) {
        cargo.args(["--target", TARGET]).env("CARGO_ENCODED_RUSTFLAGS", self.rustflags());
        if let Self::Debian { rust, linker } = self {
            cargo
                .args(["-Z", "build-std=std,panic_abort"])
                .env("RUSTC", rust.compiler())
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
            Self::Debian { rust, .. } => Some(rust.home().to_owned()),
        };
        let renamed = [(cargo_home, "/cargo"), (rust_home, "/rust")];
        let flag = |(from, to): (Option<PathBuf>, &str)| {
            Some(format!("--remap-path-prefix={}={to}", from?.display()))
        };
        renamed.into_iter().filter_map(flag).collect::<Vec<_>>().join("\u{1f}")
    }
}

/// rustc names the folder of a target's libraries even where it is missing or empty.
fn is_installed() -> Result<bool> {
    let libdir = process::read(rustc().args(["--print", "target-libdir", "--target", TARGET]))?;
    let Ok(files) = fs::read_dir(libdir.trim()) else { return Ok(false) };
    Ok(files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-")))
}

fn add_with_rustup() -> bool {
    if !process::succeeds(Command::new("rustup").arg("--version")) {
        return false;
    }
    eprintln!("{TARGET}: adding it with rustup, {} s at most", RUSTUP_LIMIT.as_secs());
    let mut rustup = Command::new("rustup");
    rustup.args(["--quiet", "target", "add", TARGET]).stdout(Stdio::null());
    let added = process::watch(&mut rustup, Some(RUSTUP_LIMIT), || ());
    if let Err(error) = &added {
        eprintln!("{TARGET}: rustup cannot add it: {error:#}");
    }
    added.is_ok()
}

/// LLVM's linker for WebAssembly: rustup's toolchains bring it, else the system may.
fn linker() -> Result<PathBuf> {
    let sysroot = process::read(rustc().args(["--print", "sysroot"]))?;
    let version = process::read(rustc().arg("-vV"))?;
    let bundled = bundled_linker(Path::new(sysroot.trim()), &version);
    if let Some(linker) = bundled.filter(|path| path.is_file()) {
        return Ok(linker);
    }
    if process::succeeds(Command::new("wasm-ld").arg("--version")) {
        return Ok(PathBuf::from("wasm-ld"));
    }
    bail!("no linker for WebAssembly: `apt-get install lld`")
}

/// Where a rustup toolchain keeps `rust-lld`, from its sysroot and what `rustc -vV` says.
fn bundled_linker(sysroot: &Path, version: &str) -> Option<PathBuf> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(sysroot.join("lib/rustlib").join(host).join("bin/rust-lld"))
}

fn rustc() -> Command {
    Command::new("rustc")
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
}
