//! What a run trains on next: families by their weights, each with the settings
//! that its success has led to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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

/// A family's way through its records in a step, in the order that they have in the run. A record
/// that was dealt in the step already is passed over for the next one, as long as there are others.
#[derive(Default)]
struct Walk {
    /// Places that the step before passed over: they come first, as it went further instead.
    owed: VecDeque<u64>,
    /// How many places this step has passed over.
    passed_over: u64,
}

impl Walk {
    /// The one of a step with so many tasks, after a step that was dealt these places. That one
    /// passes over a record where the order begins anew in it, and the record was among the last
    /// ones before. With fewer records than the two steps have tasks nothing is made up for.
    fn after(before: &[u64], tasks: usize, records: u64, at: &dyn Fn(u64) -> u32) -> Self {
        let mut owed = VecDeque::new();
        if (before.len() + tasks) as u64 > records {
            return Walk::default();
        }
        let (mut walk, mut dealt) = (Walk::default(), BTreeSet::new());
        for &place in before {
            let known = walk.passed_over;
            let task = walk.take(place, records, at, |task| dealt.contains(&task));
            owed.extend((known..walk.passed_over).map(|passed| place + passed));
            dealt.insert(task);
        }
        Walk { owed, passed_over: 0 }
    }

    /// The task at this place, or at the next one whose task `is_known` not to have been dealt.
    fn take(
        &mut self,
        place: u64,
        records: u64,
        at: &dyn Fn(u64) -> u32,
        is_known: impl Fn(u32) -> bool,
    ) -> u32 {
        let place = self.owed.pop_front().unwrap_or(place);
        while self.passed_over < records && is_known(at(place + self.passed_over)) {
            self.passed_over += 1;
        }
        at(place + self.passed_over)
    }
}

/// The training tasks from `position` on, given seeds of the step and of the order of records, and
/// what was `dealt` in this step already. The step's first tasks go on where those of the step
/// before stopped, which were as many; further ones are of an order of their own.
pub fn training_tasks(
    families: &[Family],
    standings: &Standings,
    position: u64,
    count: usize,
    (step, order): (Seed, Seed),
    dealt: &mut BTreeSet<(String, u32)>,
) -> Vec<TaskSeed> {
    let weights = families.iter().map(|family| family.weight).collect();
    let first = position.saturating_sub(count as u64);
    let mut deal = Deal::after(first, weights);
    let before: Vec<(usize, u64)> = deal.by_ref().take((position - first) as usize).collect();
    let now: Vec<(usize, u64)> = deal.take(count).collect();
    let goes_on = dealt.is_empty();
    let walk = |(index, family): (usize, &Family)| {
        let records = family.scenario.tasks(Split::Train).filter(|_| goes_on);
        let Some(records) = records else { return Walk::default() };
        let own = |(of, place): &(usize, u64)| (*of == index).then_some(*place);
        let places: Vec<u64> = before.iter().filter_map(own).collect();
        let tasks = now.iter().filter_map(own).count();
        let order = order.named(&family.scenario.family);
        let at = |place| family.scenario.training_task(place, order, step);
        Walk::after(&places, tasks, records as u64, &at)
    };
    let mut walks: Vec<Walk> = families.iter().enumerate().map(walk).collect();
    let mut task = |(index, (family, place)): (usize, (usize, u64))| {
        let walk = &mut walks[family];
        let (family, seed) = (&families[family], step.at(index as u64));
        let scenario = family.rung(standings).clone();
        let order = order.named(&scenario.family);
        let at = |place| scenario.training_task(place, order, seed.named("task"));
        let records = scenario.tasks(Split::Train).unwrap_or_default() as u64;
        let is_known = |task: u32| dealt.contains(&(scenario.family.clone(), task));
        let task = walk.take(place, records, &at, is_known);
        dealt.insert((scenario.family.clone(), task));
        TaskSeed { scenario, split: Split::Train, task, seed }
    };
    now.into_iter().enumerate().map(&mut task).collect()
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

    /// The records of twenty steps of a size over ten records, which come in another order in every
    /// pass.
    fn steps(size: u64, seed: u64) -> Vec<Vec<u32>> {
        let order = |pass: u64| {
            let mut order: Vec<u32> = (0..10).collect();
            Seed::new(seed).at(pass).shuffle(&mut order);
            order
        };
        let orders: Vec<Vec<u32>> = (0..30).map(order).collect();
        let at = |place: u64| orders[(place / 10) as usize][(place % 10) as usize];
        let step = |step: u64| {
            let before: Vec<u64> = (step.saturating_sub(1) * size..step * size).collect();
            let mut walk = Walk::after(&before, size as usize, 10, &at);
            let mut dealt: Vec<u32> = Vec::new();
            for place in step * size..(step + 1) * size {
                let task = walk.take(place, 10, &at, |task| dealt.contains(&task));
                dealt.push(task);
            }
            dealt
        };
        (0..20).map(step).collect()
    }

    #[test]
    fn no_record_comes_twice_before_all_have_come_wherever_in_a_step_the_order_begins_anew() {
        for (size, seed) in (2..=5).flat_map(|size| (0..20).map(move |seed| (size, seed))) {
            let mut counts = [0_u32; 10];
            for step in steps(size, seed) {
                assert_eq!(step.iter().collect::<BTreeSet<_>>().len(), step.len(), "{step:?}");
                step.iter().for_each(|&record| counts[record as usize] += 1);
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(most - least <= 1, "steps of {size}, seed {seed}: {counts:?}");
            }
        }
    }

    #[test]
    fn steps_that_divide_the_records_evenly_take_them_in_the_order_that_they_have() {
        // No record is in a step of one before.
        let order = steps(1, 3).concat();
        for size in [2, 5, 10] {
            assert_eq!(steps(size, 3).concat()[..order.len()], order[..], "steps of {size}");
        }
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
