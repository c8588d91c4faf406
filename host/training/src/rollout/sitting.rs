//! Episodes that begin while others are on their way, for those who come with questions.
//!
//! A round lets every open episode have its answers, in one batch for all, and plays them. Who is
//! new joins the next round.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::attempt::Attempt;
use super::collect::spent_on;
use super::error::RolloutError;
use super::role_map::Policies;
use super::sampler::Sampler;
use super::setting::Setting;
use super::task::TaskSeed;
use super::weighing::Answered;
use crate::metrics::Totals;
use troupe_core::trajectory::{Ending, Event};
use troupe_guests::scenario::Transition;

/// Episodes on their way.
pub struct Sitting<'p> {
    setting: Setting<'p>,
    sampler: Sampler<'p>,
    open: BTreeMap<usize, Attempt>,
    next: usize,
}

/// What a round brought to one of them.
#[derive(Debug)]
pub struct Advance {
    /// Its number.
    pub number: usize,
    /// What happened in it.
    pub events: Vec<Event>,
    /// What was read and drawn.
    pub spent: Totals,
    /// How it ended, if it did.
    pub ending: Option<Ending>,
}

impl<'p> Sitting<'p> {
    /// None yet. Every episode is one line: of each answer there is one.
    ///
    /// # Errors
    /// If a policy is missing, or has no room for its answers.
    pub fn open(setting: &Setting<'p>, policies: &'p Policies) -> Result<Self, RolloutError> {
        Ok(Sitting::with(*setting, Sampler::new(setting, policies)?))
    }

    /// The same under another setting; what policies read for one need not be read for the other.
    ///
    /// # Errors
    /// As [`Sitting::open`].
    pub fn beside(&self, setting: &Setting<'p>) -> Result<Self, RolloutError> {
        Ok(Sitting::with(*setting, self.sampler.beside(setting)?))
    }

    fn with(setting: Setting<'p>, sampler: Sampler<'p>) -> Self {
        Sitting { setting, sampler, open: BTreeMap::new(), next: 0 }
    }

    /// An episode that has begun joins; `repetition` is its number among those of its task, which
    /// decides what is drawn. Returns its number here.
    pub fn join(&mut self, task: TaskSeed, repetition: usize, begun: Transition) -> usize {
        let attempt = Attempt::begun(task, repetition, begun, &self.setting);
        self.next += 1;
        self.open.insert(self.next, attempt);
        self.next
    }

    /// One of them is not wanted any more.
    pub fn leave(&mut self, number: usize) {
        self.open.remove(&number);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Let all of them go on by a round of answers; those that have ended are gone afterwards.
    ///
    /// # Errors
    /// If policies cannot answer: then all are lost.
    pub fn round(&mut self) -> Result<Vec<Advance>, RolloutError> {
        let mut open = std::mem::take(&mut self.open);
        let mut due = Vec::new();
        for (number, attempt) in &mut open {
            due.extend(self.sampler.due(*number, attempt)?);
        }
        let mut answers = self.sampler.answer(due)?;
        let answered: Vec<_> = (open.into_iter())
            .map(|(number, attempt)| (number, attempt, answers.remove(&number)))
            .collect();
        let setting = &self.setting;
        let play = |(number, mut attempt, answers): (usize, Attempt, Option<Vec<Answered>>)| {
            let (told, mut spent) = (attempt.events().len(), Totals::default());
            if let Some(answers) = answers {
                answers.iter().for_each(|answered| spent += spent_on(answered));
                attempt.play(answers, setting);
            }
            let events = attempt.events()[told..].to_vec();
            let ending = attempt.ending().cloned();
            (attempt, Advance { number, events, spent, ending })
        };
        let played: Vec<(Attempt, Advance)> = answered.into_par_iter().map(play).collect();
        let keep = |(attempt, advance): (Attempt, Advance)| {
            if advance.ending.is_none() {
                self.open.insert(advance.number, attempt);
            }
            advance
        };
        Ok(played.into_iter().map(keep).collect())
    }
}
