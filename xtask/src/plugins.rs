//! Turns the plugin crates into components: one file each in `<target>/plugins`.
//!
//! cargo compiles a core module; what wit-bindgen left in it says how to wrap it as a component.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use troupe_toolchain::{TARGET, Toolchain, component_of};

use crate::process;
use crate::progress::{Bytes, Elapsed};
use crate::workspace::{Plugin, Workspace};

/// The profile in `Cargo.toml` that plugins are compiled with: always optimized.
const PROFILE: &str = "plugin";

/// Plugin crates that lie together, and the folder that receives their components.
struct Set<'a> {
    what: &'static str,
    workspace: &'a Workspace,
    plugins: Vec<Plugin>,
    out: PathBuf,
}

/// Builds every crate below `plugins/`.
pub fn build(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    let plugins = workspace.plugins_in(&workspace.root.join("plugins"));
    let out = workspace.target_dir.join("plugins");
    Set { what: "plugins", workspace, plugins, out }.build(&workspace.target_dir, toolchain)
}

/// Builds the tests' plugins, a workspace of their own, into a folder beside the others.
pub fn build_fixtures(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    let fixtures = Workspace::at(&workspace.root.join("tests/fixtures/plugins/Cargo.toml"))?;
    let plugins = fixtures.plugins_in(&fixtures.root);
    let out = workspace.target_dir.join("plugins/fixtures");
    let set = Set { what: "fixture plugins", workspace: &fixtures, plugins, out };
    set.build(&workspace.target_dir, toolchain)
}

/// Makes a component of a core module that was compiled outside of this workspace.
pub fn wrap(module: &Path, component: &Path) -> Result<()> {
    let update = update_component(module, component)
        .with_context(|| format!("cannot make a component of `{}`", module.display()))?;
    let size = update.map_or_else(|| "as it was".to_owned(), |size| size.to_string());
    eprintln!("{}: ready ({size})", component.display());
    Ok(())
}

impl Set<'_> {
    fn build(&self, target_dir: &Path, toolchain: &Toolchain) -> Result<()> {
        let elapsed = Elapsed::start();
        let modules = self.compile(&target_dir.join("wasm"), toolchain)?;
        fs::create_dir_all(&self.out)?;
        let mut changed = 0;
        for plugin in &self.plugins {
            let module = modules.join(&plugin.library).with_extension("wasm");
            let component = self.out.join(&plugin.name).with_extension("wasm");
            let name = &plugin.name;
            let update = update_component(&module, &component)
                .with_context(|| format!("cannot make a component of `{name}`"))?;
            if let Some(size) = update {
                changed += 1;
                eprintln!("  {name}.wasm ({size})");
            }
        }
        let (what, count, out) = (self.what, self.plugins.len(), self.out.display());
        eprintln!("{what}: ready ({count} in {out}, {changed} of them new; {elapsed})");
        Ok(())
    }

    /// Compiles all crates in one go and returns the folder of their core modules.
    fn compile(&self, target_dir: &Path, toolchain: &Toolchain) -> Result<PathBuf> {
        let mut cargo = self.workspace.cargo();
        cargo.args(["build", "--profile", PROFILE]).arg("--target-dir").arg(target_dir);
        for plugin in &self.plugins {
            cargo.args(["--package", &plugin.name]);
        }
        toolchain.apply(&mut cargo);
        process::run(&mut cargo)?;
        Ok(target_dir.join(TARGET).join(PROFILE))
    }
}

/// Wraps a core module as a component; says how large it is if that changed the file.
fn update_component(module: &Path, component: &Path) -> Result<Option<Bytes>> {
    let module = fs::read(module).with_context(|| format!("reading `{}`", module.display()))?;
    let bytes = component_of(&module)?;
    if fs::read(component).is_ok_and(|old| old == bytes) {
        return Ok(None);
    }
    let partial = component.with_extension("wasm.partial");
    fs::write(&partial, &bytes)?;
    fs::rename(&partial, component)?;
    Ok(Some(Bytes(bytes.len() as u64)))
}
