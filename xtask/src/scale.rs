//! What breaks first at a scale that no test has: little runs are measured on this machine, and
//! what they take is carried on to many tasks, episodes, cores and cards.
//!
//! Nothing of that size is run here. What is measured and what is computed from it stand apart in
//! the page, with the rule by which.

mod carried;
mod cards;
mod grading;
mod measured;
mod memory;
mod page;
mod run;

use anyhow::Result;

use crate::cache::fresh_dir;
use crate::progress::Elapsed;
use crate::workspace::Workspace;
use troupe_core::storage::write_file;

/// Measures this machine, and writes docs/scale.md; the host and its plugins have been built.
pub fn measure(workspace: &Workspace) -> Result<()> {
    let elapsed = Elapsed::start();
    let folder = workspace.target_dir.join("scale");
    fresh_dir(&folder)?;
    let host = measured::Host::of(workspace);
    eprintln!("== a run of three steps");
    let run = run::trace(&host, &folder)?;
    eprintln!("== trees side by side");
    let memory = memory::trace(&host, &folder)?;
    eprintln!("== programs graded");
    let grading = grading::trace(&host, &folder)?;
    let path = workspace.root.join("docs/scale.md");
    write_file(&path, page::page(&host, &run, &memory, &grading)?.as_bytes())?;
    eprintln!("== docs/scale.md, written in {elapsed}");
    Ok(())
}
