//! What decides what comes out of a run, as one short name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use troupe_core::config::Config;
use troupe_core::storage::{digest, digest_file};

/// Digits of an address.
const DIGITS: usize = 16;

/// Makes addresses, and remembers digests of files.
#[derive(Debug)]
pub struct Addresses {
    /// What is the same in all of them: the program and its device.
    common: String,
    digests: BTreeMap<PathBuf, String>,
}

impl Addresses {
    /// The addresses of what this program makes on a device.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub fn new(program: &Path, device: &str) -> Result<Self, ExperimentError> {
        let common = format!("{} on {device}", digest_file(program)?);
        Ok(Addresses { common, digests: BTreeMap::new() })
    }

    /// The digest of the program and its device.
    pub fn common(&self) -> &str {
        &self.common
    }

    /// The address of what these say together.
    pub fn of(&self, parts: &[&str]) -> String {
        let text = serde_json::json!([self.common, parts]).to_string();
        digest(text.as_bytes())[..DIGITS].to_owned()
    }

    /// A configuration with digests in place of the files that it names, and without what only
    /// says where a run lies. Weights are named by their paths: they may be large.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn identity(&mut self, config: &Config) -> Result<String, ExperimentError> {
        let mut bare = config.clone();
        bare.run = Default::default();
        let plugins = std::mem::take(&mut bare.plugins.files);
        bare.plugins.path.clear();
        let interpreters = std::mem::take(&mut bare.sandbox.interpreters);
        let families = config.families();
        let records = families.iter().flat_map(|family| {
            let tasks = &family.tasks;
            [&tasks.files, &tasks.train, &tasks.validation, &tasks.test].into_iter().flatten()
        });
        let files = plugins.iter().chain(&interpreters).chain(records);
        let mut text = bare.to_toml();
        for file in files.chain(&config.retrieval.corpus) {
            let name = file.file_name().unwrap_or_default().display();
            text.push_str(&format!("\n{name} {}", self.digest(file)?));
        }
        Ok(text)
    }

    /// The digest of a file; of what is none, as an interpreter that is named only, nothing.
    pub fn digest(&mut self, file: &Path) -> Result<String, ExperimentError> {
        if let Some(known) = self.digests.get(file) {
            return Ok(known.clone());
        }
        let digest = if file.is_file() { digest_file(file)? } else { String::new() };
        self.digests.insert(file.to_owned(), digest.clone());
        Ok(digest)
    }
}
