//! Policies that play no role and judge those that do: what they learn from a step, and what they
//! find of its answers.
//!
//! Critics learn first and judge then, so that what the policies learn in a step is what their
//! critics know after it.

mod hinted;
mod preference;
mod value;

use std::collections::BTreeMap;
use std::path::Path;

use super::learning::Learning;
use super::{Record, Training, TrainingError};
use crate::rollout::{RoleMap, Rollout};
use crate::team::Team;
use troupe_core::config::{Config, CreditStep, Learns};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_estimators::credit::Credits;
use troupe_model::Policy;
use troupe_trainer::ValueCritic;
use value::spent_on;

/// What critics of values have beside their policies, by name. What critics of preferences have is
/// a trainer like any other.
pub(super) type ValueCritics = BTreeMap<String, ValueCritic>;

/// What is learned from after critics were asked.
pub(super) struct Judged {
    /// The answers, if they are not the step's own.
    pub(super) others: Option<Vec<Sample>>,
    /// What they came to.
    pub(super) credits: Credits,
    /// What the step's own came to.
    pub(super) own: Credits,
}

impl Training {
    /// Have the critics learn from the step, and let what they find take the place of `credits`
    /// where `advantage.then` says so.
    pub(super) fn consult(
        &mut self,
        rollout: &Rollout,
        credits: Credits,
        record: &mut Record,
    ) -> Result<Judged, TrainingError> {
        let critics: Vec<(String, Learns)> =
            self.config.critics().map(|(name, critic)| (name.clone(), critic.learns)).collect();
        let mut asked = None;
        let mut learns_alone = false;
        for (name, learns) in critics {
            let seed = self.seed.at(self.progress.step as u64).named("critic").named(&name);
            let metrics = match learns {
                Learns::Role => continue,
                Learns::Preference => self.learn_preferences(&name, &rollout.samples, seed)?,
                Learns::Value => {
                    asked = self.ask_again(&name, &rollout.samples, seed)?;
                    self.progress.totals += spent_on(asked.as_deref().unwrap_or_default());
                    record.totals = self.progress.totals;
                    let fresh = asked.as_deref().unwrap_or(&rollout.samples);
                    let metrics = self.learn_values(&name, (&rollout.samples, fresh), seed)?;
                    learns_alone |= self.learns_alone(&name);
                    metrics
                }
            };
            record.critics.insert(name, metrics);
        }
        let (own, credits) = match &asked {
            // What was played is not learned from, but is the past of answers that are. These are
            // of no task: a configuration that leaves tasks out has none.
            Some(asked) => {
                let unjudged = Credits::unjudged(asked, &self.config.advantage);
                (credits.nothing(), self.judge(asked, unjudged, |_| true)?)
            }
            None => {
                let in_band = rollout.in_band(&self.config.advantage);
                let judged = self.judge(&rollout.samples, credits, in_band)?;
                (judged.clone(), judged)
            }
        };
        let (own, credits) = match learns_alone {
            true => (own.nothing(), credits.nothing()),
            false => (own, credits),
        };
        Ok(Judged { others: asked, credits, own })
    }

    /// What critics find of answers that `teach` something, in the place of what was found before
    /// them.
    fn judge(
        &self,
        samples: &[Sample],
        credits: Credits,
        teaches: impl Fn(&Sample) -> bool,
    ) -> Result<Credits, TrainingError> {
        let mut verdicts = BTreeMap::new();
        for step in &self.config.advantage.then {
            let CreditStep::Judge(critic) = step else { continue };
            let found = match self.config.policies[critic].learns {
                Learns::Value => self.judge_by_value(critic, samples)?,
                _ => self.judge_by_preference(critic, samples)?,
            };
            verdicts.insert(critic.as_str(), found);
        }
        Ok(credits.judged(samples, &self.config.advantage, &verdicts, teaches))
    }

    /// Which answers are judged, and learned from by critics.
    fn is_judged(&self) -> impl Fn(&Sample) -> bool + Copy + '_ {
        judged_by(&self.learning.team.role_map)
    }
}

/// Answers of policies that learn or, where none does, of all that answer here: a critic may learn
/// from a team that stays as it is.
fn judged_by(role_map: &RoleMap) -> impl Fn(&Sample) -> bool + Copy + '_ {
    let all = role_map.trained_roles().is_empty();
    move |sample| match all {
        true => !role_map.remotes().contains_key(&sample.policy),
        false => role_map.learns_from(sample),
    }
}

impl Learning {
    /// What critics of values have beside their policies, before they have learned anything.
    pub(super) fn begin_critics(
        team: &Team,
        config: &Config,
    ) -> Result<ValueCritics, TrainingError> {
        let mut critics = ValueCritics::new();
        for (name, policy) in config.critics().filter(|(_, p)| p.learns == Learns::Value) {
            let Some(encoder) = team.policies.get(name) else { continue };
            let seed = Seed::new(config.run.seed).named("critic").named(name);
            let settings = policy.value.clone().unwrap_or_default();
            let train = config.training_of(name);
            critics.insert(name.clone(), ValueCritic::new(encoder, &settings, &train, seed)?);
        }
        Ok(critics)
    }

    /// What critics that do not learn any more are compared with.
    pub(super) fn load_starts(
        team: &Team,
        config: &Config,
    ) -> Result<BTreeMap<String, Policy>, TrainingError> {
        let mut starts = BTreeMap::new();
        for (name, settings) in config.critics() {
            if let (Some(critic), Some(folder)) = (team.policies.get(name), settings.start()) {
                starts.insert(name.clone(), critic.restore(folder)?);
            }
        }
        Ok(starts)
    }

    /// Write what a checkpoint holds of them into the folder.
    pub(super) fn save_critics(&self, checkpoint: &Path) -> Result<(), TrainingError> {
        for (name, critic) in &self.critics {
            critic.save(&checkpoint.join("critics").join(name))?;
        }
        Ok(())
    }

    /// Take them up from a checkpoint.
    pub(super) fn load_critics(&mut self, checkpoint: &Path) -> Result<(), TrainingError> {
        for (name, critic) in &mut self.critics {
            critic.load(&checkpoint.join("critics").join(name))?;
        }
        Ok(())
    }
}
