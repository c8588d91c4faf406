//! Policies that servers have: their updates, their states in checkpoints, and the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::learning::{Learning, credited, of};
use super::{Training, TrainingError};
use crate::team::{KEPT, Team};
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::storage::{StorageError, create_folder, list_folder, read_json, write_json};
use troupe_core::trajectory::Sample;
use troupe_estimators::credit::Credits;
use troupe_tinker::{Kept, TinkerFailure, TinkerPolicy};
use troupe_trainer::{
    CreditedSample, Distant, DistantMember, DistantTrainer, TrainerError, UpdateMetrics,
    update_distant,
};

impl Learning {
    /// Policies on servers learn from their own samples, all at the same time. What they were is
    /// what they go back to until [`Learning::settle_distant`]. If one of them fails, none has made
    /// an update.
    pub(super) fn update_distant(
        &mut self,
        config: &Config,
        (samples, credits): (&[Sample], &Credits),
        spent: Option<f64>,
        seed: Seed,
    ) -> Result<BTreeMap<String, UpdateMetrics>, TrainingError> {
        let sampling = self.team.role_map.sampling(&config.rollout);
        let regularizes_all = config.train.regularizes_all();
        let distant = &self.team.distant;
        let before = self.distant.clone();
        let update = |name: &String, trainer: &mut DistantTrainer| {
            let policy = &*distant[name];
            trainer.set_spent(spent);
            let rows: Vec<CreditedSample> = credited(name, samples, credits, regularizes_all);
            let samples = of(name, samples);
            let (rows, samples, seed) = (&rows[..], &samples[..], seed.named(name));
            let mut member = DistantMember { trainer, policy, rows, samples, seed };
            Ok::<_, TrainingError>((name.clone(), update_distant(&mut member, &sampling)?))
        };
        let updated: Vec<Result<_, TrainingError>> = thread::scope(|scope| {
            let threads: Vec<_> = (self.distant.iter_mut())
                .map(|(name, trainer)| scope.spawn(move || update(name, trainer)))
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let updated: Result<_, TrainingError> = updated.into_iter().collect();
        if updated.is_err() {
            self.distant = before;
        }
        updated
    }

    /// From now on, policies on servers go back to what they have become.
    pub(super) fn settle_distant(&self) {
        self.team.distant.values().for_each(|policy| policy.settle());
    }

    /// Have policies on servers draw as they are. Gives the canaries' differences by role.
    pub(super) fn publish_distant(&self) -> Result<BTreeMap<String, f64>, TrainingError> {
        let mut canaries = BTreeMap::new();
        let mut roles = self.team.role_map.policies();
        for (name, policy) in &self.team.distant {
            let difference = policy.publish().map_err(|failure| failed(name, policy, failure))?;
            let roles = roles.remove(name).unwrap_or_default();
            canaries.extend(roles.into_iter().map(|role| (role, difference)));
        }
        Ok(canaries)
    }

    /// The largest difference between a token's log-probability as drawn and as the server scores
    /// it.
    pub(super) fn rescore_distant(
        &self,
        name: &str,
        samples: &[&Sample],
    ) -> Result<f64, TrainingError> {
        let scored = self.team.distant[name].score(samples).map_err(TrainerError::from)?;
        let pairs = samples.iter().zip(&scored);
        let gaps = pairs.flat_map(|(sample, scored)| sample.completion.logprobs.iter().zip(scored));
        Ok(gaps.map(|(drawn, scored)| f64::from((drawn - scored).abs())).fold(0.0, f64::max))
    }

    /// Write into a checkpoint where policies on servers are kept.
    pub(super) fn save_distant(&self, checkpoint: &Path) -> Result<(), StorageError> {
        for (name, policy) in &self.team.distant {
            let folder = checkpoint.join("policies").join(name);
            create_folder(&folder)?;
            let trainer = self.distant.get(name);
            let updates = trainer.map_or(0, DistantTrainer::step);
            let caution = trainer.map(DistantTrainer::caution).unwrap_or_default();
            write_json(&folder.join(KEPT), &policy.kept(updates, caution))?;
        }
        Ok(())
    }

    /// Count updates from where a checkpoint stands.
    pub(super) fn load_distant(&mut self, checkpoint: &Path) -> Result<(), StorageError> {
        for (name, trainer) in &mut self.distant {
            let kept = kept_in(checkpoint, name)?;
            trainer.go_on(kept.updates, kept.caution);
        }
        Ok(())
    }

    /// Remove the states on servers that no checkpoint names.
    pub(super) fn forget_distant(&self, checkpoints: &Path) -> Result<(), StorageError> {
        if self.team.distant.is_empty() {
            return Ok(());
        }
        let mut needed: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
        for step in list_folder(checkpoints)? {
            for name in self.team.distant.keys() {
                // One that cannot be read is told of when it is to be used.
                if let Ok(kept) = kept_in(&checkpoints.join(&step), name) {
                    needed.entry(name).or_default().insert(kept.path);
                }
            }
        }
        for (name, policy) in &self.team.distant {
            let needed: Vec<String> = needed.remove(name).into_iter().flatten().collect();
            policy.forget_all_but(&needed);
        }
        Ok(())
    }
}

impl Training {
    /// The policies that are on servers, which are to be left clean.
    pub fn distant(&self) -> BTreeMap<String, Arc<TinkerPolicy>> {
        self.learning.team.distant.clone()
    }
}

/// Put the policies of a checkpoint in place of those on servers.
pub(super) fn restore_distant(team: &Team, checkpoint: &Path) -> Result<(), TrainingError> {
    for (name, policy) in &team.distant {
        let kept = kept_in(checkpoint, name)?;
        policy.restore(&kept).map_err(|failure| failed(name, policy, failure))?;
    }
    Ok(())
}

fn kept_in(checkpoint: &Path, name: &str) -> Result<Kept, StorageError> {
    read_json(&checkpoint.join("policies").join(name).join(KEPT))
}

fn failed(name: &str, policy: &TinkerPolicy, failure: TinkerFailure) -> TrainingError {
    TrainingError::Distant { policy: name.to_owned(), url: policy.url().to_owned(), failure }
}
