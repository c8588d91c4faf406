//! How the policies of a team come to be there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::words::check_tokenizer;
use super::{Team, TeamError};
use crate::rollout::RoleMapError;
use troupe_core::config::{Config, PolicyConfig, RemoteConfig};
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy, PolicyError, RemotePolicy, Speaker};

/// Finds the server that is to answer for a policy; nothing if none is to be asked.
pub(super) type Connect = fn(&str, &RemoteConfig) -> Result<Option<RemotePolicy>, PolicyError>;

/// Ask the server that is to answer for a policy.
pub(super) fn connect(
    name: &str,
    remote: &RemoteConfig,
) -> Result<Option<RemotePolicy>, PolicyError> {
    RemotePolicy::connect(name, remote).map(Some)
}

/// Loads policies; a base that several share only once.
pub(super) struct Loader<'a> {
    config: &'a Config,
    words: &'a [String],
    device: Device,
    connect: Connect,
    bases: BTreeMap<String, Policy>,
}

impl Team {
    /// Load a policy that plays, or a critic, or find the server that answers in its place.
    pub(super) fn fill(&mut self, name: String, loader: &mut Loader) -> Result<(), TeamError> {
        let Loader { config, words, connect, .. } = *loader;
        let failed = |reason| TeamError::Policy { name: name.clone(), reason };
        if let Some(of) = config.source_of(&name)
            && !self.role_map.policies().contains_key(of)
        {
            let of = of.to_owned();
            return Err(RoleMapError::IdleSource { policy: name, of }.into());
        }
        if !config.trains(&name) {
            self.role_map.freeze(&name);
        }
        if let Some(remote) = config.policies.get(&name).and_then(|p| p.remote.as_ref()) {
            if let Some(remote) = connect(&name, remote).map_err(failed)? {
                self.role_map.connect(&name, Arc::new(remote));
            }
            return Ok(());
        }
        if let Some(tinker) = config.policies.get(&name).and_then(|p| p.tinker.as_ref()) {
            let mut speaker = Speaker::load(&tinker.tokenizer).map_err(failed)?;
            if let Some(chat) = &config.policies[&name].chat {
                speaker.set_chat_options(chat.into());
            }
            let unknown = speaker.unknown_words(&words.join(" "));
            check_tokenizer(&name, &unknown, &self.families, words)?;
            self.speakers.insert(name, speaker);
            return Ok(());
        }
        let policy = loader.load(&name).map_err(failed)?;
        check_tokenizer(&name, &policy.unknown_words(&words.join(" ")), &self.families, words)?;
        self.policies.insert(name, policy);
        Ok(())
    }
}

impl<'a> Loader<'a> {
    pub(super) fn new(
        config: &'a Config,
        words: &'a [String],
        device: Device,
        connect: Connect,
    ) -> Self {
        Loader { config, words, device, connect, bases: BTreeMap::new() }
    }

    fn load(&mut self, name: &str) -> Result<Policy, PolicyError> {
        // A snapshot begins as what it is a snapshot of begins as.
        let name = self.config.source_of(name).unwrap_or(name);
        let mut policy = self.load_weights(name)?;
        if let Some(chat) = &self.settings(name).chat {
            policy.set_chat_options(chat.into());
        }
        Ok(policy)
    }

    fn load_weights(&mut self, name: &str) -> Result<Policy, PolicyError> {
        let settings = self.settings(name);
        if let Some(base) = &settings.base {
            let lora = settings.lora.unwrap_or_default();
            let seed = self.seed(name).named("adapter");
            return self.base(base)?.adapt(&lora, seed);
        }
        match self.config.is_base(name) {
            true => self.base(name)?.share(),
            false => self.load_whole(name),
        }
    }

    fn base(&mut self, name: &str) -> Result<&Policy, PolicyError> {
        if !self.bases.contains_key(name) {
            let policy = self.load_whole(name)?;
            self.bases.insert(name.to_owned(), policy);
        }
        Ok(&self.bases[name])
    }

    fn load_whole(&self, name: &str) -> Result<Policy, PolicyError> {
        let settings = self.settings(name);
        match &settings.path {
            Some(path) => {
                let suited = self.device.suited_dtype();
                let dtype = settings.dtype.map(|choice| choice.settle(suited));
                Policy::load_in(path, dtype, self.device)
            }
            None => Policy::random(&settings, self.words, self.seed(name), self.device),
        }
    }

    fn settings(&self, name: &str) -> PolicyConfig {
        self.config.policies.get(name).cloned().unwrap_or_default()
    }

    fn seed(&self, name: &str) -> Seed {
        Seed::new(self.config.run.seed).named("policy").named(name)
    }
}
