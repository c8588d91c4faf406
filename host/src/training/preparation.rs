//! What is settled before the first step.

use crate::config::{Config, ConfigError};
use crate::policy::{Device, Policy};
use crate::team::Team;
use crate::trainer::{Base, DoesNotFit, Machine, Plan, destroys, suitable_rate};

/// The configuration with the learning rate that suits the policies, if none
/// is set and one suits all that are trained.
///
/// # Errors
/// If the one that is set is known to destroy a policy.
pub fn settle_learning_rate(config: &Config, team: &Team) -> Result<Config, ConfigError> {
    let trained = team.policies.iter().filter(|(name, _)| config.trains(name));
    let rate = config.train.learning_rate;
    if let Some((name, policy)) = trained.clone().find(|(_, policy)| destroys(policy, rate)) {
        let reason = format!(
            "{rate:e} on all weights of a language model such as the policy `{name}` destroys it \
             within a few steps; leave it out for {:e}, or train an adapter: \
             policies.{name}.base in place of path",
            suitable_rate(policy)
        );
        return Err(ConfigError::Invalid { key: "train.learning_rate".to_owned(), reason });
    }
    let mut config = config.clone();
    let mut suitable = trained.map(|(_, policy)| suitable_rate(policy));
    if let Some(first) = suitable.next().filter(|_| rate == 0.0)
        && suitable.all(|other| other == first)
    {
        config.train.learning_rate = first;
    }
    Ok(config)
}

/// What a run of this team will need of memory. Weights are there already.
///
/// # Errors
/// If it does not fit.
pub fn plan(config: &Config, team: &Team) -> Result<Plan, DoesNotFit> {
    let policies: Vec<(&Policy, bool)> =
        team.policies.iter().map(|(name, policy)| (policy, config.trains(name))).collect();
    let bases = Base::of_policies(&policies);
    let device = policies.first().map_or_else(Device::cpu, |(policy, _)| policy.device());
    let loaded = bases.iter().map(Base::loaded).sum::<u64>();
    // What is free in the machine's memory is for all processes of the run that are on it.
    let neighbors = team.ranks.neighbors() as u64;
    let host_memory = Device::cpu().free_memory().unwrap_or(u64::MAX) / neighbors;
    let free = match device.is_gpu() {
        true => device.free_memory().unwrap_or(u64::MAX),
        false => host_memory,
    };
    let machine = Machine {
        gpu: device.is_gpu(),
        threads: policies.iter().map(|(policy, _)| policy.threads()).max().unwrap_or(1),
        memory: free.saturating_add(loaded),
        host_memory,
    };
    Plan::of(&bases, &config.train, &config.rollout, &machine)
}
