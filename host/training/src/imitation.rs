//! The warm start: policies learn to answer as the environment's expert would,
//! or as another policy did in recorded episodes, until they solve a chosen
//! share of held-out tasks of every family. A family that does is left alone
//! while others are learned.
//!
//! Success under imitation comes in jumps, so one interval between two
//! measurements may lead from too little to too much. Then the interval is
//! taken back and learned again at half the rate.

mod recording;

use std::collections::{BTreeMap, BTreeSet};

use crate::evaluation::{Evaluation, HeldOutTasks, evaluate};
use crate::metrics::Success;
use crate::rollout::{
    Demonstration, DemonstrationError, Demonstrator, Policies, RoleMap, RolloutError,
};
use crate::stage::{NoMemory, Stage};
use crate::team::Team;
use troupe_core::config::{Config, Decay, ImitationConfig, TrainConfig};
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_guests::plugin::Split;
use troupe_model::{Policy, PolicyError};
use troupe_trainer::{Example, Trainer, TrainerError};

pub use recording::{Findings, Recording, RecordingError, episodes_of};

use recording::Rounds;

/// How often an interval is taken back before the result is taken as it is.
const MAX_RETREATS: usize = 8;

/// Why a warm start failed.
#[derive(Debug, thiserror::Error)]
pub enum ImitationError {
    /// There is nothing to imitate.
    #[error(transparent)]
    Demonstration(#[from] DemonstrationError),
    /// A demonstrated answer or its prompt has no tokens in the policy's vocabulary.
    #[error("the policy `{policy}` cannot imitate the role `{role}`: {reason}")]
    Policy {
        /// The policy.
        policy: String,
        /// The role.
        role: String,
        /// What is wrong.
        reason: PolicyError,
    },
    /// The update failed.
    #[error(transparent)]
    Trainer(TrainerError),
    /// A card has no memory left.
    #[error(transparent)]
    NoMemory(NoMemory),
    /// Success could not be measured.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// The chosen success was not reached.
    #[error(
        "imitation reached {reached:.3} of held-out tasks after {steps} steps, not the {wanted:.3} \
         asked for; raise imitation.max_steps, lower imitation.success, be content with readable \
         answers (imitation.accepted), or use a larger policy"
    )]
    Unreached {
        /// The best success measured.
        reached: f64,
        /// Optimizer steps taken.
        steps: usize,
        /// `imitation.success`.
        wanted: f64,
    },
}

impl From<TrainerError> for ImitationError {
    fn from(error: TrainerError) -> Self {
        match error.no_memory() {
            Some(said) => ImitationError::NoMemory(NoMemory { stage: Stage::Update, said }),
            None => ImitationError::Trainer(error),
        }
    }
}

impl Coded for ImitationError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ImitationError::Policy { reason, .. } => reason.code_in_a_run(),
            ImitationError::Trainer(error) => error.code(),
            ImitationError::Rollout(error) => error.code(),
            ImitationError::Demonstration(_)
            | ImitationError::NoMemory(_)
            | ImitationError::Unreached { .. } => Some(ExitCode::Run),
        }
    }
}

/// One measurement on the way.
#[derive(Clone, Copy, Debug)]
pub struct ImitationStep {
    /// Optimizer steps taken.
    pub step: usize,
    /// Mean loss of the interval, in nats per token.
    pub loss: f64,
    /// Held-out greedy success.
    pub success: Success,
    /// That of the family that does worst: what the success asked for is held
    /// against.
    pub weakest: f64,
    /// Share of the answers that were accepted, of the role that does worst.
    pub accepted: f64,
}

/// What came of imitating recordings.
#[derive(Clone, Copy, Debug)]
pub struct Imitated {
    /// The measurement of the policies as they are now.
    pub now: ImitationStep,
    /// Whether that is the success asked for.
    pub reached: bool,
}

/// Train `pupils`, some of the team's policies, in place on the expert's answers; the others stay
/// as they are. `report` hears of every measurement.
///
/// # Errors
/// If there is no expert, its answers do not fit a policy, or the success
/// asked for is not reached.
pub fn imitate(
    team: &mut Team,
    config: &Config,
    pupils: &BTreeSet<String>,
    mut report: impl FnMut(ImitationStep),
) -> Result<ImitationStep, ImitationError> {
    let families = team.families.clone();
    let exploration = config.imitation.exploration;
    let trained = families.iter().filter(|family| family.is_trained());
    let scenarios = trained.map(|family| &*family.scenario);
    let experts =
        scenarios.map(|scenario| Demonstrator::new(scenario, seed(config), exploration)).collect();
    let course = follow(team, config, pupils, Supply::Experts(experts), |now, _| {
        report(now);
        Ok(())
    })?;
    course.end.ok_or_else(|| course.unreached(config))
}

/// The same on recorded answers, in the place of the expert's.
///
/// Recordings may hold less than the success asked for. If it is not reached,
/// the policies are those of the best measurement, of equals the last.
///
/// # Errors
/// If an answer does not fit a policy; this is found out before anything is
/// learned.
pub fn imitate_recording(
    team: &mut Team,
    config: &Config,
    pupils: &BTreeSet<String>,
    recording: &Recording,
    mut report: impl FnMut(ImitationStep),
) -> Result<Imitated, ImitationError> {
    for answer in recording.answers() {
        let name = team.role_map.policy_of(&answer.role);
        if let Some(policy) = team.policies.get(name).filter(|_| pupils.contains(name)) {
            encode((name, policy), &team.role_map, answer)?;
        }
    }
    let mut best: Option<(ImitationStep, Policies)> = None;
    let supply = Supply::Recorded(recording.rounds(seed(config)));
    let course = follow(team, config, pupils, supply, |now, policies| {
        report(now);
        let share = now.weakest;
        let is_best = best.as_ref().is_none_or(|(best, _)| share >= best.weakest);
        if is_best && share <= config.imitation.ceiling {
            best = Some((now, duplicates(policies)?));
        }
        Ok(())
    })?;
    match (course.end, best) {
        (Some(now), _) => Ok(Imitated { now, reached: true }),
        (None, Some((now, policies))) => {
            team.policies = policies;
            Ok(Imitated { now, reached: false })
        }
        (None, None) => Err(course.unreached(config)),
    }
}

fn seed(config: &Config) -> Seed {
    Seed::new(config.run.seed).named("imitation")
}

/// The roles and policies whose answers are learned.
enum Supply<'a> {
    /// Those of the families' experts.
    Experts(Vec<Demonstrator<'a>>),
    /// Those of recorded episodes.
    Recorded(Rounds<'a>),
}

impl Supply<'_> {
    /// So many answers of each role, of each of the families that are behind.
    fn take(
        &mut self,
        count: usize,
        behind: &BTreeSet<String>,
    ) -> Result<Vec<Demonstration>, DemonstrationError> {
        match self {
            Supply::Experts(experts) => {
                let asked = experts.iter_mut().filter(|expert| behind.contains(expert.family()));
                let taken: Result<Vec<_>, _> = asked.map(|expert| expert.take(count)).collect();
                Ok(taken?.concat())
            }
            Supply::Recorded(rounds) => Ok(rounds.take(count)),
        }
    }
}

/// How far it went.
struct Course {
    steps: usize,
    /// The best success measured.
    best: f64,
    /// The last measurement, if it is the success asked for.
    end: Option<ImitationStep>,
}

impl Course {
    fn unreached(&self, config: &Config) -> ImitationError {
        let wanted = config.imitation.success;
        ImitationError::Unreached { reached: self.best, steps: self.steps, wanted }
    }
}

/// Learn until enough held-out tasks are solved or there are no steps left;
/// `report` is shown every measurement with the policies it was taken of.
fn follow(
    team: &mut Team,
    config: &Config,
    pupils: &BTreeSet<String>,
    mut supply: Supply<'_>,
    mut report: impl FnMut(ImitationStep, &Policies) -> Result<(), ImitationError>,
) -> Result<Course, ImitationError> {
    let settings = &config.imitation;
    let mut trainers = new_trainers(team, config, pupils)?;
    let held_out = HeldOutTasks::greedy(Split::Validation, settings.tasks, seed(config));
    let mut retreats = 0;
    let mut behind: BTreeSet<String> = (team.families.iter())
        .filter(|family| family.is_trained())
        .map(|family| family.scenario.family.clone())
        .collect();
    let mut course = Course { steps: 0, best: 0.0, end: None };
    while course.steps < settings.max_steps {
        let before = Snapshot::take(&team.policies, &trainers)?;
        let mut loss = 0.0;
        let interval = next_interval(settings, course.steps);
        for _ in 0..interval {
            let demonstrations = supply.take(settings.answers_per_role, &behind)?;
            loss += learn(team, &mut trainers, &demonstrations)?;
        }
        course.steps += interval;
        team.take_snapshots(config, 0).map_err(TrainerError::from)?;
        let Evaluation { success, families, rollout, .. } = evaluate(team, held_out, config)?;
        let accepted = least_accepted(&rollout.samples);
        let share = |success: &Success| success.success;
        let weakest = families.values().map(share).fold(1.0, f64::min);
        let loss = loss / interval as f64;
        let now = ImitationStep { step: course.steps, loss, success, weakest, accepted };
        report(now, &team.policies)?;
        course.best = course.best.max(weakest);
        let learned = families.iter().filter(|(name, _)| behind.contains(*name));
        let most = learned.map(|(_, success)| share(success)).fold(0.0, f64::max);
        if most > settings.ceiling && retreats < MAX_RETREATS {
            (team.policies, trainers) = (before.policies, before.trainers);
            trainers.values_mut().for_each(Trainer::halve_learning_rate);
            course.steps -= interval;
            retreats += 1;
            continue;
        }
        let is_behind = |(_, success): &(&String, &Success)| share(success) < settings.success;
        behind = families.iter().filter(is_behind).map(|(name, _)| name.clone()).collect();
        let is_read = settings.accepted > 0.0 && accepted >= settings.accepted;
        if behind.is_empty() || is_read {
            course.end = Some(now);
            break;
        }
    }
    Ok(course)
}

/// Steps until success is measured again: fewer than usual before the last one.
fn next_interval(settings: &ImitationConfig, taken: usize) -> usize {
    settings.every.min(settings.max_steps - taken)
}

/// Share of accepted answers of the worst role; 0 before the first answer.
fn least_accepted(samples: &[Sample]) -> f64 {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for sample in samples {
        let (accepted, all) = counts.entry(&sample.role).or_default();
        *accepted += usize::from(sample.accepted);
        *all += 1;
    }
    let shares = counts.values().map(|(accepted, all)| *accepted as f64 / *all as f64);
    shares.reduce(f64::min).unwrap_or(0.0)
}

/// The state to go back to when an interval overshoots.
struct Snapshot {
    policies: Policies,
    trainers: BTreeMap<String, Trainer>,
}

impl Snapshot {
    fn take(
        policies: &Policies,
        trainers: &BTreeMap<String, Trainer>,
    ) -> Result<Self, ImitationError> {
        let mut snapshot = Snapshot { policies: duplicates(policies)?, trainers: BTreeMap::new() };
        for (name, trainer) in trainers {
            snapshot.trainers.insert(name.clone(), trainer.duplicate()?);
        }
        Ok(snapshot)
    }
}

fn duplicates(policies: &Policies) -> Result<Policies, TrainerError> {
    let copy = |(name, policy): (&String, &Policy)| Ok((name.clone(), policy.duplicate()?));
    policies.iter().map(copy).collect()
}

fn new_trainers(
    team: &Team,
    config: &Config,
    pupils: &BTreeSet<String>,
) -> Result<BTreeMap<String, Trainer>, ImitationError> {
    let settings = &config.imitation;
    let new = |(name, policy): (&String, &Policy)| {
        let train = TrainConfig {
            learning_rate: settings.learning_rate,
            weight_decay: settings.weight_decay,
            warmup_steps: settings.warmup_steps,
            decay: Decay::Constant,
            ..config.training_of(name)
        };
        Ok((name.clone(), Trainer::among(policy, &train, &team.ranks)?))
    };
    team.policies.iter().filter(|(name, _)| pupils.contains(*name)).map(new).collect()
}

/// One optimizer step for each policy on its own roles' demonstrations: the mean loss.
fn learn(
    team: &mut Team,
    trainers: &mut BTreeMap<String, Trainer>,
    demonstrations: &[Demonstration],
) -> Result<f64, ImitationError> {
    let mut losses = Vec::new();
    for (name, trainer) in trainers {
        let Some(policy) = team.policies.get_mut(name) else { continue };
        let of_policy = demonstrations.iter().filter(|d| team.role_map.policy_of(&d.role) == name);
        let examples = of_policy
            .map(|demonstration| encode((name, policy), &team.role_map, demonstration))
            .collect::<Result<Vec<Example>, _>>()?;
        // Its families are left alone.
        if examples.is_empty() {
            continue;
        }
        losses.push(trainer.imitate(policy, &examples)?.loss);
    }
    Ok(losses.iter().sum::<f64>() / losses.len().max(1) as f64)
}

fn encode(
    (name, policy): (&str, &Policy),
    role_map: &RoleMap,
    demonstration: &Demonstration,
) -> Result<Example, ImitationError> {
    let failed = |reason| ImitationError::Policy {
        policy: name.to_owned(),
        role: demonstration.role.clone(),
        reason,
    };
    let Demonstration { role, prompt, tools, .. } = demonstration;
    Ok(Example {
        prompt: policy.encode_prompt(prompt, tools, role_map.thinking(role)).map_err(failed)?,
        answer: policy.encode_answer(&demonstration.text).map_err(failed)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_interval_of_a_warm_start_ends_with_its_last_step() {
        let settings = ImitationConfig { max_steps: 12, every: 10, ..ImitationConfig::default() };
        assert_eq!([0, 10, 11].map(|taken| next_interval(&settings, taken)), [10, 2, 1]);
    }
}
