//! The answers of a step: its episodes, and those of further tasks where some taught nothing.

use std::collections::BTreeSet;

use super::TrainingError;
use crate::curriculum::{Standings, rungs, training_tasks};
use crate::family::Family;
use crate::rollout::{Policies, RoleMap, Rollout, Setting, collect_among};
use troupe_core::config::{Allocation, Config};
use troupe_core::seed::Seed;
use troupe_estimators::advantage::{Memory, compare};
use troupe_estimators::forks::Dealing;
use troupe_trainer::ranks::Ranks;

/// What the episodes of a step depend on.
#[derive(Clone, Copy)]
pub(super) struct Collection<'a> {
    pub(super) config: &'a Config,
    pub(super) families: &'a [Family],
    pub(super) role_map: &'a RoleMap,
    pub(super) policies: &'a Policies,
    pub(super) ranks: &'a Ranks,
    pub(super) standings: &'a Standings,
    pub(super) estimator: &'a Memory,
    /// Of the run's training.
    pub(super) seed: Seed,
    /// From 1.
    pub(super) step: usize,
}

impl Collection<'_> {
    /// The step's episodes; those of tasks that taught nothing are followed by as many of further
    /// tasks, as often as `rollout.refill` says (dynamic sampling: DAPO, arXiv 2503.14476).
    pub(super) fn collect(&self) -> Result<Rollout, TrainingError> {
        let count = self.config.rollout.tasks_per_step;
        let mut dealt = BTreeSet::new();
        let (mut rollout, mut tasks) = (self.play(0, count, &mut dealt)?, count);
        for round in 1..=self.config.rollout.refill {
            let missing = count.saturating_sub(self.count_lessons(&rollout));
            if missing == 0 {
                break;
            }
            rollout.append(self.play(round, missing, &mut dealt)?, tasks);
            tasks += missing;
        }
        rollout.rungs = rungs(self.standings);
        Ok(rollout)
    }

    /// Episodes of so many tasks; every round of a step has tasks of its own, as far as there are
    /// enough: those that were dealt before are passed over.
    fn play(
        &self,
        round: usize,
        count: usize,
        dealt: &mut BTreeSet<(String, u32)>,
    ) -> Result<Rollout, TrainingError> {
        let (mut seed, mut order) = (self.seed.at(self.step as u64), self.seed.named("order"));
        if round > 0 {
            [seed, order] = [seed, order].map(|seed| seed.named("refill").at(round as u64));
        }
        let first = (self.step as u64 - 1) * self.config.rollout.tasks_per_step as u64;
        let seeds = (seed, order);
        let tasks = training_tasks(self.families, self.standings, first, count, seeds, dealt);
        let dealing = self.dealing();
        let setting =
            Setting { dealing: dealing.as_ref(), ..Setting::of(self.role_map, self.config) };
        let mut rollout = collect_among(self.ranks, &setting, self.policies, &tasks)?;
        rollout.leave_out_broken_groups();
        Ok(rollout)
    }

    /// How many answers states are given in this step, where not all are given as many.
    pub(super) fn dealing(&self) -> Option<Dealing> {
        let rollout = &self.config.rollout;
        (rollout.allocation == Allocation::Adaptive).then(|| self.estimator.forks.deal(rollout))
    }

    /// Tasks with answers that are worth more or less than those they are compared with.
    fn count_lessons(&self, rollout: &Rollout) -> usize {
        let (samples, config) = (&rollout.samples, &self.config.advantage);
        let teaches = rollout.teaches(self.role_map, config);
        let taught = compare(samples, config, &mut self.estimator.clone(), teaches).taught;
        let taught = samples.iter().zip(taught).filter(|(_, taught)| *taught);
        taught.map(|(sample, _)| sample.task).collect::<BTreeSet<_>>().len()
    }
}
