//! What a run trains on next: families by their weights, each with the settings
//! that its success has led to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::family::Family;
use crate::rollout::{Rollout, TaskSeed};
use troupe_core::config::CurriculumConfig;
use troupe_core::seed::Seed;
use troupe_guests::plugin::Split;
use troupe_guests::scenario::Scenario;

/// Where a family stands on its ladder; part of a run's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The rung, from 0.
    pub rung: usize,
    /// Episodes played on it since it was reached or last judged.
    episodes: usize,
    /// Those of them that were solved.
    solved: usize,
    /// The rung that this one is tried in the place of, and the share that was solved there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried_for: Option<(usize, f64)>,
}

impl Standing {
    /// What follows of the share of its rung's episodes that were solved.
    fn judged(self, share: f64, last: usize, config: &CurriculumConfig) -> Standing {
        let rung = self.rung;
        if let Some((before, share_before)) = self.tried_for {
            let is_as_meant = if rung > before {
                share < share_before && share >= config.lower_at
            } else {
                share > share_before && share <= config.raise_at
            };
            return Standing {
                rung: if is_as_meant { rung } else { before },
                ..Standing::default()
            };
        }
        let next = match rung {
            rung if share >= config.raise_at => (rung + 1).min(last),
            rung if share < config.lower_at => rung.saturating_sub(1),
            rung => rung,
        };
        let tried_for = (config.on_trial && next != rung).then_some((rung, share));
        Standing { rung: next, tried_for, ..Standing::default() }
    }
}

/// Where each family stands, by its name.
pub type Standings = BTreeMap<String, Standing>;

/// Deals tasks to families so that each has its share of any beginning: next is
/// whose share is furthest behind (Webster's method).
#[derive(Clone, Debug)]
pub struct Deal {
    weights: Vec<f64>,
    dealt: Vec<u64>,
}

impl Deal {
    /// As it is after `position` tasks.
    pub fn after(position: u64, weights: Vec<f64>) -> Self {
        let mut deal = Deal { dealt: vec![0; weights.len()], weights };
        for _ in 0..position {
            deal.next();
        }
        deal
    }
}

impl Iterator for Deal {
    /// The family's index, and how many tasks it was dealt before.
    type Item = (usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let claim = |index: &usize| self.weights[*index] / (self.dealt[*index] as f64 + 0.5);
        let behind = |first: &usize, second: &usize| claim(first).total_cmp(&claim(second));
        // In a tie, the first family's.
        let family = (0..self.weights.len()).rev().max_by(behind)?;
        let place = self.dealt[family];
        self.dealt[family] += 1;
        Some((family, place))
    }
}

/// The training tasks from `position` on, given seeds of the step and of the order of records. A
/// record that was dealt in this step already is passed over for the next one, as long as there
/// are others.
pub fn training_tasks(
    families: &[Family],
    standings: &Standings,
    position: u64,
    count: usize,
    (step, order): (Seed, Seed),
    dealt: &mut BTreeSet<(String, u32)>,
) -> Vec<TaskSeed> {
    let weights = families.iter().map(|family| family.weight).collect();
    let mut passed_over = vec![0; families.len()];
    let mut task = |(index, (family, place)): (usize, (usize, u64))| {
        let passed_over = &mut passed_over[family];
        let (family, seed) = (&families[family], step.at(index as u64));
        let scenario = family.rung(standings).clone();
        let order = order.named(&scenario.family);
        let at = |place| scenario.training_task(place, order, seed.named("task"));
        let records = scenario.tasks(Split::Train).unwrap_or_default() as u64;
        let is_known = |task| dealt.contains(&(scenario.family.clone(), task));
        while *passed_over < records && is_known(at(place + *passed_over)) {
            *passed_over += 1;
        }
        let task = at(place + *passed_over);
        dealt.insert((scenario.family.clone(), task));
        TaskSeed { scenario, split: Split::Train, task, seed }
    };
    Deal::after(position, weights).take(count).enumerate().map(&mut task).collect()
}

/// The rung that each family with a curriculum is on.
pub fn rungs(standings: &Standings) -> BTreeMap<String, usize> {
    standings.iter().map(|(family, standing)| (family.clone(), standing.rung)).collect()
}

/// Take in a step's training episodes, and let each family that was played long
/// enough step on or back. Episodes that were drawn ahead, on the rung before, say
/// nothing of this one.
pub fn advance(families: &[Family], standings: &mut Standings, rollout: &Rollout) {
    for family in families.iter().filter(|family| family.rungs.len() > 1) {
        let name = &family.scenario.family;
        let played = rollout.episodes.iter();
        let played = played.filter(|episode| episode.family == *name && !episode.is_void());
        let standing = standings.entry(name.clone()).or_default();
        if rollout.rungs.get(name).copied().unwrap_or_default() != standing.rung {
            continue;
        }
        for episode in played {
            standing.episodes += 1;
            standing.solved += usize::from(episode.solved());
        }
        if standing.episodes < family.curriculum.episodes {
            continue;
        }
        let share = standing.solved as f64 / standing.episodes as f64;
        *standing = standing.judged(share, family.rungs.len() - 1, &family.curriculum);
    }
}

impl Family {
    /// What it trains on now.
    pub fn rung(&self, standings: &Standings) -> &Arc<Scenario> {
        let standing = standings.get(&self.scenario.family).copied().unwrap_or_default();
        &self.rungs[standing.rung.min(self.rungs.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rungs that a family is on with these shares of solved episodes, one after the other.
    fn way(on_trial: bool, shares: &[f64]) -> Vec<usize> {
        let config = CurriculumConfig { on_trial, ..CurriculumConfig::default() };
        let mut standing = Standing { rung: 2, ..Standing::default() };
        let mut rung = |share: &f64| {
            standing = standing.judged(*share, 3, &config);
            standing.rung
        };
        shares.iter().map(&mut rung).collect()
    }

    #[test]
    fn a_step_is_taken_at_its_bounds_and_not_beyond_the_ladder() {
        assert_eq!(way(false, &[0.5, 0.8, 0.9, 0.29, 0.1, 0.1, 0.1]), [2, 3, 3, 2, 1, 0, 0]);
    }

    #[test]
    fn a_step_on_trial_stays_if_success_went_as_meant_and_within_bounds() {
        // Harder: it fell, and is above the lower bound.
        assert_eq!(way(true, &[0.9, 0.6, 0.5]), [3, 3, 3]);
        // It fell too far, or did not fall.
        assert_eq!(way(true, &[0.9, 0.2, 0.9]), [3, 2, 3]);
        assert_eq!(way(true, &[0.8, 0.85]), [3, 2]);
        // Easier: it rose, and is below the upper bound.
        assert_eq!(way(true, &[0.1, 0.5, 0.5]), [1, 1, 1]);
        assert_eq!(way(true, &[0.1, 0.9]), [1, 2]);
        assert_eq!(way(true, &[0.1, 0.05]), [1, 2]);
        // At the end of the ladder there is nothing to try.
        assert_eq!(way(true, &[0.9, 0.6, 0.9, 0.9]), [3, 3, 3, 3]);
    }

    proptest! {
        #[test]
        fn every_family_has_its_share_of_any_beginning(
            weights in prop::collection::vec(0.1_f64..10.0, 1..5),
            count in 1_u64..500,
        ) {
            let total: f64 = weights.iter().sum();
            let mut dealt = vec![0_u64; weights.len()];
            for (family, place) in Deal::after(0, weights.clone()).take(count as usize) {
                prop_assert_eq!(place, dealt[family]);
                dealt[family] += 1;
            }
            for (weight, dealt) in weights.iter().zip(&dealt) {
                let due = weight / total * count as f64;
                prop_assert!((*dealt as f64 - due).abs() <= weights.len() as f64, "{dealt} of {due}");
            }
        }

        #[test]
        fn a_deal_that_is_taken_up_again_goes_on_as_it_would_have(
            weights in prop::collection::vec(0.1_f64..10.0, 1..5),
            position in 0_u64..100,
        ) {
            let whole: Vec<_> = Deal::after(0, weights.clone()).take(position as usize + 20).collect();
            let rest: Vec<_> = Deal::after(position, weights).take(20).collect();
            prop_assert_eq!(&whole[position as usize..], &rest[..]);
        }
    }
}
