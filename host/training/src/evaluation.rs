//! How good policies are on tasks they were not trained on.

mod outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use crate::family::Family;
use crate::metrics::{Answers, Success};
use crate::rollout::{
    Play, RoleMap, Rollout, RolloutError, Setting, TaskSeed, collect_among, collect_in_turn,
};
use crate::stage::Stage;
use crate::team::Team;
use troupe_core::config::{Config, RolloutConfig, SamplingScheme};
use troupe_core::seed::Seed;
use troupe_guests::plugin::Split;
use troupe_guests::scenario::Scenario;

pub use outcome::outcomes_of;

/// Which tasks, and how the policies answer.
#[derive(Clone, Copy, Debug)]
pub struct HeldOutTasks {
    /// The part of the tasks.
    pub split: Split,
    /// The number of the first task of it, of each family.
    pub from: u32,
    /// So many tasks from there on.
    pub tasks: usize,
    /// The likeliest token each time, or draws as `[validation]` and `[rollout]` say.
    pub answers: Answers,
    /// Episodes of each task.
    pub samples: usize,
    /// Root of what is drawn.
    pub seed: Seed,
}

impl HeldOutTasks {
    /// The first tasks of a split, each answered once, with the likeliest token each time.
    pub fn greedy(split: Split, tasks: usize, seed: Seed) -> Self {
        HeldOutTasks { split, from: 0, tasks, answers: Answers::Greedy, samples: 1, seed }
    }

    /// The numbers of those that a scenario has.
    pub fn of(&self, scenario: &Scenario) -> Range<u32> {
        let end = self.from as usize + self.tasks;
        let end = scenario.tasks(self.split).map_or(end, |count| count.min(end));
        self.from..end as u32
    }
}

/// What an evaluation showed.
#[derive(Debug)]
pub struct Evaluation {
    /// Solved tasks of all families that are learned from; those of void episodes count as not
    /// solved. With several samples a task, the share of the samples.
    pub success: Success,
    /// The same by family.
    pub families: BTreeMap<String, Success>,
    /// The families that are learned from.
    pub trained: BTreeSet<String>,
    /// The episodes and samples.
    pub rollout: Rollout,
}

/// Play every task held out, so many of each family.
///
/// # Errors
/// As [`crate::rollout::collect`].
pub fn evaluate(
    team: &Team,
    held_out: HeldOutTasks,
    config: &Config,
) -> Result<Evaluation, RolloutError> {
    evaluate_as(team, &team.role_map, held_out, config)
}

/// The same with roles filled otherwise, by policies that the team has.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn evaluate_as(
    team: &Team,
    role_map: &RoleMap,
    held_out: HeldOutTasks,
    config: &Config,
) -> Result<Evaluation, RolloutError> {
    let role_map = role_map.examined(&config.validation);
    let Play { tasks, config } = play(team, held_out, config);
    let setting = Setting { role_map: &role_map, config: &config, alpha: 1.0, dealing: None };
    let rollout = collect_among(&team.ranks, &setting, &team.policies, &tasks)
        .map_err(|error| error.during(Stage::Evaluate))?;
    Ok(Evaluation::of(rollout, &held_out, team))
}

/// The same several times; `take` is given what one showed before the next begins. What policies
/// read for one need not be read for the next.
///
/// # Errors
/// As [`evaluate`], or what `take` returns.
pub fn evaluate_in_turn<E: From<RolloutError>>(
    team: &Team,
    held_out: &[HeldOutTasks],
    config: &Config,
    mut take: impl FnMut(&HeldOutTasks, Evaluation) -> Result<(), E>,
) -> Result<(), E> {
    let role_map = team.role_map.examined(&config.validation);
    let plays = held_out.iter().map(|&held_out| play(team, held_out, config)).collect();
    let mut held_out = held_out.iter();
    collect_in_turn(&team.ranks, &role_map, &team.policies, plays, |rollout| {
        // There is one play for each.
        held_out
            .next()
            .map_or(Ok(()), |held_out| take(held_out, Evaluation::of(rollout, held_out, team)))
    })
}

/// What is played.
pub(crate) fn play(team: &Team, held_out: HeldOutTasks, config: &Config) -> Play {
    let config = examined(config, held_out.answers, held_out.samples);
    let families = team.families.iter().filter(|family| family.is_played(held_out.split));
    let tasks = families.flat_map(|family| tasks(&family.scenario, held_out)).collect();
    Play { tasks, config }
}

/// How episodes go where they are examined, so many of each task.
pub fn examined(config: &Config, answers: Answers, samples: usize) -> RolloutConfig {
    let (rollout, validation) = (&config.rollout, &config.validation);
    RolloutConfig {
        branches: samples,
        scheme: SamplingScheme::Trajectory,
        temperature: match answers {
            Answers::Sampled => validation.temperature.unwrap_or(rollout.temperature),
            Answers::Greedy => 0.0,
        },
        top_p: validation.top_p.unwrap_or(rollout.top_p),
        top_k: validation.top_k.unwrap_or(rollout.top_k),
        min_p: validation.min_p.unwrap_or(rollout.min_p),
        ..rollout.clone()
    }
}

impl Evaluation {
    fn of(rollout: Rollout, held_out: &HeldOutTasks, team: &Team) -> Self {
        let of = |is_meant: &dyn Fn(&String) -> bool| {
            let episodes = rollout.episodes.iter().filter(|episode| is_meant(&episode.family));
            Success::of_several(episodes, held_out.samples)
        };
        let name = |family: &Family| family.scenario.family.clone();
        let of_family = |name: String| (name.clone(), of(&|other| *other == name));
        let played = team.families.iter().filter(|family| family.is_played(held_out.split));
        let families = played.map(|family| of_family(name(family))).collect();
        let trained = team.families.iter().filter(|family| family.is_trained());
        let trained: BTreeSet<String> = trained.map(name).collect();
        let success = of(&|name| trained.contains(name));
        Evaluation { success, families, trained, rollout }
    }
}

/// Root of what is drawn in a family's tasks of a split.
pub fn seed_of(root: Seed, split: Split, family: &str) -> Seed {
    root.named(split.name()).named(family)
}

/// The held-out tasks of one family: the same whatever the run's seed, so that runs
/// can be compared.
fn tasks(scenario: &Arc<Scenario>, held_out: HeldOutTasks) -> impl Iterator<Item = TaskSeed> {
    let seed = seed_of(held_out.seed, held_out.split, &scenario.family);
    held_out.of(scenario).map(move |task| {
        let (scenario, seed) = (scenario.clone(), seed.at(u64::from(task)));
        TaskSeed { scenario, split: held_out.split, task, seed }
    })
}
