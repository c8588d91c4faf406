//! The warm start: policies learn to answer as the environment's expert would,
//! until they solve a chosen share of held-out tasks.
//!
//! Success under imitation comes in jumps, so one interval between two
//! measurements may lead from too little to too much. Then the interval is
//! taken back and learned again at half the rate.

use std::collections::BTreeMap;

use crate::config::{Config, Decay, TrainConfig};
use crate::evaluation::{Exam, evaluate};
use crate::metrics::Success;
use crate::plugin::Split;
use crate::policy::{Policy, PolicyError};
use crate::rollout::{Demonstration, DemonstrationError, Demonstrator, Policies, RolloutError};
use crate::seed::Seed;
use crate::team::Team;
use crate::trainer::{Example, Trainer, TrainerError};

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
    Trainer(#[from] TrainerError),
    /// Success could not be measured.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// The chosen success was not reached.
    #[error(
        "imitation reached {reached:.3} of held-out tasks after {steps} steps, not the {wanted:.3} \
         asked for; raise imitation.max_steps, lower imitation.success, or use a larger policy"
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

/// One measurement on the way.
#[derive(Clone, Copy, Debug)]
pub struct ImitationStep {
    /// Optimizer steps taken.
    pub step: usize,
    /// Mean loss of the interval, in nats per token.
    pub loss: f64,
    /// Held-out greedy success.
    pub success: Success,
}

/// Train the team's policies in place; `report` hears of every measurement.
pub fn imitate(
    team: &mut Team,
    config: &Config,
    mut report: impl FnMut(ImitationStep),
) -> Result<ImitationStep, ImitationError> {
    let settings = &config.imitation;
    let seed = Seed::new(config.run.seed).named("imitation");
    let stage = team.stage.clone();
    let mut demonstrator = Demonstrator::new(&stage, seed, settings.exploration);
    let mut trainers = new_trainers(&team.policies, config)?;
    let exam = Exam { split: Split::Validation, tasks: settings.tasks, sampled: false, seed };
    let (mut step, mut retreats, mut best) = (0, 0, 0.0_f64);
    while step < settings.max_steps {
        let before = Snapshot::take(&team.policies, &trainers)?;
        let mut loss = 0.0;
        for _ in 0..settings.every {
            let demonstrations = demonstrator.take(settings.answers_per_role)?;
            loss += learn(team, &mut trainers, &demonstrations)?;
        }
        step += settings.every;
        let success = evaluate(team, exam, &config.rollout)?.success;
        let now = ImitationStep { step, loss: loss / settings.every as f64, success };
        report(now);
        best = best.max(success.success);
        if success.success > settings.ceiling && retreats < MAX_RETREATS {
            (team.policies, trainers) = (before.policies, before.trainers);
            trainers.values_mut().for_each(Trainer::halve_learning_rate);
            (step, retreats) = (step - settings.every, retreats + 1);
        } else if success.success >= settings.success {
            return Ok(now);
        }
    }
    Err(ImitationError::Unreached { reached: best, steps: step, wanted: settings.success })
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
        let mut snapshot = Snapshot { policies: BTreeMap::new(), trainers: BTreeMap::new() };
        for (name, policy) in policies {
            snapshot.policies.insert(name.clone(), policy.duplicate().map_err(TrainerError::from)?);
        }
        for (name, trainer) in trainers {
            snapshot.trainers.insert(name.clone(), trainer.duplicate()?);
        }
        Ok(snapshot)
    }
}

fn new_trainers(
    policies: &Policies,
    config: &Config,
) -> Result<BTreeMap<String, Trainer>, ImitationError> {
    let settings = &config.imitation;
    let train = TrainConfig {
        learning_rate: settings.learning_rate,
        weight_decay: settings.weight_decay,
        warmup_steps: settings.warmup_steps,
        decay: Decay::Constant,
        ..config.train.clone()
    };
    let new =
        |(name, policy): (&String, &Policy)| Ok((name.clone(), Trainer::new(policy, &train)?));
    policies.iter().filter(|(name, _)| config.trains(name)).map(new).collect()
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
        let own = demonstrations.iter().filter(|d| team.cast.policy_of(&d.role) == name);
        let examples = own
            .map(|demonstration| encode(name, policy, demonstration))
            .collect::<Result<Vec<Example>, _>>()?;
        losses.push(trainer.imitate(policy, &examples)?.loss);
    }
    Ok(losses.iter().sum::<f64>() / losses.len().max(1) as f64)
}

fn encode(
    name: &str,
    policy: &Policy,
    demonstration: &Demonstration,
) -> Result<Example, ImitationError> {
    let failed = |reason| ImitationError::Policy {
        policy: name.to_owned(),
        role: demonstration.role.clone(),
        reason,
    };
    Ok(Example {
        prompt: policy.encode_prompt(&demonstration.prompt).map_err(failed)?,
        answer: policy.encode_answer(&demonstration.text).map_err(failed)?,
    })
}
