//! The run that `--resume` names.

use std::path::Path;

use troupe_cli::args::ConfigArgs;
use troupe_core::config::{Config, ConfigError};
use troupe_core::storage::StorageError;
use troupe_trainer::ranks::Ranks;
use troupe_training::checkpoint::steps_of;
use troupe_training::manifest::Manifest;
use troupe_training::run::RunFolder;

/// A run that is resumed, as only rank 0 sees it.
#[derive(Debug)]
pub(super) struct Resumed {
    folder: RunFolder,
    /// What it was made of when it began, if it got so far.
    manifest: Option<Manifest>,
}

impl Resumed {
    /// Open the run, if one is named and this is rank 0.
    ///
    /// # Errors
    /// If there is no run, another process has it, or it cannot be read or written.
    pub(super) fn find(named: Option<&Path>, ranks: &Ranks) -> Result<Option<Self>, StorageError> {
        let Some(path) = named.filter(|_| ranks.leads()) else { return Ok(None) };
        let folder = RunFolder::open(path)?;
        let manifest = folder.manifest()?;
        Ok(Some(Resumed { folder, manifest }))
    }

    /// Its configuration, with what is granted anew.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn config(&self, args: &ConfigArgs) -> Result<Config, ConfigError> {
        let mut config = Config::load(Some(&self.folder.config_path()), &[])?;
        args.grant(&mut config);
        Ok(config)
    }

    /// A configuration with what was chosen where it is left to the machine, when the run began.
    pub(super) fn as_begun(&self, config: Config) -> Config {
        match &self.manifest {
            Some(manifest) => manifest.settled.apply(config),
            None => config,
        }
    }

    /// Whether a step of it was saved.
    ///
    /// # Errors
    /// If its checkpoints cannot be listed.
    pub(super) fn has_steps(&self) -> Result<bool, StorageError> {
        Ok(!steps_of(&self.folder.checkpoints())?.is_empty())
    }

    /// Its folder, to go on in.
    pub(super) fn into_folder(self) -> RunFolder {
        self.folder
    }
}
