//! What somebody else needs to verify a run: its files but for pictures and conversations, and the
//! components that it was played with.

use std::path::Path;

use crate::again::{put, put_all};
use crate::report;
use troupe_core::archive::{find_config, list_tables};
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_core::storage::{StorageError, create_folder, list_folder, write_file};
use troupe_guests::plugin::Plugin;
use troupe_model::Device;
use troupe_training::manifest::Manifest;
use troupe_training::team::Team;

/// Make a folder that [`super::run`] can be asked about elsewhere.
pub fn make(run: &Path, manifest: &Manifest, folder: &Path) -> anyhow::Result<ExitCode> {
    if folder.exists() && !list_folder(folder)?.is_empty() {
        let reason = "it is not empty; name a folder that is, or is not there".to_owned();
        return Err(StorageError::Unfit { path: folder.to_owned(), reason }.into());
    }
    create_folder(folder)?;
    for name in ["manifest.json", "metrics.jsonl", "outcomes.jsonl", "chain.jsonl", "summary.json"]
    {
        put(&run.join(name), &folder.join(name))?;
    }
    put_all(&run.join("checkpoints"), &folder.join("checkpoints"))?;
    create_folder(&folder.join("table"))?;
    for (_, table) in list_tables(run)? {
        put(&table, &folder.join("table").join(table.file_name().unwrap_or_default()))?;
    }
    let mut config = Config::load(Some(&find_config(run)?), &[])?;
    let team = Team::outline(&config, Device::cpu())?;
    let plugins = team.families.iter().flat_map(|family| family.scenario.plugins());
    config.plugins.files = carry(plugins, folder)?;
    write_file(&folder.join("config.toml"), config.to_toml().as_bytes())?;
    report::line(&format!("  {}: {}", folder.display(), told(manifest)));
    Ok(ExitCode::Success)
}

/// Copy components, and say where they lie from there.
fn carry<'p>(
    plugins: impl Iterator<Item = &'p Plugin>,
    folder: &Path,
) -> Result<Vec<std::path::PathBuf>, StorageError> {
    create_folder(&folder.join("plugins"))?;
    let mut files = Vec::new();
    for plugin in plugins {
        let name = Path::new("plugins").join(plugin.file().file_name().unwrap_or_default());
        put(plugin.file(), &folder.join(&name))?;
        if !files.contains(&name) {
            files.push(name);
        }
    }
    Ok(files)
}

/// What else it takes.
fn told(manifest: &Manifest) -> String {
    let mut more = Vec::new();
    if !manifest.interpreters.is_empty() {
        more.push("the interpreters");
    }
    if !manifest.corpus.is_empty() {
        more.push("the corpus");
    }
    if !manifest.tables.is_empty() {
        more.push("the tables that it learned from");
    }
    let pretrained = manifest.config["policies"]
        .as_object()
        .is_some_and(|policies| policies.values().any(|policy| policy["path"].is_string()));
    if pretrained {
        more.push("the weights that it began with");
    }
    match more.is_empty() {
        true => "all that it takes to verify the run: host verify, in that folder".to_owned(),
        false => format!("to verify the run it also takes {}", more.join(", ")),
    }
}
