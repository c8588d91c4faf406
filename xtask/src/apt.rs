//! Debian's packages, downloaded and not installed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// Root's downloads go to root's cache, where apt's own user may not write.
pub fn get() -> Command {
    let mut apt = Command::new("apt-get");
    apt.args(["-o", "APT::Sandbox::User=root"]).env("LC_ALL", "C");
    apt
}

/// What apt knows.
pub fn cache(query: &str) -> Command {
    let mut apt = Command::new("apt-cache");
    apt.arg(query).env("LC_ALL", "C");
    apt
}

/// Has apt know a package: it looks at the mirror if it knows nothing yet.
pub fn know(package: &str) -> Result<()> {
    if process::succeeds(cache("show").arg(package)) {
        return Ok(());
    }
    if fs::metadata("/proc/self")?.uid() != 0 {
        bail!("apt does not know `{package}`: `sudo apt-get update`");
    }
    process::run(get().args(["-qq", "update"]))
}
