//! `host plugin new` and `host plugin build`: from a name to a component.

use std::path::Path;

use crate::project::{Kind, Language, Project, ProjectManifest};
use troupe_terminal as terminal;

pub fn create(name: String, language: Language, kind: Kind) -> anyhow::Result<()> {
    let project = Project::create(Path::new(""), ProjectManifest { name, language, kind })?;
    let folder = project.folder().display();
    terminal::line(&format!("{folder}/: a plugin that builds as it is; its README says more"));
    terminal::line(&format!("  host plugin build {folder}"));
    terminal::line(&format!("  host plugin check {}", project.component().display()));
    Ok(())
}

pub fn build(folder: &Path) -> anyhow::Result<()> {
    let project = Project::open(folder)?;
    let bytes = project.build()?;
    let size = bytes.div_ceil(1 << 10);
    terminal::line(&format!("{}: {size} KiB", project.component().display()));
    Ok(())
}
