//! Debian's registry of images, with which the tests push and pull: unpacked, not installed.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::apt;
use crate::cache::{Cache, fresh_dir};
use crate::process;

/// The package, and its folder in the cache.
const PACKAGE: &str = "docker-registry";

/// Brings it, unless it is there or the system has one.
pub fn ensure(cache: &Cache) -> Result<()> {
    let home = cache.join(PACKAGE);
    if home.is_dir() || process::succeeds(Command::new(PACKAGE).arg("--version")) {
        return Ok(());
    }
    let partial = home.with_extension("partial");
    fresh_dir(&partial)?;
    let mut download = apt::get();
    download.args(["-qq", "download", PACKAGE]).current_dir(&partial).stdout(Stdio::null());
    apt::know(PACKAGE).and_then(|()| process::run(&mut download)).with_context(|| {
        format!("cannot bring {PACKAGE} for the tests; put one of your own in PATH")
    })?;
    let archive = std::fs::read_dir(&partial)?.next().context("apt-get downloaded nothing")??;
    process::run(Command::new("dpkg").arg("-x").arg(archive.path()).arg(&partial))?;
    std::fs::rename(&partial, &home)?;
    Ok(())
}
