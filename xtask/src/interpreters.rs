//! The interpreters in `plugins/interpreters`: components that other tools than cargo make.
//!
//! Their builds take seconds and never give the same bytes twice. So a component is kept in the
//! user's cache under the digest of what it was made from: all clones then have the same one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::c_stack;
use crate::cache::{Cache, fresh_dir, remove_dir};
use crate::componentize_py::ComponentizePy;
use crate::node::Node;
use crate::progress::{Bytes, Elapsed};
use crate::sources::Sources;
use crate::workspace::Workspace;

/// An interpreter, by the folder in `plugins/interpreters` that holds its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interpreter {
    Python,
    JavaScript,
}

/// Puts every interpreter into `<target>/plugins`, unless it is there.
pub fn ensure(workspace: &Workspace, cache: &Cache) -> Result<()> {
    let elapsed = Elapsed::start();
    let out = workspace.target_dir.join("plugins");
    fs::create_dir_all(&out)?;
    let all = [Interpreter::Python, Interpreter::JavaScript];
    let mut changed = 0;
    for interpreter in all {
        let name = interpreter.folder();
        let update = interpreter
            .ensure(&workspace.root, cache, &out)
            .with_context(|| format!("cannot build the interpreter `{name}`"))?;
        if let Some(size) = update {
            changed += 1;
            eprintln!("  {name}.wasm ({size})");
        }
    }
    let (count, out) = (all.len(), out.display());
    eprintln!("interpreters: ready ({count} in {out}, {changed} of them new; {elapsed})");
    Ok(())
}

impl Interpreter {
    fn folder(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
        }
    }

    /// Says how large the component is if it is new in `out`.
    fn ensure(self, root: &Path, cache: &Cache, out: &Path) -> Result<Option<Bytes>> {
        let name = self.folder();
        let folder = root.join("plugins/interpreters").join(name);
        let sources = Sources::read(&folder, &root.join("wit"))?;
        let digest = sources.digest(&self.tool()?);
        let placed = Placed { component: out.join(name).with_extension("wasm") };
        if placed.is_of(&digest) {
            return Ok(None);
        }
        let kept = cache.join("interpreters").join(format!("{name}-{digest}.wasm"));
        if !kept.is_file() {
            eprintln!("{name}.wasm: building it; it is kept in {}", kept.display());
            self.build(&sources, cache, &kept)?;
        }
        placed.replace(&kept, &digest).map(Some)
    }

    /// What beside its sources decides what the component is.
    fn tool(self) -> Result<String> {
        Ok(match self {
            Self::Python => {
                format!("{}, stack {}", ComponentizePy::requirement()?, c_stack::BYTES)
            }
            // Its tool is pinned by the lock file among its sources.
            Self::JavaScript => String::new(),
        })
    }

    /// Builds in a folder of its own: tools leave things beside the sources.
    fn build(self, sources: &Sources, cache: &Cache, kept: &Path) -> Result<()> {
        let staging = cache.join("interpreters").join(format!("{}.partial", self.folder()));
        fresh_dir(&staging)?;
        sources.write(&staging)?;
        let built = staging.join("built.wasm");
        match self {
            Self::Python => {
                ComponentizePy::find(cache)?.build(&staging, &built)?;
                let mut component = fs::read(&built)?;
                c_stack::enlarge(&mut component, c_stack::BYTES)?;
                fs::write(&built, component)?;
            }
            Self::JavaScript => Node::find(cache)?.build(&staging, &built)?,
        }
        fs::rename(&built, kept)?;
        remove_dir(&staging)
    }
}

/// A component in `<target>/plugins`, with a stamp beside it that tells what it was made from.
pub struct Placed {
    /// The file.
    pub component: PathBuf,
}

impl Placed {
    fn stamp(&self) -> PathBuf {
        self.component.with_extension("stamp")
    }

    /// Whether it is there, made from what has this digest.
    pub fn is_of(&self, digest: &str) -> bool {
        let stamp = fs::read_to_string(self.stamp());
        self.component.is_file() && stamp.is_ok_and(|stamp| stamp.trim() == digest)
    }

    /// The stamp is written last: without it the component is put there again.
    pub fn replace(&self, kept: &Path, digest: &str) -> Result<Bytes> {
        let partial = self.component.with_extension("wasm.partial");
        let size = fs::copy(kept, &partial)
            .with_context(|| format!("cannot write `{}`", partial.display()))?;
        fs::rename(&partial, &self.component)?;
        fs::write(self.stamp(), format!("{digest}\n"))?;
        Ok(Bytes(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_with_the_right_stamp_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        fs::write(&kept, "new").unwrap();
        let placed = Placed { component: folder.path().join("python.wasm") };
        fs::write(&placed.component, "old").unwrap();
        assert!(!placed.is_of("d1"));

        assert_eq!(placed.replace(&kept, "d1").unwrap(), Bytes(3));
        assert!(placed.is_of("d1"));
        assert!(!placed.is_of("d2"));
        assert_eq!(fs::read_to_string(&placed.component).unwrap(), "new");
    }
}
