//! Policies that servers have: how they join a team, and leave it as files.

use std::path::Path;
use std::sync::Arc;

use super::{Team, TeamError};
use troupe_core::config::{Config, TrainConfig};
use troupe_core::seed::Seed;
use troupe_core::storage::read_json;
use troupe_model::Speaker;
use troupe_tinker::{Conducts, TinkerPolicy};

/// The file in which a checkpoint says where such a policy is kept.
pub(crate) const KEPT: &str = "tinker.json";

impl Team {
    /// Have the servers make those policies that they are to have, or bring them back; if they
    /// are to `learn`, it is found out what the servers do. Those that are there are left alone.
    ///
    /// # Errors
    /// If a server does not answer, or cannot be right for the configuration.
    pub fn open_distant(&mut self, config: &Config, learn: bool) -> Result<(), TeamError> {
        let mut conducts = Conducts::new();
        let speakers: Vec<(String, Speaker)> = (self.speakers.iter())
            .filter(|(name, _)| !self.distant.contains_key(*name))
            .map(|(name, speaker)| (name.clone(), speaker.clone()))
            .collect();
        for (name, speaker) in speakers {
            let Some(tinker) = config.policies.get(&name).and_then(|it| it.tinker.as_ref()) else {
                continue;
            };
            if !self.ranks.is_alone() {
                return Err(TeamError::DistantRanks { policy: name });
            }
            let is_there = |name: &&String| {
                let other = config.policies.get(*name).and_then(|it| it.tinker.as_ref());
                other.is_some_and(|other| other.url == tinker.url)
            };
            let there = self.speakers.keys().filter(is_there).count();
            let learning = learn.then_some((&config.train, there));
            let policy =
                Arc::new(distant_policy(config, (&name, speaker), learning, &mut conducts)?);
            self.role_map.connect(&name, policy.clone());
            self.distant.insert(name, policy);
        }
        Ok(())
    }

    /// The same for a run that goes on from a checkpoint, which says where each of them stands:
    /// what they once began at is not asked for, and may be gone.
    ///
    /// # Errors
    /// As above.
    pub fn reopen_distant(&mut self, config: &Config) -> Result<(), TeamError> {
        let mut config = config.clone();
        for tinker in config.policies.values_mut().filter_map(|policy| policy.tinker.as_mut()) {
            tinker.path = None;
        }
        self.open_distant(&config, true)
    }
}

/// A policy on its server: fresh, or as a checkpoint has it.
fn distant_policy(
    config: &Config,
    (name, speaker): (&str, Speaker),
    learning: Option<(&TrainConfig, usize)>,
    conducts: &mut Conducts,
) -> Result<TinkerPolicy, TeamError> {
    let own = config.policies.get(name).and_then(|policy| policy.tinker.clone());
    let tinker = own.unwrap_or_default();
    let seed = Seed::new(config.run.seed).named("policy").named(name).named("adapter");
    let (name, url) = (name.to_owned(), tinker.url.clone());
    let failed = |failure| TeamError::Distant { name, url, failure };
    let policy = match TinkerPolicy::open(&tinker, speaker, learning, conducts, seed) {
        Ok(policy) => policy,
        Err(failure) => return Err(failed(failure)),
    };
    if let Some(folder) = &tinker.path {
        policy.begin_at(&read_json(&folder.join(KEPT))?).map_err(failed)?;
    }
    Ok(policy)
}

/// Write the adapter of a policy that a server has, as a checkpoint has it, into a folder that
/// `peft` reads.
///
/// # Errors
/// If the server does not answer or no longer has that state, or the folder cannot be written.
pub fn export_distant(config: &Config, name: &str, folder: &Path) -> Result<(), TeamError> {
    let tokenizer = config.policies.get(name).and_then(|it| Some(&it.tinker.as_ref()?.tokenizer));
    let failed = |reason| TeamError::Policy { name: name.to_owned(), reason };
    let speaker = Speaker::load(tokenizer.map_or(Path::new(""), |it| it)).map_err(failed)?;
    let policy = distant_policy(config, (name, speaker), None, &mut Conducts::new())?;
    let exported = policy.export(folder).map_err(failed);
    // What is left is dropped by the server in time.
    let _ = policy.close();
    exported
}
