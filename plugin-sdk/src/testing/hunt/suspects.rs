//! What looks like a hole: played again in full and judged.

use std::collections::{BTreeSet, HashSet};

use super::quota::Quota;
use super::trail::Trail;
use super::{Caught, constant, late, unsolved};
use crate::environment::Task;
use crate::testing::environment::Mask;
use crate::testing::environment::{Examination, ROUNDING, counters, loops};
use crate::testing::report::Objection;
use crate::testing::team::Team;
use crate::testing::walk::{BYSTANDER, Deed, Walk};
use crate::types::{Action, Seat, Status};

/// Suspicions of one kind that are looked into in one task.
const TRIES: usize = 80;
/// Deeds of the longest way that is taken for a way back.
const LONGEST_LAP: usize = 12;
/// Rounds in which a way must have paid, and steps of the longest walk that shows it.
const ROUNDS: usize = 12;
const LONGEST_WALK: usize = 300;

/// One task, who is paid in it, and what a solution pays them.
pub struct Ground<'h> {
    pub examination: &'h Examination<'h>,
    pub quota: &'h Quota<'h>,
    pub counters: &'h Mask,
    pub expert: &'h Walk,
    /// A bystander, who gets what all get, and everybody.
    pub payees: Vec<Seat>,
    /// What the solution pays each of them.
    solution: Vec<f64>,
}

impl<'h> Ground<'h> {
    pub fn team(&self) -> &'h Team<'h> {
        &self.examination.team
    }

    pub fn task(&self) -> &'h Task {
        &self.expert.task
    }

    /// What was earned by all: the team's part once, and everybody's own.
    pub fn sum(&self, earned: &[f64]) -> f64 {
        let team = earned.first().copied().unwrap_or_default();
        team + earned.iter().skip(1).map(|all| all - team).sum::<f64>()
    }

    /// What the expert's solution pays all together.
    pub fn worth(&self) -> f64 {
        late::sum(self.examination, self.expert, self.expert)
    }

    /// Whether a solution is known.
    pub fn is_solvable(&self) -> bool {
        self.expert.status() == Status::Solved
    }
}

/// What a hunt has found so far, and what it has looked into.
pub struct Suspects<'h> {
    pub examination: &'h Examination<'h>,
    pub quota: &'h Quota<'h>,
    counters: Mask,
    caught: Caught,
    /// Kinds of holes that are known.
    known: BTreeSet<&'static str>,
    /// Ways that were looked into, by what would be done over and over.
    laps: HashSet<String>,
    /// Suspicions of a kind in this task.
    tries: [usize; 4],
}

impl<'h> Suspects<'h> {
    pub fn new(examination: &'h Examination<'h>, quota: &'h Quota<'h>) -> Self {
        let (counters, laps) = (counters(&examination.strolls), HashSet::new());
        let (caught, known) = (Caught::default(), BTreeSet::new());
        Suspects { examination, quota, counters, caught, known, laps, tries: [0; 4] }
    }

    pub fn caught(mut self) -> Caught {
        self.caught.acts = self.quota.used();
        self.caught
    }

    /// A task to hunt in.
    pub fn enter<R>(
        &mut self,
        expert: &'h Walk,
        quota: &Quota<'_>,
        hunt: impl FnOnce(&mut Self, &Ground<'_>) -> R,
    ) -> R {
        let team = &self.examination.team;
        let payees: Vec<Seat> =
            std::iter::once(Seat::new(BYSTANDER)).chain(team.seats.iter().cloned()).collect();
        let worth = |seat| unsolved::worth(self.examination, seat, expert);
        let solution = payees.iter().map(worth).collect();
        let (examination, counters) = (self.examination, self.counters.clone());
        self.laps.clear();
        self.tries = [0; 4];
        let ground = Ground { examination, quota, counters: &counters, expert, payees, solution };
        hunt(self, &ground)
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
        self.known.len() == self.tries.len()
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
        let mut is_rich = false;
        let team = trail.now().first().copied().unwrap_or_default();
        for ((seat, now), worth) in ground.payees.iter().zip(trail.now()).zip(&ground.solution) {
            if *worth > ROUNDING {
                let share = unsolved::income(self.examination, seat, team, *now) / worth;
                let nearest = self.caught.nearest.get_or_insert(share);
                *nearest = nearest.max(share);
                is_rich |= share >= 1.0 - ROUNDING;
            }
        }
        if !is_rich || !self.may_try(0, "unsolved-income") {
            return;
        }
        let short = ground.expert.steps.len().saturating_sub(trail.deeds.len());
        let last = trail.deeds.last().cloned();
        // What was merely cut short may still have to pay for taking long.
        let silence = ground.team().voices().first().map(|voice| deed(voice, ""));
        for filling in last.into_iter().chain(silence) {
            let rest = (0..short).map(|_| filling.clone());
            let deeds = trail.deeds.iter().cloned().chain(rest).collect();
            self.judge(ground, deeds, "unsolved-income", unsolved::pays_less);
        }
    }

    /// The way from an earlier moment pays, and can perhaps be gone again.
    fn look_for_laps(&mut self, ground: &Ground<'_>, trail: &Trail) {
        if trail.status != Status::Ongoing || self.known.contains("paid-detours") {
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
            if self.laps.insert(words) && self.goes_on_paying(ground, trail, lap) {
                self.walk_laps(ground, trail, length);
            }
        }
    }

    /// Whether the same way can be gone on and on, and still pays at the end.
    fn goes_on_paying(&mut self, ground: &Ground<'_>, trail: &Trail, lap: &[Deed]) -> bool {
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

    fn walk_laps(&mut self, ground: &Ground<'_>, trail: &Trail, length: usize) {
        if !self.may_try(1, "paid-detours") {
            return;
        }
        let (before, lap) = trail.deeds.split_at(trail.deeds.len() - length);
        let around = lap.iter().cycle().take(stretch(ground, length) + length);
        let deeds = before.iter().chain(around).cloned().collect();
        self.judge(ground, deeds, "paid-detours", loops);
    }

    /// Let the expert solve the task from here: coming late must not pay.
    pub fn look_for_delay(&mut self, ground: &Ground<'_>, trail: &Trail) {
        if !ground.is_solvable() || !self.may_try(2, "late-solutions") {
            return;
        }
        let Ok(walk) = late::finish(ground.examination, ground.task(), &trail.deeds) else {
            return;
        };
        ground.quota.use_up(walk.steps.len());
        self.keep(walk, "late-solutions", late::pays_no_more);
    }

    /// What solved this task without a look at it may solve all.
    fn look_for_blindness(&mut self, ground: &Ground<'_>, trail: &Trail) {
        let is_blind = trail.guided == 0 && trail.deeds.len() <= constant::LONGEST;
        if is_blind && self.may_try(3, "blind-solutions") {
            ground.quota.use_up(ground.examination.experts.len());
            self.judge(ground, trail.deeds.clone(), "blind-solutions", constant::looks);
        }
    }

    fn may_try(&mut self, which: usize, kind: &'static str) -> bool {
        self.tries[which] += 1;
        self.tries[which] <= TRIES && !self.known.contains(kind)
    }

    fn judge(
        &mut self,
        ground: &Ground<'_>,
        deeds: Vec<Deed>,
        kind: &'static str,
        judge: impl Fn(&Examination, &Walk) -> Result<(), Objection>,
    ) {
        ground.quota.use_up(deeds.len());
        let (limit, mut deeds) = (deeds.len(), deeds.into_iter());
        if let Ok(walk) = Walk::take(ground.team(), ground.task(), limit, |_| deeds.next()) {
            self.keep(walk, kind, judge);
        }
    }

    fn keep(
        &mut self,
        walk: Walk,
        kind: &'static str,
        judge: impl Fn(&Examination, &Walk) -> Result<(), Objection>,
    ) {
        let judged = judge(self.examination, &walk);
        if judged.is_err_and(|objection| objection.is_fault()) {
            self.known.insert(kind);
            self.caught.walks.push(walk);
        }
    }
}

/// Steps that show that a way of this length pays for ever: more than anybody needs for a solution.
fn stretch(ground: &Ground<'_>, length: usize) -> usize {
    (ROUNDS * length).max(2 * ground.expert.steps.len() + length).min(LONGEST_WALK)
}

/// The seat's word, said by the voice.
pub fn deed(voice: &(Seat, &str), text: &str) -> Deed {
    Deed::of([(voice.0.clone(), Action::new(voice.1, text))])
}
