//! What each role is good for: held-out tasks once more with roles played by somebody else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::checkpoint::load_step;
use crate::evaluation::{HeldOutTasks, evaluate_as};
use crate::family::Family;
use crate::rehearsal::beginners;
use crate::rollout::{Policies, Rollout, RolloutError};
use crate::team::{Team, TeamError};
use crate::training::{TrainingError, restore};
use troupe_core::blame::{Effect, Measure};
use troupe_core::config::Config;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::statistics::{mean, standard_error};
use troupe_core::storage::StorageError;
use troupe_core::trajectory::{Episode, Sample};
use troupe_model::{Device, PolicyError};

/// Up to so many roles all orders are gone through in which they could join a team.
const ALL_ORDERS: usize = 4;
/// Else so many are drawn.
const ORDERS: usize = 24;

/// Who plays a role in the place of its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Understudy {
    /// The policy as it was before the first step: after a warm start, or pretrained.
    Began,
    /// One that has learned nothing, where the run began with a warm start.
    Untrained,
    /// The environment's expert.
    Expert,
}

impl Understudy {
    /// All of them.
    pub const ALL: [Understudy; 3] = [Understudy::Began, Understudy::Untrained, Understudy::Expert];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Understudy::Began => "as it began",
            Understudy::Untrained => "untrained",
            Understudy::Expert => "the expert",
        }
    }
}

/// What came of it that a role was played by somebody else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnockedOut {
    /// The role.
    pub role: String,
    /// Who played it.
    pub understudy: Understudy,
    /// The share of the tasks that was solved so.
    pub success: f64,
    /// What the role's own policy adds to that, task by task.
    pub effect: Effect,
}

/// What the roles of a team are good for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleWorth {
    /// The step of the policies.
    pub step: usize,
    /// The part of the tasks, and how many of them.
    pub split: String,
    /// How many tasks.
    pub tasks: usize,
    /// The share that the team solves.
    pub success: f64,
    /// Each role with each understudy that answered in its place.
    pub roles: Vec<KnockedOut>,
}

/// A role's part in what a team solves more than its understudies: the mean of what it adds when
/// it joins, over the orders in which roles can (Shapley, 1953).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The role.
    pub role: String,
    /// Its part of the difference, a share of the tasks.
    pub value: f64,
    /// The standard error of it: over tasks, and over orders where not all were gone through.
    pub error: f64,
}

/// Why it cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum KnockOutError {
    /// The run no longer has its first policies.
    #[error(
        "nobody can play a role as it began: {0}; a run keeps its first checkpoint with \
         validation.knock_out = \"always\""
    )]
    NoBeginning(StorageError),
    /// The team cannot be put together.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// A checkpoint cannot be put in place.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// A checkpoint's policy cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The policies cannot answer.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
}

impl Coded for KnockOutError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            KnockOutError::NoBeginning(error) => error.code(),
            KnockOutError::Team(error) => error.code(),
            KnockOutError::Training(error) => error.code(),
            KnockOutError::Policy(error) => error.code(),
            KnockOutError::Rollout(error) => error.code(),
        }
    }
}

/// A run's team, and all who can stand in for its roles.
pub struct Company {
    team: Team,
    config: Config,
    step: usize,
    /// The roles that learn, and whose policies are here.
    roles: Vec<String>,
    /// Who can stand in for which of them.
    understudies: BTreeSet<(String, Understudy)>,
}

impl Company {
    /// Put together the team of a run at one of its checkpoints.
    ///
    /// # Errors
    /// If its first checkpoint is gone, or something cannot be read.
    pub fn gather(
        config: &Config,
        checkpoints: &Path,
        step: usize,
        device: Device,
    ) -> Result<Self, KnockOutError> {
        let first = load_step(checkpoints, 0).map_err(KnockOutError::NoBeginning)?;
        let mut team = Team::assemble(config, device)?;
        let config = &config.clone().with_implied_policies(&team.roles());
        let is_here = |role: &String| team.policies.contains_key(team.role_map.policy_of(role));
        let roles: Vec<String> =
            team.role_map.trained_roles().into_iter().filter(is_here).collect();
        let beginners = beginners(config, &team);
        let (mut others, mut understudies) = (Policies::new(), BTreeSet::new());
        for role in &roles {
            let name = team.role_map.policy_of(role);
            let policy = &team.policies[name];
            if beginners.contains(name) {
                others.insert(stage_name(role, Understudy::Untrained), policy.duplicate()?);
                understudies.insert((role.clone(), Understudy::Untrained));
            }
            let began = policy.restore(&first.path.join("policies").join(name))?;
            others.insert(stage_name(role, Understudy::Began), began);
            understudies.insert((role.clone(), Understudy::Began));
            // Whether there is one for the role shows where it is asked.
            understudies.insert((role.clone(), Understudy::Expert));
        }
        let now = load_step(checkpoints, step).map_err(TrainingError::from)?;
        restore(&mut team, config, &now.path)?;
        team.policies.extend(others);
        Ok(Company { team, config: config.clone(), step, roles, understudies })
    }

    /// The roles that others can stand in for.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// The most answers that it can take to play a task.
    pub fn answers_at_most(&self) -> usize {
        let of_family = |family: &Family| {
            let scenario = &family.scenario;
            let seats = scenario.seats();
            seats.iter().map(|seat| scenario.max_turns_of(&seat.role)).sum::<usize>()
        };
        self.team.families.iter().map(of_family).max().unwrap_or(0)
    }

    /// How many ways there are to have one role played by somebody else.
    pub fn ways(&self) -> usize {
        self.understudies.len()
    }

    /// What each role is good for.
    ///
    /// # Errors
    /// If the policies cannot answer.
    pub fn knock_out(
        &self,
        held_out: HeldOutTasks,
        mut tell: impl FnMut(&str),
    ) -> Result<RoleWorth, KnockOutError> {
        let whole = solved(&self.play(held_out, &BTreeMap::new())?);
        let mut roles = Vec::new();
        for (role, understudy) in &self.understudies {
            tell(&format!("{role}: {}", understudy.name()));
            let cast = BTreeMap::from([(role.as_str(), *understudy)]);
            let rollout = self.play(held_out, &cast)?;
            // Where the expert has nothing to say, the role's own policy has played.
            if *understudy == Understudy::Expert && !is_demonstrated(role, &rollout.samples) {
                continue;
            }
            let solved = solved(&rollout);
            if let Some(effect) = Effect::of(&whole, &solved, Measure::Solved) {
                let (role, success) = (role.clone(), mean(&solved));
                roles.push(KnockedOut { role, understudy: *understudy, success, effect });
            }
        }
        let (step, split) = (self.step, held_out.split.name().to_owned());
        Ok(RoleWorth { step, split, tasks: whole.len(), success: mean(&whole), roles })
    }

    /// Each role's part in what the team solves more than a team of understudies.
    ///
    /// # Errors
    /// If the policies cannot answer.
    pub fn shares(
        &self,
        held_out: HeldOutTasks,
        understudy: Understudy,
    ) -> Result<Vec<Share>, KnockOutError> {
        let roles: Vec<&str> = self.roles.iter().map(String::as_str).collect();
        let orders = orders(roles.len(), held_out.seed.named("orders"));
        let mut known: BTreeMap<BTreeSet<&str>, Vec<f64>> = BTreeMap::new();
        // By role, what it adds in each order to each task.
        let mut added: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
        for order in &orders {
            let mut members = BTreeSet::new();
            let mut before = self.of_members(held_out, understudy, &members, &mut known)?;
            for place in order {
                members.insert(roles[*place]);
                let after = self.of_members(held_out, understudy, &members, &mut known)?;
                let more = after.iter().zip(&before).map(|(after, before)| after - before);
                added.entry(roles[*place]).or_default().push(more.collect());
                before = after;
            }
        }
        let is_whole = roles.len() <= ALL_ORDERS;
        Ok(added.into_iter().map(|(role, added)| share(role, &added, is_whole)).collect())
    }

    fn of_members<'r>(
        &self,
        held_out: HeldOutTasks,
        understudy: Understudy,
        members: &BTreeSet<&'r str>,
        known: &mut BTreeMap<BTreeSet<&'r str>, Vec<f64>>,
    ) -> Result<Vec<f64>, RolloutError> {
        if let Some(solved) = known.get(members) {
            return Ok(solved.clone());
        }
        let others = self.roles.iter().map(String::as_str).filter(|role| !members.contains(role));
        let cast = others.map(|role| (role, understudy)).collect();
        let solved = solved(&self.play(held_out, &cast)?);
        known.insert(members.clone(), solved.clone());
        Ok(solved)
    }

    /// The tasks, with some roles played by others.
    fn play(
        &self,
        held_out: HeldOutTasks,
        cast: &BTreeMap<&str, Understudy>,
    ) -> Result<Rollout, RolloutError> {
        let mut role_map = self.team.role_map.clone();
        for (role, understudy) in cast {
            match understudy {
                Understudy::Expert => role_map.leave_to_expert(role),
                other => role_map.recast(role, &stage_name(role, *other)),
            }
        }
        Ok(evaluate_as(&self.team, &role_map, held_out, &self.config)?.rollout)
    }
}

/// Whether each task is solved.
fn solved(rollout: &Rollout) -> Vec<f64> {
    let solved = |episode: &Episode| f64::from(u8::from(episode.solved()));
    rollout.episodes.iter().map(solved).collect()
}

/// Whether the expert has answered for a role. A policy that is here reads a prompt first.
fn is_demonstrated(role: &str, samples: &[Sample]) -> bool {
    samples.iter().any(|sample| sample.role == role && sample.prompt.is_empty())
}

/// What a policy is called that stands in for a role.
fn stage_name(role: &str, understudy: Understudy) -> String {
    format!("{role}, {}", understudy.name())
}

/// Orders in which so many roles join: all, or some that are drawn.
fn orders(roles: usize, seed: Seed) -> Vec<Vec<usize>> {
    if roles > ALL_ORDERS {
        let drawn = |number: usize| {
            let mut order: Vec<usize> = (0..roles).collect();
            seed.at(number as u64).shuffle(&mut order);
            order
        };
        return (0..ORDERS).map(drawn).collect();
    }
    let mut orders = vec![Vec::new()];
    for role in 0..roles {
        let with = |order: &Vec<usize>| {
            let places = 0..=order.len();
            let order = order.clone();
            places.map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, role);
                longer
            })
        };
        orders = orders.iter().flat_map(with).collect();
    }
    orders
}

/// A role's share, from what it adds in each order to each task.
fn share(role: &str, added: &[Vec<f64>], is_whole: bool) -> Share {
    let tasks = added.first().map_or(0, Vec::len);
    let of_task = |task: usize| mean(&added.iter().map(|order| order[task]).collect::<Vec<_>>());
    let by_task: Vec<f64> = (0..tasks).map(of_task).collect();
    let by_order: Vec<f64> = added.iter().map(|order| mean(order)).collect();
    let of_orders = if is_whole { 0.0 } else { standard_error(&by_order) };
    let error = standard_error(&by_task).hypot(of_orders);
    Share { role: role.to_owned(), value: mean(&by_task), error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::sample;

    #[test]
    fn a_role_is_the_experts_only_if_the_expert_answered_for_it() {
        let mut samples = [sample(0, 0, 0, "tool", 0), sample(0, 0, 0, "solver", 0)];
        assert!(!is_demonstrated("solver", &samples));
        samples[1].prompt = [].into();
        assert!(is_demonstrated("solver", &samples) && !is_demonstrated("tool", &samples));
    }

    #[test]
    fn few_roles_join_in_every_order_and_many_in_some() {
        let seed = Seed::new(1);
        let all = orders(3, seed);
        assert_eq!(all.len(), 6);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 6);
        let some = orders(6, seed);
        assert_eq!(some.len(), ORDERS);
        for order in all.into_iter().chain(some) {
            let count = order.len();
            assert_eq!(order.into_iter().collect::<BTreeSet<_>>(), (0..count).collect());
        }
    }

    #[test]
    fn a_share_is_a_mean_over_orders_and_uncertain_by_its_tasks() {
        let added = vec![vec![1.0, 0.0, 1.0, 0.0], vec![1.0, 1.0, 0.0, 0.0]];
        let whole = share("planner", &added, true);
        assert_eq!((whole.value, whole.role.as_str()), (0.5, "planner"));
        assert_eq!(whole.error, standard_error(&[1.0, 0.5, 0.5, 0.0]));
        assert_eq!(share("planner", &added, false).error, whole.error, "both orders say the same");
        let apart = vec![vec![1.0; 4], vec![0.0; 4]];
        assert_eq!(share("planner", &apart, false).error, 0.5);
    }
}
