//! A step that is taken back where it went too far.
//!
//! One bad step can undo what hundreds have learned. What a policy was is kept until it is
//! known how far the step has moved it.

use std::collections::BTreeMap;

use crate::anchor::Anchor;
use crate::bundle::Bundle;
use crate::caution::ATTEMPTS;
use crate::error::TrainerError;
use crate::gauge::{Gauge, Standing};
use crate::kept::Kept;
use crate::member::{Member, gradients};
use crate::metrics::Tally;
use troupe_model::SamplingByRole;

/// What the members of an update learn from, and how that is measured.
pub(super) struct CarefulStep<'l, 'a> {
    pub(super) batches: &'l [Vec<Vec<&'l Bundle<'a>>>],
    pub(super) anchors: &'l [Anchor],
    pub(super) gauge: &'l Gauge<'a>,
    pub(super) sampling: &'l SamplingByRole,
}

/// What became of a member's step.
pub(super) struct Attempt {
    pub(super) tally: Tally,
    pub(super) taken_back: usize,
    pub(super) overshoot: Option<f64>,
}

impl CarefulStep<'_, '_> {
    /// Learn. The step of a member that it moves by more than `train.max_movement` is taken back,
    /// and made again at half the learning rate, [`ATTEMPTS`] times at most; in the end nothing of
    /// it is left. The next one begins at the rate that passed, or twice it if that leaves room.
    /// Returns what the members have become.
    pub(super) fn make(
        &self,
        members: &mut [Member],
        before: &Standing,
    ) -> Result<(Standing, Vec<Attempt>), TrainerError> {
        let limit = members[0].trainer.config.max_movement;
        let mut attempts: Vec<Attempt> = members.iter().map(Attempt::first).collect();
        let learns = |index: &usize| !self.batches[*index].is_empty();
        let mut to_learn: Vec<usize> = (0..members.len()).filter(learns).collect();
        let mut kept = BTreeMap::new();
        for &index in to_learn.iter().filter(|_| limit > 0.0) {
            kept.insert(index, Kept::of(&members[index])?);
        }
        let mut after = before.clone();
        while !to_learn.is_empty() {
            self.learn(members, &to_learn, &mut attempts)?;
            after = Standing::of(members, self.gauge, self.sampling)?;
            if limit == 0.0 {
                break;
            }
            to_learn.retain(|&index| {
                let moved = after.readings[index].movement_from(&before.readings[index]);
                attempts[index].went_too_far(moved, limit, &mut members[index])
            });
            for &index in &to_learn {
                kept[&index].restore(&mut members[index])?;
                after.readings[index] = before.readings[index].clone();
                after.fingerprints[index] = before.fingerprints[index];
                attempts[index].take_back(&members[index]);
            }
            to_learn.retain(|&index| attempts[index].taken_back < ATTEMPTS);
        }
        for (member, attempt) in members.iter().zip(&mut attempts) {
            attempt.tally.add_up(&member.trainer.ranks)?;
        }
        Ok((after, attempts))
    }

    /// Take the mini-batches of some of the members, all their first ones together, then all
    /// their second ones.
    fn learn(
        &self,
        members: &mut [Member],
        who: &[usize],
        attempts: &mut [Attempt],
    ) -> Result<(), TrainerError> {
        let rounds = who.iter().map(|&index| self.batches[index].len()).max().unwrap_or_default();
        for round in 0..rounds {
            let present: Vec<(usize, &[&Bundle])> = (who.iter())
                .filter_map(|&index| Some((index, &self.batches[index].get(round)?[..])))
                .collect();
            let gradients = gradients(members, &present, self.anchors, self.sampling)?;
            for (gradient, (index, batch)) in gradients.into_iter().zip(present) {
                let (member, tally) = (&mut members[index], &mut attempts[index].tally);
                tally.add(&gradient.measured, batch);
                member.trainer.apply(member.policy, gradient, tally)?;
            }
        }
        Ok(())
    }
}

impl Attempt {
    fn first(member: &Member) -> Self {
        let tally = Tally::new(member.trainer.learning_rate());
        Attempt { tally, taken_back: 0, overshoot: None }
    }

    /// Whether the policy was moved further than it may, and what that means for its next step;
    /// what is not a number is not near, either.
    fn went_too_far(&mut self, moved: f64, limit: f64, member: &mut Member) -> bool {
        let is_far = moved > limit || moved.is_nan();
        if is_far {
            self.overshoot = Some(moved);
            member.trainer.caution.went_too_far();
        } else {
            member.trainer.caution.stood(moved, limit);
        }
        is_far
    }

    /// It is as if nothing had been learned.
    fn take_back(&mut self, member: &Member) {
        self.taken_back += 1;
        self.tally = Tally::new(member.trainer.learning_rate());
    }
}
