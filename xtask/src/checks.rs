//! What continuous integration checks, phase by phase.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::progress::Elapsed;
use crate::workspace::Workspace;

/// Our own crate, in the profile that it is built with.
const OURS: &[&str] = &["--profile", "xtask", "--package", "xtask"];
/// All others, in the profile in which they are used: what a program is built from is compiled
/// once, for the program and for its tests.
const REST: &[&str] = &["--release", "--workspace", "--exclude", "xtask"];
/// The SDK once more, without its feature `host`: as a guest's author has it.
const SDK: &[&str] = &["--profile", "xtask", "--package", "plugin-sdk"];

/// Formatting and lints; a part that is not installed is left out, visibly.
pub fn lint(workspace: &Workspace) -> Result<()> {
    if is_installed(workspace, "fmt") {
        phase("cargo fmt", workspace.cargo().args(["fmt", "--all", "--check"]))?;
    }
    if is_installed(workspace, "clippy") {
        let names = ["cargo clippy, xtask", "cargo clippy, SDK of guests", "cargo clippy"];
        for (name, crates) in names.into_iter().zip([OURS, SDK, REST]) {
            let mut clippy = workspace.cargo();
            clippy.arg("clippy").args(crates).args(["--all-targets", "--", "--deny", "warnings"]);
            phase(name, &mut clippy)?;
        }
    }
    Ok(())
}

/// Every test of the workspace: a crate whose tests fail does not hide those of the next.
pub fn test(workspace: &Workspace) -> Result<()> {
    for (name, crates) in [("cargo test, xtask", OURS), ("cargo test", REST)] {
        phase(name, workspace.cargo().args(["test", "--no-fail-fast"]).args(crates))?;
    }
    Ok(())
}

fn is_installed(workspace: &Workspace, tool: &str) -> bool {
    let installed = process::succeeds(workspace.cargo().args([tool, "--version"]));
    if !installed {
        eprintln!("warning: cargo {tool} is not installed: its check is left out");
    }
    installed
}

fn phase(name: &str, command: &mut Command) -> Result<()> {
    let elapsed = Elapsed::start();
    eprintln!("== {name}");
    process::run(command)?;
    eprintln!("== {name}: passed in {elapsed}");
    Ok(())
}
