//! What a step teaches the policies: its own answers, those of earlier steps beside them, or
//! answers to their states that only a critic knows the worth of.

use super::critics::Judged;
use super::replay::Past;
use super::{Record, Training, TrainingError};
use crate::rollout::Rollout;
use troupe_core::trajectory::Sample;
use troupe_estimators::credit::Credits;

/// Answers that are learned from, and what they came to.
pub(super) struct Lessons {
    /// The answers, if they are others than the step's own, or more.
    others: Option<Vec<Sample>>,
    /// Advantage and weight of each answer.
    credits: Credits,
    /// Which of the step's own answers taught something.
    pub(super) taught: Vec<bool>,
}

impl Lessons {
    /// The answers and their credits, where `own` are the step's.
    pub(super) fn of<'a>(&'a self, own: &'a [Sample]) -> (&'a [Sample], &'a Credits) {
        (self.others.as_deref().unwrap_or(own), &self.credits)
    }
}

impl Training {
    /// Keep the step's answers, and put those that are learned from besides, or in their place,
    /// beside them.
    pub(super) fn teach(
        &mut self,
        rollout: &Rollout,
        judged: Judged,
        taught: Vec<bool>,
        record: &mut Record,
    ) -> Result<Lessons, TrainingError> {
        let Judged { others, own, credits } = judged;
        record.warnings.extend(self.store(rollout, &own)?);
        let lessons = match others {
            Some(others) => Lessons { others: Some(others), credits, taught },
            None => self.remind(&rollout.samples, credits, taught),
        };
        if self.learning.replay.reaches_back() {
            self.learning.replay.take_in(Past { samples: rollout.samples.clone(), credits: own });
        }
        Ok(lessons)
    }

    /// The step's answers with those of the steps before that are learned from again.
    fn remind(&self, samples: &[Sample], mut credits: Credits, taught: Vec<bool>) -> Lessons {
        let earlier = self.config.rollout.replay_steps - 1;
        let mut past = self.learning.replay.last(earlier).peekable();
        if past.peek().is_none() {
            return Lessons { others: None, credits, taught };
        }
        let mut all = samples.to_vec();
        for Past { samples, credits: of_past } in past {
            all.extend_from_slice(samples);
            credits.advantages.extend_from_slice(&of_past.advantages);
            credits.weights.extend_from_slice(&of_past.weights);
        }
        Lessons { others: Some(all), credits, taught }
    }
}
