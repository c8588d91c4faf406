//! What somebody else needs to verify a run: its files but for pictures and conversations, and the
//! components that it was played with.

use std::path::{Path, PathBuf};

use serde_json::Value;

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
    config.plugins.files = carry(plugins.map(Plugin::file), folder)?;
    write_file(&folder.join("config.toml"), config.to_toml().as_bytes())?;
    report::line(&format!("  {}: {}", folder.display(), told(manifest)));
    Ok(ExitCode::Success)
}

/// Copy components, and say where they lie from there.
fn carry<'f>(
    files: impl Iterator<Item = &'f Path>,
    folder: &Path,
) -> Result<Vec<PathBuf>, StorageError> {
    let mut carried: Vec<(&Path, PathBuf)> = Vec::new();
    for file in files {
        if carried.iter().any(|(known, _)| *known == file) {
            continue;
        }
        // What was granted is bound to names, so each keeps its own.
        let alike = carried.iter().filter(|(known, _)| known.file_name() == file.file_name());
        let place = match alike.count() {
            0 => PathBuf::from("plugins"),
            others => Path::new("plugins").join(others.to_string()),
        };
        create_folder(&folder.join(&place))?;
        let place = place.join(file.file_name().unwrap_or_default());
        put(file, &folder.join(&place))?;
        carried.push((file, place));
    }
    Ok(carried.into_iter().map(|(_, place)| place).collect())
}

/// Where a policy's table names weights that the run began with.
const WEIGHTS: [&str; 3] = ["/path", "/lora/path", "/preference/start"];

/// What else it takes.
fn told(manifest: &Manifest) -> String {
    let mut more = Vec::new();
    if !manifest.interpreters.is_empty() {
        more.push("the interpreters");
    }
    if !manifest.records.files.is_empty() {
        more.push("the records that its tasks are built from");
    }
    if !manifest.corpus.is_empty() {
        more.push("the corpus");
    }
    if !manifest.tables.is_empty() {
        more.push("the tables that it learned from");
    }
    let names = |policy: &Value| WEIGHTS.iter().any(|key| policy.pointer(key).is_some());
    let policies = manifest.config["policies"].as_object();
    if policies.is_some_and(|policies| policies.values().any(names)) {
        more.push("the weights that it began with");
    }
    match more.is_empty() {
        true => "all that it takes to verify the run: host verify, in that folder".to_owned(),
        false => format!("to verify the run it also takes {}", more.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::example;

    #[test]
    fn two_components_of_one_file_name_are_both_carried() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            create_folder(path.parent().unwrap()).unwrap();
            std::fs::write(&path, name).unwrap();
            path
        };
        let files = [file("a/quiz.wasm"), file("b/quiz.wasm"), file("b/panel.wasm")];
        let twice = files.iter().chain(&files).map(PathBuf::as_path);
        let bundle = folder.path().join("bundle");
        let carried = carry(twice, &bundle).unwrap();
        let places = ["plugins/quiz.wasm", "plugins/1/quiz.wasm", "plugins/panel.wasm"];
        assert_eq!(carried, places.map(PathBuf::from));
        for (file, place) in files.iter().zip(carried) {
            let read = |path: &Path| std::fs::read(path).unwrap();
            assert_eq!(read(file), read(&bundle.join(place)));
        }
    }

    #[test]
    fn what_a_bundle_lacks_is_named() {
        let lacks = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            told(&example(&Config::load(None, &sets).unwrap()))
        };
        assert!(lacks(&[]).starts_with("all that it takes"));
        let base = "policies.b={}";
        for weights in
            [&["policies.a.path=x"][..], &[base, "policies.a={base='b', lora={path='x'}}"]]
        {
            assert!(lacks(weights).contains("the weights that it began with"), "{weights:?}");
        }
        let mut of_records = example(&Config::default());
        of_records.records.files.insert("/there/a.jsonl".to_owned(), "dd".to_owned());
        assert!(told(&of_records).contains("the records"));
    }
}
