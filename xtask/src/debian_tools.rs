//! Programs of Debian with which the tests try what others would: a registry of images, and what
//! unpacks them. Unpacked, not installed.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::apt;
use crate::cache::{Cache, fresh_dir};
use crate::process;

/// The packages, which are called as their programs, and their folders in the cache, too.
const PACKAGES: [&str; 2] = ["docker-registry", "umoci"];

/// Brings each, unless it is there or the system has one.
pub fn ensure(cache: &Cache) -> Result<()> {
    PACKAGES.iter().try_for_each(|package| {
        bring(cache, package).with_context(|| {
            format!("cannot bring {package} for the tests; put one of your own in PATH")
        })
    })
}

fn bring(cache: &Cache, package: &str) -> Result<()> {
    let home = cache.join(package);
    if home.is_dir() || process::succeeds(Command::new(package).arg("--version")) {
        return Ok(());
    }
    let partial = home.with_extension("partial");
    fresh_dir(&partial)?;
    let mut download = apt::get();
    download.args(["-qq", "download", package]).current_dir(&partial).stdout(Stdio::null());
    apt::know(package).and_then(|()| process::run(&mut download))?;
    let archive = fs::read_dir(&partial)?.next().context("apt-get downloaded nothing")??;
    process::run(Command::new("dpkg").arg("-x").arg(archive.path()).arg(&partial))?;
    fs::rename(&partial, &home)?;
    Ok(())
}
