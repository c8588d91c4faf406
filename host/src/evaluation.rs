//! How good policies are on tasks they were not trained on.

use crate::config::{RolloutConfig, SamplingScheme};
use crate::metrics::Success;
use crate::plugin::Split;
use crate::rollout::{Rollout, RolloutError, TaskSeed, collect};
use crate::seed::Seed;
use crate::team::Team;

/// Which tasks, and how the policies answer.
#[derive(Clone, Copy, Debug)]
pub struct Exam {
    /// The part of the tasks.
    pub split: Split,
    /// The first so many tasks of it.
    pub tasks: usize,
    /// The likeliest token each time, or a draw at the rollout's temperature.
    pub sampled: bool,
    /// Root of what is drawn.
    pub seed: Seed,
}

/// What an exam showed.
#[derive(Debug)]
pub struct Evaluation {
    /// Solved tasks; those of void episodes count as not solved.
    pub success: Success,
    /// The episodes and samples.
    pub rollout: Rollout,
}

/// Play one episode of every task of the exam.
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
    let seed = exam.seed.named(exam.split.name());
    // The tasks are the same whatever the run's seed, so that runs can be compared.
    let count = team.stage.tasks(exam.split).map_or(exam.tasks, |count| count.min(exam.tasks));
    let tasks: Vec<TaskSeed> = (0..count as u32)
        .map(|task| TaskSeed { split: exam.split, task, seed: seed.at(u64::from(task)) })
        .collect();
    let rollout = collect(&team.stage, &team.cast, &team.policies, &tasks, &config, 1.0)?;
    Ok(Evaluation { success: Success::of(&rollout.episodes), rollout })
}
