//! Arguments that commands of several wings have.

use std::path::PathBuf;

use clap::Args;

use crate::GrantArg;
use troupe_core::config::{Config, ConfigError, DeviceChoice, Grantee};
use troupe_core::lock::LockFile;

/// Of every command that works with policies.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct DeviceArg {
    /// Where tensors live: cpu, cuda or cuda:<index>; by default a GPU if there is one.
    #[arg(long, env = "TROUPE_DEVICE", value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
}

/// Where a configuration comes from.
#[derive(Debug, Default, Args)]
pub struct ConfigArgs {
    /// TOML files, each over those before it; without one, the defaults.
    pub config: Vec<PathBuf>,
    /// Components: files, bare names looked up in target/plugins, or references such as
    /// oci://registry/sudoku:1.2.0.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Grant a plugin what it asks for: to run model-written programs
    /// (`sandbox`), to search the corpus of retrieval.corpus (`search`).
    #[arg(long, value_name = "PLUGIN=RIGHT,…")]
    pub grant: Vec<GrantArg>,
    /// Let these plugins run model-written programs in the sandbox.
    #[arg(long, value_delimiter = ',', value_name = "PLUGIN")]
    pub grant_sandbox: Vec<Grantee>,
    /// Let these plugins search the corpus (retrieval.corpus).
    #[arg(long, value_delimiter = ',', value_name = "PLUGIN")]
    pub grant_retrieval: Vec<Grantee>,
    /// Override a setting, such as train.steps=50.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl ConfigArgs {
    /// Have a configuration use the plugins that the flags name, the components that `host.lock`
    /// says its references to registries mean, and what the flags grant.
    ///
    /// # Errors
    /// If the lock cannot be read.
    pub fn settle_plugins(&self, config: &mut Config) -> Result<(), ConfigError> {
        if !self.plugins.is_empty() {
            config.plugins.files.clone_from(&self.plugins);
        }
        if config.references().next().is_some() {
            let path = LockFile::beside(&self.config);
            let lock = LockFile::read(&path).map_err(|reason| ConfigError::Invalid {
                key: "plugins.files".to_owned(),
                reason: reason.to_string(),
            })?;
            lock.pin(config);
        }
        self.grant(config);
        Ok(())
    }

    /// Grant what the flags grant.
    pub fn grant(&self, config: &mut Config) {
        self.grant.iter().for_each(|grant| grant.apply(config));
        Grantee::extend(&mut config.sandbox.grant, &self.grant_sandbox);
        Grantee::extend(&mut config.retrieval.grant, &self.grant_retrieval);
    }
}

/// The configuration that the flags describe.
///
/// # Errors
/// If the file cannot be read, or a setting is wrong.
pub fn load_config(args: &ConfigArgs) -> Result<Config, ConfigError> {
    let mut config = Config::noted(&args.config, &args.set, &mut |text| crate::note(text))?;
    args.settle_plugins(&mut config)?;
    Ok(config)
}
