//! `host plugin new` and `host plugin build`: from a name to a component.

use std::path::Path;

use super::super::report;
use troupe_author::project::{Kind, Language, Project, ProjectManifest};

pub fn create(name: String, language: Language, kind: Kind) -> anyhow::Result<()> {
    let project = Project::create(Path::new(""), ProjectManifest { name, language, kind })?;
    let folder = project.folder().display();
    report::line(&format!("{folder}/: a plugin that builds as it is; its README says more"));
    report::line(&format!("  host plugin build {folder}"));
    report::line(&format!("  host plugin check {}", project.component().display()));
    Ok(())
}

pub fn build(folder: &Path) -> anyhow::Result<()> {
    let project = Project::open(folder)?;
    let bytes = project.build()?;
    let size = bytes.div_ceil(1 << 10);
    report::line(&format!("{}: {size} KiB", project.component().display()));
    Ok(())
}
