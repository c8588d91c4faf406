//! How good policies are on tasks they were not trained on.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::{RolloutConfig, SamplingScheme};
use crate::metrics::Success;
use crate::plugin::Split;
use crate::rollout::{Rollout, RolloutError, Stage, TaskSeed, collect};
use crate::seed::Seed;
use crate::team::Team;

/// Which tasks, and how the policies answer.
#[derive(Clone, Copy, Debug)]
pub struct Exam {
    /// The part of the tasks.
    pub split: Split,
    /// The first so many tasks of it, of each family.
    pub tasks: usize,
    /// The likeliest token each time, or a draw at the rollout's temperature.
    pub sampled: bool,
    /// Root of what is drawn.
    pub seed: Seed,
}

/// What an exam showed.
#[derive(Debug)]
pub struct Evaluation {
    /// Solved tasks of all families; those of void episodes count as not solved.
    pub success: Success,
    /// The same by family.
    pub families: BTreeMap<String, Success>,
    /// The episodes and samples.
    pub rollout: Rollout,
}

/// Play one episode of every task of the exam, so many of each family.
pub fn evaluate(
    team: &Team,
    exam: Exam,
    config: &RolloutConfig,
) -> Result<Evaluation, RolloutError> {
    let config = RolloutConfig {
        branches: 1,
        sampling: SamplingScheme::Trajectory,
        temperature: if exam.sampled { config.temperature } else { 0.0 },
        ..config.clone()
    };
    let stages = team.families.iter().map(|family| &family.stage);
    let tasks: Vec<TaskSeed> = stages.clone().flat_map(|stage| tasks(stage, exam)).collect();
    let rollout = collect(&team.cast, &team.policies, &tasks, &config, 1.0)?;
    let of_family = |stage: &Arc<Stage>| {
        let own = rollout.episodes.iter().filter(|episode| episode.family == stage.family);
        (stage.family.clone(), Success::of(own))
    };
    let families = stages.map(of_family).collect();
    Ok(Evaluation { success: Success::of(&rollout.episodes), families, rollout })
}

/// The exam's tasks of one family: the same whatever the run's seed, so that runs
/// can be compared.
fn tasks(stage: &Arc<Stage>, exam: Exam) -> impl Iterator<Item = TaskSeed> {
    let seed = exam.seed.named(exam.split.name()).named(&stage.family);
    let count = stage.tasks(exam.split).map_or(exam.tasks, |count| count.min(exam.tasks));
    (0..count as u32).map(move |task| {
        let (stage, seed) = (stage.clone(), seed.at(u64::from(task)));
        TaskSeed { stage, split: exam.split, task, seed }
    })
}
