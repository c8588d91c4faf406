//! What continuous integration checks, phase by phase.

use std::num::NonZero;
use std::process::Command;
use std::thread;

use anyhow::Result;

use crate::linting;
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

/// The checks of a workspace; a part that is not installed is left out, visibly.
pub struct Checks<'a> {
    workspace: &'a Workspace,
    lints: bool,
    /// What cargo is told in every call that compiles.
    settings: Vec<String>,
}

impl<'a> Checks<'a> {
    pub fn of(workspace: &'a Workspace, lints: bool) -> Result<Self> {
        let lints = lints && is_installed(workspace, "clippy");
        let settings = if lints {
            vec!["--config".to_owned(), linting::setting(workspace)?]
        } else {
            Vec::new()
        };
        Ok(Checks { workspace, lints, settings })
    }

    /// Formatting, and lints of what is not compiled here otherwise.
    pub fn look(&self) -> Result<()> {
        if is_installed(self.workspace, "fmt") {
            phase("cargo fmt", self.workspace.cargo().args(["fmt", "--all", "--check"]))?;
        }
        if !self.lints {
            return Ok(());
        }
        let mut clippy = self.workspace.cargo();
        clippy.arg("clippy").args(SDK).args(["--all-targets", "--", "--deny", "warnings"]);
        phase("cargo clippy, SDK of guests", &mut clippy)
    }

    /// The rest: the program, its tests and its benchmarks, linted as they are compiled.
    pub fn build(&self) -> Result<()> {
        let name = if self.lints { "cargo build, with lints" } else { "cargo build" };
        // With `build`, benchmarks would have everything that they depend on built once more.
        phase(name, &mut self.cargo(&["test", "--no-run", "--all-targets"], REST))
    }

    /// Every test: a crate whose tests fail does not hide those of the next.
    pub fn test(&self) -> Result<()> {
        phase("cargo test, xtask", &mut self.cargo(&["test", "--no-fail-fast"], OURS))?;
        let mut rest = self.cargo(&["test", "--no-fail-fast"], REST);
        // Many tests wait, for a server or for time that has to pass.
        let threads = thread::available_parallelism().map_or(2, NonZero::get) + 1;
        phase("cargo test", rest.env("RUST_TEST_THREADS", threads.to_string()))
    }

    fn cargo(&self, arguments: &[&str], crates: &[&str]) -> Command {
        let mut cargo = self.workspace.cargo();
        cargo.args(&self.settings).args(arguments).args(crates);
        cargo
    }
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
