//! What is published of policies in training: adapters in folders, which engines on servers are
//! told to read so that they can draw answers.
//!
//! An adapter is published once, under a name and a path that were never used before: an engine
//! keeps keys and values by an adapter's name, and reads its files whenever it likes. So a name is
//! of a session of a run and a version, the version before is unloaded only when the next one
//! answers, and its folder goes a publication later still. Nothing answers that has not shown by a
//! `canary` that it is the policy.

mod canary;
mod error;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::rollout::{Policies, RoleMap};
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::storage::remove_folder;
use troupe_model::{Policy, RemoteEngine, SamplingByRole};
use troupe_trainer::ranks::Ranks;

use canary::Canary;
pub use canary::Disagreement;
pub use error::PublicationError;

/// A policy that an engine on a server answers for.
struct ServedPlace {
    engine: Arc<RemoteEngine>,
    /// Largest difference of the canary in nats per token.
    tolerance: f64,
    /// What answers there, and the policy that it is: the one in training may have learned more
    /// by the time of a check.
    answering: Option<(String, Policy)>,
    /// What is still loaded there, the oldest first.
    loaded: VecDeque<String>,
    /// Folders of what was unloaded.
    unloaded: Vec<String>,
}

/// The policies of a run that are published, and what of them is.
pub struct Publication {
    places: BTreeMap<String, ServedPlace>,
    /// Where adapters are written.
    folder: PathBuf,
    /// What the names of this session begin with.
    session: String,
    /// Which state of the policies was published last.
    label: Option<String>,
}

impl Publication {
    /// Have these engines answer for the policies of their names, by way of `folder`. What an
    /// earlier session of the run has left there is unloaded and removed.
    ///
    /// # Errors
    /// If a server does not answer or the folder cannot be used.
    pub fn open(
        config: &Config,
        (policies, engines): (&Policies, &BTreeMap<String, Arc<RemoteEngine>>),
        role_map: &mut RoleMap,
        folder: &Path,
        ranks: &Ranks,
    ) -> Result<Self, PublicationError> {
        let mut places = BTreeMap::new();
        for (name, engine) in engines {
            let Some(policy) = policies.get(name) else { continue };
            role_map.connect(name, engine.clone());
            let sampler = config.policies.get(name).and_then(|policy| policy.sampler.as_ref());
            let tolerance = sampler.and_then(|sampler| sampler.tolerance);
            let usual = if policy.is_bfloat16() { 0.05 } else { 0.001 };
            places
                .insert(name.clone(), ServedPlace::new(engine.clone(), tolerance.unwrap_or(usual)));
        }
        let publication = Publication {
            session: ranks.agree(|| Ok::<_, PublicationError>(session(folder)))?,
            // The server is in another folder.
            folder: std::path::absolute(folder).unwrap_or_default().join("sampler"),
            places,
            label: None,
        };
        if ranks.leads() && !publication.places.is_empty() {
            publication.clear()?;
        }
        Ok(publication)
    }

    /// Have the policies as they are now, which `label` names, answer on their servers. Returns
    /// the largest difference of a canary by role, or nothing if they do already.
    ///
    /// # Errors
    /// If a server cannot be told, or something else answers there. Then what answered before
    /// still does.
    pub fn publish(
        &mut self,
        label: &str,
        (policies, role_map): (&Policies, &RoleMap),
        sampling: &SamplingByRole,
        ranks: &Ranks,
    ) -> Result<Option<BTreeMap<String, f64>>, PublicationError> {
        if self.places.is_empty() || self.label.as_deref() == Some(label) {
            return Ok(None);
        }
        let canaries = ranks.agree(|| {
            let mut canaries = BTreeMap::new();
            for (name, place) in &mut self.places {
                let adapter = format!("{}-{name}-{label}", self.session);
                place.load(name, &policies[name], &adapter, &self.folder)?;
                let earlier = place.answering.as_ref().map(|(_, policy)| policy);
                let policies = (&policies[name], earlier);
                canaries.extend(place.ask(name, policies, &adapter, (role_map, sampling))?);
            }
            Ok::<_, PublicationError>(canaries)
        })?;
        for (name, place) in &mut self.places {
            place.turn_to(format!("{}-{name}-{label}", self.session), policies[name].duplicate()?);
            if ranks.leads() {
                place.drop_old(name, &self.folder)?;
            }
        }
        self.label = Some(label.to_owned());
        Ok(Some(canaries))
    }

    /// Make sure that what was published still answers: asked after answers that will be learned
    /// from, and before they are. Returns the difference of each role's canary.
    ///
    /// # Errors
    /// If something else answers by now.
    pub fn check(
        &self,
        role_map: &RoleMap,
        sampling: &SamplingByRole,
        ranks: &Ranks,
    ) -> Result<BTreeMap<String, f64>, PublicationError> {
        ranks.agree(|| {
            let mut canaries = BTreeMap::new();
            for (name, place) in &self.places {
                let Some((adapter, policy)) = &place.answering else { continue };
                canaries.extend(place.ask(name, (policy, None), adapter, (role_map, sampling))?);
            }
            Ok(canaries)
        })
    }

    /// Take everything back.
    ///
    /// # Errors
    /// If a server does not answer or the folder cannot be removed.
    pub fn close(&mut self, ranks: &Ranks) -> Result<(), PublicationError> {
        if self.places.is_empty() || !ranks.leads() {
            return Ok(());
        }
        self.label = None;
        self.clear()
    }

    fn clear(&self) -> Result<(), PublicationError> {
        for (name, place) in &self.places {
            let failed = |failure| PublicationError::server(name, &place.engine, failure);
            for adapter in place.engine.loaded_from(&self.folder).map_err(failed)? {
                place.engine.unload(&adapter).map_err(failed)?;
            }
        }
        Ok(remove_folder(&self.folder)?)
    }
}

impl ServedPlace {
    fn new(engine: Arc<RemoteEngine>, tolerance: f64) -> Self {
        ServedPlace {
            engine,
            tolerance,
            answering: None,
            loaded: VecDeque::new(),
            unloaded: Vec::new(),
        }
    }

    fn load(
        &mut self,
        name: &str,
        policy: &Policy,
        adapter: &str,
        folder: &Path,
    ) -> Result<(), PublicationError> {
        let path = folder.join(adapter);
        policy.save(&path)?;
        let failed = |failure| PublicationError::server(name, &self.engine, failure);
        self.engine.load(adapter, &path).map_err(failed)?;
        self.loaded.push_back(adapter.to_owned());
        Ok(())
    }

    /// Ask a canary of each role that the policy plays; the earlier one would be recognized.
    fn ask(
        &self,
        name: &str,
        (policy, earlier): (&Policy, Option<&Policy>),
        adapter: &str,
        (role_map, sampling): (&RoleMap, &SamplingByRole),
    ) -> Result<BTreeMap<String, f64>, PublicationError> {
        let roles = role_map.policies().remove(name).unwrap_or_default();
        let mut canaries = BTreeMap::new();
        for role in roles {
            let sampling = sampling.of(&role);
            let canary = Canary { policy: name, role: &role, engine: &self.engine, sampling };
            let difference = canary.ask(adapter, policy, earlier, self.tolerance)?;
            canaries.insert(role, difference);
        }
        Ok(canaries)
    }

    fn turn_to(&mut self, adapter: String, policy: Policy) {
        self.engine.choose(&adapter);
        self.answering = Some((adapter, policy));
    }

    /// Unload what no longer answers, and remove the folders of what was unloaded a publication
    /// ago: an engine that still wanted to read one would end.
    fn drop_old(&mut self, name: &str, folder: &Path) -> Result<(), PublicationError> {
        for adapter in self.unloaded.drain(..) {
            remove_folder(&folder.join(adapter))?;
        }
        while self.loaded.len() > 1
            && let Some(old) = self.loaded.pop_front()
        {
            let failed = |failure| PublicationError::server(name, &self.engine, failure);
            self.engine.unload(&old).map_err(failed)?;
            self.unloaded.push(old);
        }
        Ok(())
    }
}

/// What no other session calls its adapters: the run's name, and a number of its own.
fn session(run: &Path) -> String {
    let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = Seed::new(now.as_nanos() as u64).at(u64::from(std::process::id()));
    format!("{}-{:08x}", name.chars().map(plain).collect::<String>(), number.value_u32())
}
