//! Success on validation tasks before a step, and how it has changed.

use std::collections::BTreeMap;

use super::super::TrainingError;
use crate::evaluation::{HeldOutTasks, evaluate};
use crate::metrics::Answers;
use crate::rollout::Rollout;
use crate::team::Team;
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_estimators::credit::Credits;
use troupe_guests::plugin::Split;

/// Episodes of each validation task.
const EPISODES: usize = 4;

/// Episodes of validation tasks as the policies before a step played them.
pub(super) struct Prospect {
    held_out: HeldOutTasks,
    pub(super) samples: Vec<Sample>,
    /// By task and the number of its episode, whether it was solved.
    solved: BTreeMap<(usize, usize), bool>,
}

impl Prospect {
    pub(super) fn draw(
        team: &Team,
        config: &Config,
        (tasks, seed): (usize, Seed),
    ) -> Result<Self, TrainingError> {
        let held_out = HeldOutTasks {
            split: Split::Validation,
            from: 0,
            tasks,
            answers: Answers::Sampled,
            samples: EPISODES,
            seed: seed.named("influence"),
        };
        let rollout = evaluate(team, held_out, config)?.rollout;
        Ok(Prospect { held_out, solved: solved(&rollout), samples: rollout.samples })
    }

    /// By task, what has changed in success now that the policies are others.
    pub(super) fn changes(&self, team: &Team, config: &Config) -> Result<Vec<f64>, TrainingError> {
        let now = solved(&evaluate(team, self.held_out, config)?.rollout);
        let mut changes = BTreeMap::new();
        for (episode, was) in &self.solved {
            let is = now.get(episode).copied().unwrap_or(false);
            let change = f64::from(u8::from(is)) - f64::from(u8::from(*was));
            *changes.entry(episode.0).or_insert(0.0) += change / EPISODES as f64;
        }
        Ok(changes.into_values().collect())
    }

    /// What says which way success lies: of each task, episodes that were solved against those that
    /// were not.
    pub(super) fn credits(&self) -> Credits {
        let share = |task: usize| {
            let own = self.solved.range((task, 0)..=(task, usize::MAX));
            own.filter(|(_, solved)| **solved).count() as f64 / EPISODES as f64
        };
        let advantage = |sample: &Sample| {
            let is_solved = self.solved.get(&(sample.task, sample.episode)).copied();
            let is_solved = f64::from(u8::from(is_solved.unwrap_or(false)));
            Some((is_solved - share(sample.task)) as f32)
        };
        let advantages: Vec<Option<f32>> = self.samples.iter().map(advantage).collect();
        Credits { weights: vec![1.0; advantages.len()], advantages }
    }
}

fn solved(rollout: &Rollout) -> BTreeMap<(usize, usize), bool> {
    let episodes = rollout.episodes.iter();
    episodes.map(|episode| ((episode.task, episode.episode), episode.solved())).collect()
}
