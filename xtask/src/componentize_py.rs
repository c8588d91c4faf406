//! componentize-py, which makes a component of CPython and some modules.
//!
//! Its wheel is a library for any `python3`: it is run from where it was unpacked, not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::cache::{Cache, fresh_dir};
use crate::pins::{INTERPRETERS, Pin};
use crate::{process, wheel};

const NAME: &str = "componentize-py";

/// The unpacked tool.
#[derive(Debug)]
pub struct ComponentizePy {
    home: PathBuf,
}

impl ComponentizePy {
    /// What it is pinned to.
    pub fn requirement() -> Result<&'static str> {
        Ok(Pin::find(INTERPRETERS, NAME)?.requirement)
    }

    /// Fetches and unpacks it if it is not there.
    pub fn find(cache: &Cache) -> Result<Self> {
        let runs = ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"];
        if !process::succeeds(Command::new("python3").args(runs)) {
            bail!("componentize-py takes a `python3` of 3.9 or later: `apt-get install python3`");
        }
        let pin = Pin::find(INTERPRETERS, NAME)?;
        let tool = Self { home: cache.join(format!("{NAME}-{}", pin.version)) };
        if !tool.home.is_dir() {
            let wheel = wheel::fetch(&pin, cache)?;
            let partial = tool.home.with_extension("partial");
            fresh_dir(&partial)?;
            wheel::unpack(&wheel, &partial, pin.name, |_| true)?;
            fs::rename(&partial, &tool.home)?;
        }
        Ok(tool)
    }

    /// The folder that Python finds it in.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Makes the component of the module `plugin` in `staging`, against the contract beside it.
    pub fn build(&self, staging: &Path, output: &Path) -> Result<()> {
        let mut python = Command::new("python3");
        python
            .args(["-c", "import componentize_py; componentize_py.script()"])
            .args(["--quiet", "--wit-path", "wit", "--world", "interpreter-plugin"])
            .args(["componentize", "plugin", "--python-path", ".", "--output"])
            .arg(output);
        // The packages of a virtual environment that is in use are no part of the component.
        python.current_dir(staging).env("PYTHONPATH", &self.home).env_remove("VIRTUAL_ENV");
        process::read(&mut python).map(drop)
    }
}
