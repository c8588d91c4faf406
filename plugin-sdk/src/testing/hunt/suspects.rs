//! What looks like a hole: played again in full and judged.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::slice;

use super::ground::Ground;
use super::hole::Hole;
use super::quota::Quota;
use super::trail::Trail;
use super::{Caught, constant, late};
use crate::testing::environment::{Examination, Mask, ROUNDING};
use crate::testing::walk::{Deed, Walk};
use crate::types::Status;

/// Suspicions of one kind that are looked into in one task.
const TRIES: usize = 80;
/// Deeds of the longest way that is taken for a way back.
const LONGEST_LAP: usize = 12;
/// Rounds in which a way must have paid, and steps of the longest walk that shows it.
const ROUNDS: usize = 12;
const LONGEST_WALK: usize = 300;

/// What a hunt has found so far, and what it has looked into.
pub struct Suspects<'h> {
    examination: &'h Examination<'h>,
    quota: &'h Quota<'h>,
    counters: &'h Mask,
    caught: Caught,
    /// Holes that are known.
    known: BTreeSet<Hole>,
    /// Ways that were looked into in this task, by what would be done over and over.
    laps: HashSet<String>,
    /// Suspicions that were looked into in this task.
    tries: BTreeMap<Hole, usize>,
}

impl<'h> Suspects<'h> {
    pub fn new(examination: &'h Examination<'h>, quota: &'h Quota<'h>, counters: &'h Mask) -> Self {
        let (caught, known) = (Caught::default(), BTreeSet::new());
        let (laps, tries) = (HashSet::new(), BTreeMap::new());
        Suspects { examination, quota, counters, caught, known, laps, tries }
    }

    pub fn caught(mut self) -> Caught {
        self.caught.acts = self.quota.used();
        self.caught
    }

    /// Hunt in a task.
    pub fn enter<'q>(&mut self, expert: &'q Walk, quota: &'q Quota<'q>) -> Ground<'q>
    where
        'h: 'q,
    {
        self.laps.clear();
        self.tries.clear();
        Ground::new(self.examination, quota, self.counters, expert)
    }

    /// So many situations were new.
    pub fn saw(&mut self, situations: usize) {
        self.caught.situations += situations;
    }

    /// What became of the small policy.
    pub fn learned(&mut self, told: String) {
        self.caught.learned = Some(told);
    }

    /// Whether all kinds of holes are known.
    pub fn is_done(&self) -> bool {
        self.known.len() == Hole::ALL.len()
    }

    /// Look at a trail that has just gone one deed further.
    pub fn look(&mut self, ground: &Ground<'_>, trail: &Trail) {
        if trail.status == Status::Solved {
            self.look_for_blindness(ground, trail);
            return;
        }
        self.look_at_income(ground, trail);
        self.look_for_laps(ground, trail);
    }

    /// Somebody has earned what a solution pays.
    fn look_at_income(&mut self, ground: &Ground<'_>, trail: &Trail) {
        if !ground.is_solvable() {
            return;
        }
        let Some(share) = ground.share(trail.now()) else { return };
        let nearest = self.caught.nearest.get_or_insert(share);
        *nearest = nearest.max(share);
        if share < 1.0 - ROUNDING || !self.may_try(Hole::UnsolvedIncome) {
            return;
        }
        let short = ground.expert.steps.len().saturating_sub(trail.deeds.len());
        let last = trail.deeds.last().cloned();
        // What was merely cut short may still have to pay for taking long.
        let silence =
            ground.team().voices().first().map(|voice| Deed::saying(slice::from_ref(voice), ""));
        for filling in last.into_iter().chain(silence) {
            let rest = (0..short).map(|_| filling.clone());
            let deeds = trail.deeds.iter().cloned().chain(rest).collect();
            self.judge(ground, deeds, Hole::UnsolvedIncome);
        }
    }

    /// The way from an earlier moment pays, and can perhaps be gone again.
    fn look_for_laps(&mut self, ground: &Ground<'_>, trail: &Trail) {
        if trail.status != Status::Ongoing || self.known.contains(&Hole::PaidDetours) {
            return;
        }
        let steps = trail.deeds.len();
        for length in 1..=LONGEST_LAP.min(steps - trail.guided.min(steps)) {
            let before = steps - length;
            let pays = trail
                .now()
                .iter()
                .zip(&trail.earned[before])
                .any(|(now, then)| now - then > ROUNDING);
            let is_back = trail.looks[before] == trail.look();
            // Where nothing shows, only short ways are worth trying.
            if !pays || (!is_back && length > LONGEST_LAP / 2) {
                continue;
            }
            let lap = &trail.deeds[before..];
            let words = lap.iter().map(Deed::words).collect::<Vec<_>>().join("\n");
            if self.laps.insert(words) && goes_on_paying(ground, trail, lap) {
                self.walk_laps(ground, trail, length);
            }
        }
    }

    fn walk_laps(&mut self, ground: &Ground<'_>, trail: &Trail, length: usize) {
        if !self.may_try(Hole::PaidDetours) {
            return;
        }
        let (before, lap) = trail.deeds.split_at(trail.deeds.len() - length);
        let around = lap.iter().cycle().take(stretch(ground, length) + length);
        let deeds = before.iter().chain(around).cloned().collect();
        self.judge(ground, deeds, Hole::PaidDetours);
    }

    /// Let the expert solve the task from here: coming late must not pay.
    pub fn look_for_delay(&mut self, ground: &Ground<'_>, trail: &Trail) {
        if !ground.is_solvable() || !self.may_try(Hole::LateSolutions) {
            return;
        }
        let Ok(walk) = late::finish(ground.examination, ground.task(), &trail.deeds) else {
            return;
        };
        ground.quota.use_up(walk.steps.len());
        self.keep(walk, Hole::LateSolutions);
    }

    /// What solved this task without a look at it may solve all.
    fn look_for_blindness(&mut self, ground: &Ground<'_>, trail: &Trail) {
        let is_blind = trail.guided == 0 && trail.deeds.len() <= constant::LONGEST;
        if is_blind && self.may_try(Hole::BlindSolutions) {
            ground.quota.use_up(ground.examination.experts.len());
            self.judge(ground, trail.deeds.clone(), Hole::BlindSolutions);
        }
    }

    fn may_try(&mut self, hole: Hole) -> bool {
        let tries = self.tries.entry(hole).or_default();
        *tries += 1;
        *tries <= TRIES && !self.known.contains(&hole)
    }

    /// Play these deeds in full.
    fn judge(&mut self, ground: &Ground<'_>, deeds: Vec<Deed>, hole: Hole) {
        ground.quota.use_up(deeds.len());
        let (limit, mut deeds) = (deeds.len(), deeds.into_iter());
        if let Ok(walk) = Walk::take(ground.team(), ground.task(), limit, |_| deeds.next()) {
            self.keep(walk, hole);
        }
    }

    /// Keep the walk if its judge sees a fault in it.
    fn keep(&mut self, walk: Walk, hole: Hole) {
        let judged = hole.judge()(self.examination, &walk);
        if judged.is_err_and(|objection| objection.is_fault()) {
            self.known.insert(hole);
            self.caught.walks.push(walk);
        }
    }
}

/// Whether the same way can be gone on and on, and still pays at the end.
fn goes_on_paying(ground: &Ground<'_>, trail: &Trail, lap: &[Deed]) -> bool {
    let Ok(mut live) = trail.fork(ground) else { return false };
    let stretch = stretch(ground, lap.len());
    let mut half = 0.0;
    for (step, deed) in lap.iter().cycle().take(stretch).enumerate() {
        if live.act(ground, deed).is_err() || live.trail.status != Status::Ongoing {
            return false;
        }
        // Most ways stop paying at once.
        if step + 1 == stretch / 2 {
            half = live.trail.sum(ground);
            if half - trail.sum(ground) <= ROUNDING {
                return false;
            }
        }
    }
    live.trail.sum(ground) - half > ROUNDING
}

/// Steps that show that a way of this length pays for ever: more than anybody needs for a solution.
fn stretch(ground: &Ground<'_>, length: usize) -> usize {
    (ROUNDS * length).max(2 * ground.expert.steps.len() + length).min(LONGEST_WALK)
}
