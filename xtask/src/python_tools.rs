//! What the tests of the wheel use of Python besides it: a reader of tables, a checker of types,
//! what runs a notebook. In a folder of its own, installed into no Python.

use std::fs;

use anyhow::{Context, Result};

use crate::cache::{Cache, fresh_dir};
use crate::pip::Pip;
use crate::progress;

const REQUIREMENTS: &str = include_str!("../python-tools.txt");
/// The folder in the cache, and the file there that says of what it was made.
const FOLDER: &str = "python-tools";
const STAMP: &str = "troupe.stamp";

/// Brings them, unless they are there for the Python that is.
pub fn ensure(cache: &Cache) -> Result<()> {
    let pip = Pip::find(cache)?;
    let stamp = format!("{REQUIREMENTS}{}", pip.python_version()?);
    let home = cache.join(FOLDER);
    if fs::read_to_string(home.join(STAMP)).is_ok_and(|there| there == stamp) {
        return Ok(());
    }
    let elapsed = progress::Elapsed::start();
    let partial = home.with_extension("partial");
    fresh_dir(&partial)?;
    let requirements = partial.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    pip.install_into(&requirements, &partial)
        .context("cannot bring what the tests use of Python")?;
    fs::write(partial.join(STAMP), stamp)?;
    crate::cache::remove_dir(&home)?;
    fs::rename(&partial, &home)?;
    progress::ready("Python for the tests", elapsed);
    Ok(())
}
