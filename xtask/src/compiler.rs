//! The C++ compiler: libtorch's bindings contain C++ that cargo compiles.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, progress};

/// Looks for the compiler that the build will take.
pub fn check() -> Result<()> {
    let name = env::var_os("CXX").unwrap_or_else(|| OsString::from("c++"));
    let version = process::read(Command::new(&name).arg("--version")).with_context(|| {
        format!("no C++ compiler `{}`: `apt-get install g++`, or set CXX", name.display())
    })?;
    progress::ready("C++ compiler", version.lines().next().unwrap_or_default());
    Ok(())
}
