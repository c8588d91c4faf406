//! Policies that are several others: how these come to answer in their place.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{Team, TeamError};
use crate::rollout::{ChosenBy, Council, Ensemble, RoleMap, Verdict};
use crate::situations::{Played, SituationTable};
use troupe_core::config::{Config, EnsembleBy, EnsembleConfig};
use troupe_core::storage::read_json;
use troupe_model::{Policy, PolicyError};

/// Have the members of every policy that is several play its roles. Until it is said who answers
/// when, they are drawn.
pub(super) fn gather(config: &Config, role_map: &mut RoleMap) {
    let playing = role_map.policies();
    for (name, ensemble) in config.ensembles().filter(|(name, _)| playing.contains_key(*name)) {
        let members = ensemble.members.clone();
        role_map.gather(name, Ensemble { members, by: ChosenBy::Random });
    }
}

impl Team {
    /// Say which members answer when, now that they are loaded.
    pub(super) fn settle_ensembles(&mut self, config: &Config) -> Result<(), TeamError> {
        let playing: Vec<String> = self.role_map.ensembles().keys().cloned().collect();
        for (name, ensemble) in config.ensembles().filter(|(name, _)| playing.contains(name)) {
            self.check_tokens(name, &ensemble.members)?;
            let by = match (ensemble.by, &ensemble.table) {
                (EnsembleBy::Situation, Some(path)) => self.read_table(name, ensemble, path)?,
                (EnsembleBy::Situation | EnsembleBy::Random, _) => ChosenBy::Random,
                (EnsembleBy::Vote, _) => self.convene(config, name, Verdict::Vote)?,
                (EnsembleBy::Boltzmann, _) => {
                    self.convene(config, name, Verdict::Boltzmann(ensemble.temperature))?
                }
            };
            self.role_map.choose_by(name, by);
        }
        Ok(())
    }

    /// The digests of a policy's members, by name.
    ///
    /// # Errors
    /// If weights cannot be copied from their device.
    pub fn digests_of(&self, members: &[String]) -> Result<BTreeMap<String, String>, TeamError> {
        let digest = |name: &String| {
            let digest = self.policies[name].digest();
            let failed = |reason| TeamError::Policy { name: name.clone(), reason };
            Ok((name.clone(), digest.map_err(failed)?))
        };
        members.iter().map(digest).collect()
    }

    /// Members are compared, and may weigh each other's answers.
    fn check_tokens(&self, name: &str, members: &[String]) -> Result<(), TeamError> {
        let policy = |member: &String| &self.policies[member];
        let first = policy(&members[0]);
        let unlike = members.iter().find(|member| !first.reads_like(policy(member)));
        unlike.map_or(Ok(()), |other| {
            Err(TeamError::UnlikeMembers {
                policy: name.to_owned(),
                member: members[0].clone(),
                other: other.clone(),
            })
        })
    }

    fn read_table(
        &mut self,
        name: &str,
        ensemble: &EnsembleConfig,
        path: &Path,
    ) -> Result<ChosenBy, TeamError> {
        let table: SituationTable = read_json(path)?;
        let members = self.digests_of(&ensemble.members)?;
        if let Some(reason) = table.unfit(&members, &Played::of(&self.families)) {
            let (policy, path) = (name.to_owned(), path.to_owned());
            return Err(TeamError::OtherSituations { policy, path, reason });
        }
        let by = table.chooser(&ensemble.members);
        self.situations.insert(name.to_owned(), table);
        Ok(by)
    }

    /// Have the members answer together.
    fn convene(
        &mut self,
        config: &Config,
        name: &str,
        verdict: Verdict,
    ) -> Result<ChosenBy, TeamError> {
        let failed = |reason: PolicyError| TeamError::Policy { name: name.to_owned(), reason };
        let share = |member: &str| -> Result<(String, Policy), PolicyError> {
            Ok((member.to_owned(), self.policies[member].share()?))
        };
        let members = self.role_map.members(name).into_iter().map(share);
        let members = members.collect::<Result<_, _>>().map_err(failed)?;
        let cache_bytes = config.rollout.cache_bytes();
        self.role_map.connect(name, Arc::new(Council::new(members, verdict, cache_bytes)));
        Ok(ChosenBy::Together)
    }
}
