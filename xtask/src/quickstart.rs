//! From a fresh clone to a short training run.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::process;
use crate::workspace::Workspace;

const CONFIG: &str = "configs/plan-path/quickstart.toml";
/// Steps of the shortened run.
const SHORT: usize = 40;
/// Share of held-out tasks that must be solved after it, well below what any
/// seed tried came to.
const LEAST: f64 = 0.75;

/// What is read of a run's `summary.json`.
#[derive(Deserialize)]
struct Summary {
    after: Success,
}

#[derive(Deserialize)]
struct Success {
    success: f64,
}

/// Trains with the README's first config.
pub fn train(workspace: &Workspace, host_args: &[String]) -> Result<()> {
    let mut host = Command::new(workspace.target_dir.join("release/host"));
    host.args(["train", CONFIG]).current_dir(&workspace.root);
    process::run(host.args(host_args))
}

/// The same for fewer steps; fails if it has not learned enough.
pub fn check(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target_dir.join("quickstart-check");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing `{}`", folder.display()))?;
    }
    let steps = format!("train.steps={SHORT}");
    let dir = format!("run.dir={}", folder.display());
    let sets = [steps.as_str(), &dir, "run.name=short"];
    train(workspace, &sets.map(|set| ["--set".to_owned(), set.to_owned()]).concat())?;
    let path = folder.join("short/summary.json");
    let text = fs::read(&path).with_context(|| format!("reading `{}`", path.display()))?;
    let Summary { after: Success { success } } = serde_json::from_slice(&text)?;
    ensure!(
        success >= LEAST,
        "after {SHORT} steps the quickstart solves {success:.3} of the held-out tasks, less than {LEAST}"
    );
    Ok(())
}
