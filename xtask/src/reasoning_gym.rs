//! `plugins/environments/reasoning-gym`: a Python package as one component. It is large and its
//! parts come from the package registry, so it is built on request only.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::c_stack;
use crate::cache::{Cache, fresh_dir, remove_dir};
use crate::componentize_py::ComponentizePy;
use crate::interpreters::Placed;
use crate::pins::{Pin, REASONING_GYM};
use crate::process;
use crate::progress::Elapsed;
use crate::sources::Sources;
use crate::wheel;
use crate::workspace::Workspace;

const NAME: &str = "reasoning-gym";
const SOURCES: &str = "plugins/environments/reasoning-gym";
/// Its stack: behind so much memory, where a pointer can still be written in as many bytes as before.
const STACK: u32 = 2 << 20;
/// The module that defines the environment.
const MODULE: &str = "procedural";

/// Puts the component into `<target>/plugins`, unless it is there.
pub fn ensure(workspace: &Workspace, cache: &Cache) -> Result<()> {
    let elapsed = Elapsed::start();
    let (root, out) = (&workspace.root, workspace.target_dir.join("plugins"));
    fs::create_dir_all(&out)?;
    let digest = digest(root)?;
    let placed = Placed { component: out.join(NAME).with_extension("wasm") };
    if placed.is_of(&digest) {
        eprintln!("{NAME}.wasm: ready");
        return Ok(());
    }
    let kept = cache.join("interpreters").join(format!("{NAME}-{digest}.wasm"));
    if !kept.is_file() {
        build(root, cache, &kept).with_context(|| format!("cannot build `{NAME}`"))?;
    }
    let size = placed.replace(&kept, &digest)?;
    eprintln!("{NAME}.wasm: ready ({size}; {elapsed})");
    Ok(())
}

/// Of everything that the component is made of.
fn digest(root: &Path) -> Result<String> {
    let wit = root.join("wit");
    let sdk = Sources::read(&root.join("plugin-sdk/python"), &wit)?.digest("");
    let tool = ComponentizePy::requirement()?;
    let made_of = format!("{tool}, stack {STACK}, {REASONING_GYM}, {sdk}");
    Ok(Sources::read(&root.join(SOURCES), &wit)?.digest(&made_of))
}

fn build(root: &Path, cache: &Cache, kept: &Path) -> Result<()> {
    eprintln!("{NAME}.wasm: building it; it is kept in {}", kept.display());
    let staging = cache.join("interpreters").join(format!("{NAME}.partial"));
    let packages = staging.join("packages");
    fresh_dir(&packages)?;
    for pin in Pin::parse_all(REASONING_GYM)? {
        wheel::unpack(&wheel::fetch(&pin, cache)?, &packages, pin.name, |_| true)?;
    }
    let (plugin, sdk) = (root.join(SOURCES), root.join("plugin-sdk/python"));
    let built = staging.join("built.wasm");
    let mut python = Command::new("python3");
    python.args(["-m", "troupe_plugin.build"]).arg(&plugin);
    python.args(["--module", MODULE, "--export", "environment", "--wit"]).arg(root.join("wit"));
    python.arg("--path").arg(plugin.join("stand_ins")).arg("--path").arg(&packages);
    python.arg("--output").arg(&built);
    let tool = ComponentizePy::find(cache)?;
    let paths = [sdk.as_path(), tool.home()];
    python.env("PYTHONPATH", std::env::join_paths(paths)?).env("PYTHONDONTWRITEBYTECODE", "1");
    // The packages of a virtual environment that is in use are no part of the component.
    python.env_remove("VIRTUAL_ENV");
    process::read(&mut python)?;
    // sympy recurses deeply.
    let mut component = fs::read(&built)?;
    c_stack::enlarge(&mut component, STACK)?;
    fs::write(&built, component)?;
    fs::rename(&built, kept)?;
    remove_dir(&staging)
}
