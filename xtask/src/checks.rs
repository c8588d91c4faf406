//! What continuous integration checks, phase by phase.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::progress::Elapsed;
use crate::workspace::Workspace;

/// Formatting and lints; a part that is not installed is left out, visibly.
pub fn lint(workspace: &Workspace) -> Result<()> {
    if is_installed(workspace, "fmt") {
        phase("cargo fmt", workspace.cargo().args(["fmt", "--all", "--check"]))?;
    }
    if is_installed(workspace, "clippy") {
        let mut clippy = workspace.cargo();
        clippy.args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
        phase("cargo clippy", &mut clippy)?;
    }
    Ok(())
}

/// Every test of the workspace; our own in the profile that we are built with.
pub fn test(workspace: &Workspace) -> Result<()> {
    let mut own = workspace.cargo();
    phase("cargo test, xtask", own.args(["test", "--profile", "xtask", "--package", "xtask"]))?;
    let mut rest = workspace.cargo();
    phase("cargo test", rest.args(["test", "--workspace", "--exclude", "xtask"]))
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
