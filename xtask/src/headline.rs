//! The README's first command, as a stranger has it: an installation, an empty folder with one
//! component in it, another user, no home.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::{fresh_dir, remove_dir};
use crate::layout::{Layout, PROGRAM};
use crate::process;
use crate::progress::Elapsed;
use crate::workspace::Workspace;

/// Whoever owns nothing, on Linux.
const NOBODY: u32 = 65_534;

/// Few steps: what is tried is that everything is found.
const SETTINGS: [&str; 5] = [
    "train.steps=2",
    "rollout.tasks_per_step=4",
    "validation.tasks=16",
    "imitation.max_steps=5",
    "imitation.success=0.0",
];

/// Installs what was built into a folder of its own and trains from another one.
pub fn check(workspace: &Workspace, layout: &Layout) -> Result<()> {
    let elapsed = Elapsed::start();
    eprintln!("== host train --plugins sudoku.wasm, installed");
    let folder = env::temp_dir().join(format!("troupe-headline-{}", std::process::id()));
    fresh_dir(&folder)?;
    let tried = attempt(workspace, layout, &folder);
    remove_dir(&folder)?;
    tried?;
    eprintln!("== host train --plugins sudoku.wasm, installed: passed in {elapsed}");
    Ok(())
}

fn attempt(workspace: &Workspace, layout: &Layout, folder: &Path) -> Result<()> {
    let prefix = folder.join("prefix");
    layout.install(&prefix)?;
    let here = folder.join("empty");
    fs::create_dir(&here)?;
    fs::copy(workspace.target_dir.join("plugins/sudoku.wasm"), here.join("sudoku.wasm"))?;
    let mut host = Command::new(prefix.join(PROGRAM));
    host.args(["train", "--plugins", "sudoku.wasm"]).current_dir(&here).env_clear();
    host.env("TMPDIR", &here);
    for setting in SETTINGS {
        host.args(["--set", setting]);
    }
    if is_root() {
        open_to_all(folder)?;
        chown(&here, Some(NOBODY), Some(NOBODY))?;
        host.uid(NOBODY).gid(NOBODY);
    }
    process::run(&mut host)?;
    let summary = here.join("runs/sudoku-filler-checker/summary.json");
    let text = fs::read_to_string(&summary)
        .with_context(|| format!("the run left no `{}`", summary.display()))?;
    serde_json::from_str::<serde_json::Value>(&text)?;
    no_path_outside(&here, &prefix)
}

/// What the run used lies in its folder or in the installation.
fn no_path_outside(here: &Path, prefix: &Path) -> Result<()> {
    let config = fs::read_to_string(here.join("runs/sudoku-filler-checker/config.toml"))?;
    for component in config.split('"').filter(|text| text.ends_with(".wasm")) {
        let path = PathBuf::from(component);
        anyhow::ensure!(
            path.starts_with(here) || path.starts_with(prefix),
            "the run used `{component}`, which is not part of the installation"
        );
    }
    Ok(())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// The temporary folder itself; what is installed is open anyway.
fn open_to_all(folder: &Path) -> Result<()> {
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?)
}
