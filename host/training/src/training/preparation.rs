//! What is settled before the first step.

use crate::team::Team;
use troupe_core::config::{AnchorChoice, Config, ConfigError, Importance};
use troupe_guests::scenario::Next;
use troupe_model::{Device, Policy, resident_memory};
use troupe_trainer::{
    Base, DistantTrainer, DoesNotFit, Load, Machine, Plan, critic_bytes, destroys,
    is_language_model, suitable_rate,
};

/// Tasks whose first prompts say how long prompts are.
const TASKS_FOR_PROMPTS: u32 = 16;

/// The configuration with what depends on the policies: a learning rate that suits those that are
/// trained, if none is set and one suits all, and where ratios begin.
///
/// # Errors
/// If a learning rate that is set is known to destroy a policy.
pub fn settle(config: &Config, team: &Team) -> Result<Config, ConfigError> {
    let mut config = settle_learning_rate(config, team)?;
    let trained = team.policies.iter().filter(|(name, _)| config.trains(name));
    let is_coarse = trained.into_iter().any(|(_, policy)| policy.is_bfloat16());
    let train = &mut config.train;
    if train.anchor == AnchorChoice::Auto {
        train.anchor = match is_coarse || train.importance.weighs() {
            true => AnchorChoice::Rescored,
            false => AnchorChoice::Sampled,
        };
    }
    if train.importance == Importance::Auto {
        train.importance = match is_coarse && train.anchor == AnchorChoice::Rescored {
            true => Importance::Truncate,
            false => Importance::None,
        };
    }
    Ok(config)
}

fn settle_learning_rate(config: &Config, team: &Team) -> Result<Config, ConfigError> {
    let trained = team.policies.iter().filter(|(name, _)| config.trains(name));
    let rate_of = |name: &String| config.training_of(name).learning_rate;
    let destroyed = trained.clone().find(|(name, policy)| destroys(policy, rate_of(name)));
    if let Some((name, policy)) = destroyed {
        let rate = rate_of(name);
        let reason = format!(
            "{rate:e} on all weights of a language model such as the policy `{name}` destroys it \
             within a few steps; leave it out for {:e}, or train an adapter: \
             policies.{name}.base in place of path",
            suitable_rate(policy)
        );
        let key = match config.policies.get(name).and_then(|own| own.learning_rate) {
            Some(_) => format!("policies.{name}.learning_rate"),
            None => "train.learning_rate".to_owned(),
        };
        return Err(ConfigError::Invalid { key, reason });
    }
    let unset = trained.filter(|(name, _)| rate_of(name) == 0.0);
    let here = unset.map(|(_, policy)| suitable_rate(policy));
    let players = team.role_map.policies();
    let elsewhere = config.over_tinker().map(|(name, _)| name);
    let elsewhere = elsewhere.filter(|name| players.contains_key(*name) && rate_of(name) == 0.0);
    let suitable = common(here, elsewhere.map(|_| DistantTrainer::SUITABLE_RATE));
    let mut config = config.clone();
    config.train.learning_rate = suitable.unwrap_or(config.train.learning_rate);
    Ok(config)
}

/// The learning rate that suits all that are trained, `here` and `elsewhere`. Where there is none,
/// each takes its own; so do those that are all elsewhere.
fn common(
    mut here: impl Iterator<Item = f64>,
    elsewhere: impl Iterator<Item = f64>,
) -> Option<f64> {
    let first = here.next()?;
    here.chain(elsewhere).all(|other| other == first).then_some(first)
}

/// What is to be said of a language model whose weights are of a type that its device is slow with:
/// how slow, measured now.
pub fn slow_dtype(team: &Team) -> Option<String> {
    let is_slow = |policy: &&Policy| {
        is_language_model(policy) && policy.config().dtype() != policy.device().suited_dtype()
    };
    let policy = team.policies.values().find(is_slow)?;
    let (device, dtype) = (policy.device(), policy.config().dtype());
    Some(format!(
        "note: weights are {}, whose products take {:.1} times as long here as those of {} \
         (measured just now): dtype = \"auto\" beside the policy's path takes what suits the \
         processor",
        dtype.name(),
        device.slowdown(dtype),
        device.suited_dtype().name()
    ))
}

/// The longest of the first prompts of some tasks, in tokens; none where a policy cannot read them,
/// which shows when it is asked.
fn prompt_tokens(team: &Team) -> u64 {
    let tasks = (TASKS_FOR_PROMPTS / team.families.len() as u32).max(1);
    let mut longest = 0;
    for family in &team.families {
        for task in 0..tasks {
            let Ok(start) = family.scenario.begin(family.first_split(), task) else { continue };
            let Next::Asked(position) = start.next else { continue };
            for due in &position.due {
                let readers = team.role_map.members(team.role_map.policy_of(due.role()));
                let policy = readers.into_iter().find_map(|name| team.policies.get(name));
                let prompt = policy.map(|policy| {
                    let thinking = team.role_map.thinking(due.role());
                    policy.encode_prompt(&due.messages, &due.tools, thinking)
                });
                longest = prompt.and_then(Result::ok).map_or(0, |prompt| prompt.len()).max(longest);
            }
        }
    }
    longest as u64
}

/// Turns of a seat in a training episode at most: where none are set, those that an environment
/// advises.
fn turns(team: &Team) -> usize {
    let trained = team.families.iter().filter(|family| family.is_trained());
    let rungs = trained.flat_map(|family| &family.rungs);
    rungs.map(|rung| rung.max_turns).max().unwrap_or(1).max(1)
}

/// What a step of this team holds at most.
fn load(config: &Config, team: &Team) -> Load {
    let (rollout, train) = (&config.rollout, &config.train);
    let roles = team.roles().len() as u64;
    let asked = rollout.tasks_per_step as u64 * roles;
    let groups = asked * turns(team) as u64;
    let mini_batch = train.minibatch_samples.div_ceil(rollout.branches.max(1)) as u64;
    let groups = if mini_batch == 0 { groups } else { groups.min(mini_batch) };
    let held_out = &config.validation;
    let tasks = held_out.tasks.max(held_out.tasks_during_training);
    let examined = (tasks * team.families.len()) as u64;
    let critics = config.critics().filter(|(name, _)| config.trains(name));
    let critics = critics.filter_map(|(name, _)| {
        Some(critic_bytes(team.policies.get(name)?, config.is_value_critic(name)))
    });
    let critics = critics.sum();
    Load { prompt: prompt_tokens(team), groups, asked, examined, roles, critics }
}

/// What a run of this team will need of memory. Weights are there already.
///
/// # Errors
/// If it does not fit.
pub fn plan(config: &Config, team: &Team) -> Result<Plan, DoesNotFit> {
    plan_on(config, team, |bases| machine_of(team, bases))
}

/// The same on a card with so many bytes, which need not be here.
///
/// # Errors
/// If it does not fit.
pub fn plan_on_card(config: &Config, team: &Team, memory: u64) -> Result<Plan, DoesNotFit> {
    let card = Machine {
        gpu: true,
        threads: 1,
        memory: Some(memory),
        host_memory: None,
        program: 0,
        world: team.ranks.world() as u64,
    };
    plan_on(config, team, |_| card)
}

fn plan_on(
    config: &Config,
    team: &Team,
    machine: impl FnOnce(&[Base]) -> Machine,
) -> Result<Plan, DoesNotFit> {
    let policies: Vec<(&Policy, bool)> =
        team.policies.iter().map(|(name, policy)| (policy, config.trains(name))).collect();
    let bases = Base::of_policies(&policies);
    Plan::of(&bases, &config.train, &config.rollout, &load(config, team), &machine(&bases))
}

/// Where this team's policies are.
fn machine_of(team: &Team, bases: &[Base]) -> Machine {
    let device = team.policies.values().next().map_or_else(Device::cpu, Policy::device);
    let loaded = bases.iter().map(Base::loaded).sum::<u64>();
    // What is free in the machine's memory is for all processes of the run that are on it.
    let neighbors = team.ranks.neighbors() as u64;
    let host_memory = Device::cpu().free_memory().map(|free| free / neighbors);
    let free = match device.is_gpu() {
        true => device.free_memory(),
        false => host_memory,
    };
    let resident = if device.is_gpu() { None } else { resident_memory() };
    let program = resident.unwrap_or(0).saturating_sub(loaded);
    Machine {
        gpu: device.is_gpu(),
        threads: team.policies.values().map(Policy::threads).max().unwrap_or(1),
        memory: free.map(|free| free.saturating_add(loaded + program)),
        host_memory,
        program,
        world: team.ranks.world() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_on_a_server_and_one_that_is_here_have_one_rate_only_if_it_suits_both() {
        let of = |here: &[f64], elsewhere: &[f64]| {
            common(here.iter().copied(), elsewhere.iter().copied())
        };
        assert_eq!(of(&[1e-3, 1e-3], &[]), Some(1e-3));
        assert_eq!(of(&[1e-3, 2e-5], &[]), None);
        assert_eq!(of(&[1e-3], &[DistantTrainer::SUITABLE_RATE]), None);
        assert_eq!(of(&[2e-4], &[DistantTrainer::SUITABLE_RATE]), Some(2e-4));
        assert_eq!(of(&[], &[DistantTrainer::SUITABLE_RATE]), None);
    }
}
