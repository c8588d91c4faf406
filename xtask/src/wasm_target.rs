//! A toolchain that builds for `wasm32-unknown-unknown`, brought if there is none.
//!
//! The user's own toolchain with rustup's target is best. Where rustup's server cannot be reached
//! or rustup is not in use, Debian's packages serve: see [`debian_rust`](crate::debian_rust).

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use troupe_toolchain::{TARGET, Toolchain};

use crate::cache::Cache;
use crate::debian_rust;
use crate::{process, progress};

/// rustup waits long for a server that does not answer.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// Finds a toolchain; fetches one if there is none.
pub fn ensure(cache: &Cache) -> Result<Toolchain> {
    let toolchain = find(cache)?;
    progress::ready(TARGET, describe(&toolchain)?);
    Ok(toolchain)
}

fn find(cache: &Cache) -> Result<Toolchain> {
    if let Some(installed) = Toolchain::installed()? {
        return Ok(installed);
    }
    if let Some(cached) = Toolchain::cached(cache.root())? {
        return Ok(cached);
    }
    if add_with_rustup()
        && let Some(installed) = Toolchain::installed()?
    {
        return Ok(installed);
    }
    debian_rust::fetch(cache).with_context(|| {
        format!("no Rust for `{TARGET}`; where rustup works: `rustup target add {TARGET}`")
    })?;
    Toolchain::cached(cache.root())?.context("Debian's compiler was unpacked, but is not there")
}

fn describe(toolchain: &Toolchain) -> Result<String> {
    match toolchain {
        Toolchain::Installed => Ok("the installed toolchain".to_owned()),
        Toolchain::Debian { home, .. } => {
            Ok(format!("{} from Debian, -Z build-std", debian_rust::version(home)?))
        }
    }
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
