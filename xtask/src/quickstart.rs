//! From a fresh clone to a short training run.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

const CONFIG: &str = "configs/plan-path/quickstart.toml";

/// Builds the host and trains with the README's first config.
pub fn train(workspace: &Workspace, host_args: &[String]) -> Result<()> {
    process::run(workspace.cargo().args(["build", "--release", "--package", "host"]))?;
    let mut host = Command::new(workspace.target_dir.join("release/host"));
    host.args(["train", CONFIG]).current_dir(&workspace.root);
    process::run(host.args(host_args))
}
