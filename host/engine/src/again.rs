//! Steps of a run, computed again in a folder of their own.

use std::fs;
use std::path::Path;

use crate::inventory::manifest;
use crate::report;
use troupe_core::archive::list_tables;
use troupe_core::config::{Config, ConfigError};
use troupe_core::storage::{StorageError, create_folder, list_folder};
use troupe_model::Device;
use troupe_training::checkpoint::load_step;
use troupe_training::manifest::{Manifest, Settled, processor};
use troupe_training::run::{Link, RunFolder};
use troupe_training::team::Team;
use troupe_training::training::{Training, plan, settle};

/// Files of a run that steps are added to.
const LOGS: [&str; 5] =
    ["config.toml", "manifest.json", "metrics.jsonl", "outcomes.jsonl", "chain.jsonl"];

/// Why bits cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// A server had part in it.
    #[error("what a server did cannot be repeated here")]
    Server,
    /// It ended by the clock.
    #[error("how far it came depends on the clock (train.budget.seconds)")]
    Clock,
    /// Last digits are others here.
    #[error(
        "it was computed with the {what} `{there}`, and here is `{here}`: last digits may differ, \
         and what is drawn with them"
    )]
    Digits {
        /// What computed it.
        what: &'static str,
        /// Where the run was made.
        there: String,
        /// On this machine.
        here: String,
    },
}

/// Why bits cannot be compared here; nothing if they can.
pub fn obstacle(manifest: &Manifest, config: &Config, device: Device) -> Option<Obstacle> {
    if !manifest.distant.is_empty() || !manifest.servers.is_empty() {
        return Some(Obstacle::Server);
    }
    if config.train.budget.seconds.is_some() {
        return Some(Obstacle::Clock);
    }
    let pairs = [
        ("device", &manifest.device, device.to_string()),
        ("processor", &manifest.processor, processor()),
    ];
    let mut others = pairs.into_iter().filter(|(_, there, here)| *there != here);
    let (what, there, here) = others.next()?;
    Some(Obstacle::Digits { what, there: there.clone(), here })
}

/// A run whose steps are computed again.
pub struct Again<'r> {
    pub run: &'r Path,
    pub manifest: &'r Manifest,
    pub device: Device,
}

impl Again<'_> {
    /// The steps after one whose checkpoint was kept, up to another; `take` is given what each
    /// left.
    pub fn compute(
        &self,
        from: usize,
        to: usize,
        mut take: impl FnMut(&Link),
    ) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run");
        self.lay_out(&path, from)?;
        let mut training = self.resume(&path, from, &[])?;
        while training.progress().step < to {
            training.step()?;
            if let Some(link) = training.folder().chain().last()? {
                take(&link);
            }
        }
        Ok(())
    }

    /// The run as it stood when the checkpoint was saved, in another folder.
    pub fn lay_out(&self, path: &Path, from: usize) -> Result<(), StorageError> {
        create_folder(path)?;
        for name in LOGS {
            put(&self.run.join(name), &path.join(name))?;
        }
        let checkpoint = load_step(&self.run.join("checkpoints"), from)?.path;
        let name = checkpoint.file_name().unwrap_or_default();
        put_all(&checkpoint, &path.join("checkpoints").join(name))?;
        create_folder(&path.join("table"))?;
        for (_, table) in list_tables(self.run)?.into_iter().filter(|(step, _)| *step <= from) {
            put(&table, &path.join("table").join(table.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Go on in another folder, as the run did or with other settings.
    pub fn resume(&self, path: &Path, from: usize, set: &[String]) -> anyhow::Result<Training> {
        let config = config_with(path, self.run, set)?;
        let (settled, team) = self.ready(config, path, !set.is_empty())?;
        let folder = RunFolder::open(path)?;
        let checkpoint = load_step(&folder.checkpoints(), from)?;
        Ok(Training::resume(settled, team, folder, checkpoint)?)
    }

    /// A team, and its configuration with what was settled before.
    fn ready(&self, config: Config, path: &Path, changed: bool) -> anyhow::Result<(Config, Team)> {
        let team = Team::assemble(&config, self.device)?;
        let config = settle(&team.resolve(&config), &team)?.anchored();
        let planned = self.manifest.settled.apply(config.clone());
        let settled = plan(&planned, &team)?.settle(planned);
        if !changed {
            // What is not what the run was made of is named.
            let here = manifest(&config, Settled::of(&settled), &team, self.device)?;
            for difference in RunFolder::open(path)?.settle_manifest(&here, false)? {
                report::note(&format!("note: {difference}"));
            }
        }
        Ok((settled, team))
    }
}

/// The configuration of a folder. What was bundled with the run lies beside that.
pub fn config_of(folder: &Path, run: &Path) -> Result<Config, ConfigError> {
    config_with(folder, run, &[])
}

/// The same with other settings.
fn config_with(folder: &Path, run: &Path, set: &[String]) -> Result<Config, ConfigError> {
    let mut config = Config::load(Some(&folder.join("config.toml")), set)?;
    for file in &mut config.plugins.files {
        let beside = run.join(&*file);
        if beside.is_file() {
            *file = beside;
        }
    }
    Ok(config)
}

/// The same folder in another place, for steps that go on there. What is only ever replaced as a
/// whole is the same file in both.
pub fn share_all(from: &Path, to: &Path) -> Result<(), StorageError> {
    create_folder(to)?;
    for name in list_folder(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => share_all(&from, &to)?,
            false if LOGS.contains(&name.as_str()) => put(&from, &to)?,
            false => fs::hard_link(&from, &to)
                .or_else(|_| fs::copy(&from, &to).map(drop))
                .map_err(StorageError::io("write", &to))?,
        }
    }
    Ok(())
}

/// The same file in another place, if it is there.
pub fn put(from: &Path, to: &Path) -> Result<(), StorageError> {
    if from.is_file() {
        fs::copy(from, to).map_err(StorageError::io("write", to))?;
    }
    Ok(())
}

/// The same folder in another place.
pub fn put_all(from: &Path, to: &Path) -> Result<(), StorageError> {
    create_folder(to)?;
    for name in list_folder(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => put_all(&from, &to)?,
            false => put(&from, &to)?,
        }
    }
    Ok(())
}
