//! What learns: the team's policies, and what trains each of them.

use std::collections::BTreeMap;
use std::path::Path;

use super::TrainingError;
use super::ahead::Ahead;
use super::critics::ValueCritics;
use super::distant::restore_distant;
use super::replay::Replay;
use crate::publication::Publication;
use crate::team::Team;
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_estimators::credit::Credits;
use troupe_model::{Policy, PolicyError};
use troupe_trainer::{
    CreditedSample, DistantTrainer, Information, Member, Trainer, UpdateMetrics, fingerprint,
    information, rescore, update_together,
};

/// Policies in training, where they are published, and the answers that are drawn ahead of them.
pub(super) struct Learning {
    pub(super) team: Team,
    /// One for each policy that trains here.
    pub(super) trainers: BTreeMap<String, Trainer>,
    /// One for each that trains on a server.
    pub(super) distant: BTreeMap<String, DistantTrainer>,
    pub(super) publication: Publication,
    /// The answers of the next step, if they are drawn ahead.
    pub(super) ahead: Option<Ahead>,
    /// What critics of values have beside their policies.
    pub(super) critics: ValueCritics,
    /// What critics of preferences that do not learn any more are compared with.
    pub(super) starts: BTreeMap<String, Policy>,
    /// Answers of earlier steps, as far as they are learned from again.
    pub(super) replay: Replay,
}

impl Learning {
    /// The team as it is, with a trainer for each policy that trains.
    pub(super) fn begin(
        mut team: Team,
        config: &Config,
        folder: &Path,
    ) -> Result<Self, TrainingError> {
        team.find_engines(config)?;
        team.open_distant(config, true)?;
        let Team { policies, engines, role_map, ranks, .. } = &mut team;
        let publication = Publication::open(config, (policies, engines), role_map, folder, ranks)?;
        let mut trainers = BTreeMap::new();
        for (name, policy) in &team.policies {
            if config.trains(name) && !config.is_value_critic(name) {
                let trainer = Trainer::among(policy, &config.training_of(name), &team.ranks)?;
                trainers.insert(name.clone(), trainer);
            }
        }
        let trainer = |name: &String| DistantTrainer::new(&config.training_of(name));
        let distant = team.distant.keys().map(|name| (name.clone(), trainer(name))).collect();
        let critics = Learning::begin_critics(&team, config)?;
        let starts = Learning::load_starts(&team, config)?;
        let replay = Replay::of(config.replayed_steps());
        let ahead = None;
        Ok(Learning { team, trainers, distant, publication, ahead, critics, starts, replay })
    }

    /// Each policy learns from its own roles' samples. `spent` is the share of the budget that was
    /// spent, if there is one. Those on servers come first: if one of them fails, nothing here has
    /// changed yet.
    pub(super) fn update(
        &mut self,
        config: &Config,
        lessons: (&[Sample], &Credits),
        spent: Option<f64>,
        seed: Seed,
    ) -> Result<BTreeMap<String, UpdateMetrics>, TrainingError> {
        let mut metrics = self.update_distant(config, lessons, spent, seed)?;
        metrics.extend(self.update_here(config, lessons, spent, seed)?);
        self.settle_distant();
        Ok(metrics)
    }

    fn update_here(
        &mut self,
        config: &Config,
        (samples, credits): (&[Sample], &Credits),
        spent: Option<f64>,
        seed: Seed,
    ) -> Result<BTreeMap<String, UpdateMetrics>, TrainingError> {
        let sampling = self.team.role_map.sampling(&config.rollout);
        let regularizes_all = config.train.regularizes_all();
        let lessons: Vec<(Vec<CreditedSample>, Vec<&Sample>)> = self
            .trainers
            .keys()
            .filter(|name| !config.is_critic(name))
            .map(|name| (credited(name, samples, credits, regularizes_all), of(name, samples)))
            .collect();
        let mut policies: BTreeMap<_, _> = self.team.policies.iter_mut().collect();
        let (mut names, mut members) = (Vec::new(), Vec::new());
        let players = self.trainers.iter_mut().filter(|(name, _)| !config.is_critic(name));
        for ((name, trainer), (rows, samples)) in players.zip(&lessons) {
            trainer.set_spent(spent);
            let Some(policy) = policies.remove(name) else { continue };
            names.push(name.clone());
            members.push(Member { trainer, policy, rows, samples, seed: seed.named(name) });
        }
        Ok(names.into_iter().zip(update_together(members, &sampling)?).collect())
    }

    /// Whether a policy learns, here or on a server.
    pub(super) fn trains(&self, policy: &str) -> bool {
        self.trainers.contains_key(policy) || self.distant.contains_key(policy)
    }

    /// All ranks stop learning together.
    pub(super) fn check_weights(&self) -> Result<(), TrainingError> {
        if self.team.ranks.is_alone() {
            return Ok(());
        }
        let trained = self.trainers.keys().filter_map(|name| self.team.policies.get(name));
        let fingerprints: Vec<i64> = trained.map(fingerprint).collect::<Result<_, _>>()?;
        Ok(self.team.ranks.check("weights", fingerprints)?)
    }

    /// BLAKE3 of what is trained, by policy.
    pub(super) fn digests(&self) -> Result<BTreeMap<String, String>, TrainingError> {
        let trained = self.trainers.keys();
        let policies = trained.filter_map(|name| Some((name, self.team.policies.get(name)?)));
        Ok(policies
            .map(|(name, policy)| Ok((name.clone(), policy.trained_digest()?)))
            .collect::<Result<_, PolicyError>>()?)
    }

    /// How far what is trained is from the same of a checkpoint, by policy (Euclidean distance).
    pub(super) fn distances(
        &self,
        checkpoint: &Path,
    ) -> Result<BTreeMap<String, f64>, TrainingError> {
        let mut distances = BTreeMap::new();
        for name in self.trainers.keys() {
            let Some(policy) = self.team.policies.get(name) else { continue };
            let there = policy.restore(&checkpoint.join("policies").join(name))?;
            distances.insert(name.clone(), policy.trained_distance(&there)?);
        }
        Ok(distances)
    }

    /// The largest difference between a token's log-probability as sampled and as the training
    /// graph has it.
    pub(super) fn rescore(
        &self,
        config: &Config,
        samples: &[Sample],
    ) -> Result<f64, TrainingError> {
        let sampling = self.team.role_map.sampling(&config.rollout);
        let policies: Vec<(&Policy, Vec<&Sample>)> = (self.trainers.keys())
            .filter_map(|name| Some((self.team.policies.get(name)?, of(name, samples))))
            .collect();
        let tokens = config.train.microbatch_tokens;
        let logprobs = rescore(&self.team.ranks, &policies, &sampling, tokens)?;
        let sampled = policies.iter().flat_map(|(_, samples)| samples);
        let mut largest = 0.0_f64;
        for (sample, rescored) in sampled.zip(logprobs.iter().flatten()) {
            for (there, here) in sample.completion.logprobs.iter().zip(rescored) {
                largest = largest.max(f64::from((there - here).abs()));
            }
        }
        for name in self.distant.keys() {
            largest = largest.max(self.rescore_distant(name, &of(name, samples))?);
        }
        Ok(largest)
    }

    /// By role whose policy trains here, what its answers say of its prompts.
    pub(super) fn information(
        &self,
        config: &Config,
        samples: &[Sample],
        seed: Seed,
    ) -> Result<BTreeMap<String, Information>, TrainingError> {
        let Team { role_map, policies, ranks, .. } = &self.team;
        let sampling = role_map.sampling(&config.rollout);
        let mut found = BTreeMap::new();
        for role in role_map.trained_roles() {
            let name = role_map.policy_of(&role);
            let (Some(policy), true) = (policies.get(name), self.trainers.contains_key(name))
            else {
                continue;
            };
            let own = samples.iter().filter(|sample| sample.role == role && sample.policy == name);
            let own: Vec<&Sample> = own.collect();
            let settings = (seed.named(&role), ranks, config.train.microbatch_tokens);
            if let Some(of_role) = information(policy, &own, &sampling, settings)? {
                found.insert(role, of_role);
            }
        }
        Ok(found)
    }

    /// Write what a checkpoint holds of it into the folder.
    pub(super) fn save(&self, config: &Config, folder: &Path) -> Result<(), TrainingError> {
        for (name, policy) in self.team.policies.iter().filter(|(name, _)| changes(config, name)) {
            policy.save(&folder.join("policies").join(name))?;
        }
        for (name, trainer) in &self.trainers {
            trainer.save(&folder.join("optimizers").join(name))?;
        }
        self.save_critics(folder)?;
        self.save_distant(folder)?;
        Ok(self.save_ahead(folder)?)
    }

    /// Be what a checkpoint holds: policies, and what trains them.
    pub(super) fn go_back(
        &mut self,
        config: &Config,
        checkpoint: &Path,
    ) -> Result<(), TrainingError> {
        restore(&mut self.team, config, checkpoint)?;
        self.load_trainers(checkpoint)
    }

    /// What trains policies, as a checkpoint holds it.
    pub(super) fn load_trainers(&mut self, checkpoint: &Path) -> Result<(), TrainingError> {
        for (name, trainer) in &mut self.trainers {
            trainer.load(&checkpoint.join("optimizers").join(name))?;
        }
        Ok(())
    }
}

/// Put the policies of a checkpoint in place of those of the team.
pub(crate) fn restore(
    team: &mut Team,
    config: &Config,
    checkpoint: &Path,
) -> Result<(), TrainingError> {
    for (name, policy) in &mut team.policies {
        if changes(config, name) {
            *policy = policy.restore(&checkpoint.join("policies").join(name))?;
        }
    }
    restore_distant(team, checkpoint)
}

/// Whether a run changes this policy, by training it or with the one that it is a snapshot of.
fn changes(config: &Config, name: &str) -> bool {
    config.trains(name) || config.source_of(name).is_some()
}

/// The samples of a policy.
pub(super) fn of<'a>(name: &str, samples: &'a [Sample]) -> Vec<&'a Sample> {
    samples.iter().filter(|sample| sample.policy == name).collect()
}

/// What a policy learns from: its samples that count, with or without an advantage.
pub(super) fn credited<'a>(
    name: &str,
    samples: &'a [Sample],
    credits: &Credits,
    regularizes_all: bool,
) -> Vec<CreditedSample<'a>> {
    let credits = credits.advantages.iter().zip(&credits.weights);
    let rows = samples.iter().zip(credits).filter(|(sample, _)| sample.policy == name);
    let counting = rows.filter(|(_, (advantage, weight))| {
        **weight > 0.0 && (advantage.is_some() || regularizes_all)
    });
    counting
        .map(|(sample, (&advantage, &weight))| CreditedSample { sample, advantage, weight })
        .collect()
}
