//! `cargo xtask`: what a build needs, and the commands that the README names.
//!
//! Plain `cargo build` and `cargo test` work once `cargo xtask setup` has run. Nothing here knows
//! the host or links libtorch, so that it builds in a fresh clone.

mod cache;
mod debian_rust;
mod plugins;
mod process;
mod progress;
mod wasm_target;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::cache::Cache;
use crate::wasm_target::Toolchain;
use crate::workspace::Workspace;

/// Sets up, builds and checks Troupe.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build every crate in plugins/ to a component in target/plugins/
    Plugins {
        /// Build the tests' plugins too, to target/plugins/fixtures/
        #[arg(long)]
        fixtures: bool,
    },
}

fn main() -> ExitCode {
    match perform(&Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            exit_code(&error)
        }
    }
}

fn perform(task: &Task) -> Result<()> {
    let workspace = Workspace::current()?;
    match task {
        Task::Plugins { fixtures } => plugins(&workspace, *fixtures),
    }
}

fn plugins(workspace: &Workspace, fixtures: bool) -> Result<()> {
    let toolchain = Toolchain::ensure(&Cache::open()?)?;
    plugins::build(workspace, &toolchain)?;
    if fixtures {
        plugins::build_fixtures(workspace, &toolchain)?;
    }
    Ok(())
}

/// The code of the program that failed, so that scripts can tell why.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    let code = error.downcast_ref::<process::Failed>().and_then(process::Failed::code);
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
