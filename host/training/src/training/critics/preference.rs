//! Critics that learn which of two episodes was better, and find an answer as good as they find it
//! likely (SWEET-RL, arXiv 2503.15478).

use std::collections::BTreeMap;

use super::hinted::hinted;
use crate::metrics::CriticMetrics;
use crate::training::{Training, TrainingError};
use troupe_core::config::{Against, PreferenceCriticConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Sample};
use troupe_estimators::critique::{pairs, relative};
use troupe_model::{Policy, Sampling};
use troupe_trainer::{Contest, TrainerError, rescore};

impl Training {
    fn preference(&self, critic: &str) -> PreferenceCriticConfig {
        self.config.policies[critic].preference.clone().unwrap_or_default()
    }

    /// Let a critic learn from the step's pairs of episodes, if it learns.
    pub(super) fn learn_preferences(
        &mut self,
        critic: &str,
        samples: &[Sample],
        seed: Seed,
    ) -> Result<CriticMetrics, TrainingError> {
        let settings = self.preference(critic);
        let pairs = pairs(samples, &self.config.advantage, self.is_judged());
        let spent = self.spent;
        let learning = &mut self.learning;
        let trainer = learning.trainers.get_mut(critic);
        let (Some(trainer), Some(policy)) = (trainer, learning.team.policies.get_mut(critic))
        else {
            return Ok(CriticMetrics::default());
        };
        let read = hinted(policy, settings.hint, samples.iter())?;
        let read: Vec<&Sample> = read.iter().collect();
        let contests: Vec<Contest> = pairs
            .into_iter()
            .map(|pair| Contest { better: pair.better, worse: pair.worse })
            .collect();
        let plain = Sampling::plain(1).into();
        let lessons = (&read[..], &contests[..]);
        trainer.set_spent(spent);
        let metrics = trainer.prefer(policy, lessons, settings.minibatch_pairs, &plain, seed)?;
        Ok(CriticMetrics { contests: Some(metrics), ..CriticMetrics::default() })
    }

    /// What a critic finds of the answers of policies that learn, measured from the median of those
    /// to the same state: the mean over an answer's drawn tokens of how much likelier the critic
    /// finds them than what it is compared with.
    pub(super) fn judge_by_preference(
        &self,
        critic: &str,
        samples: &[Sample],
    ) -> Result<BTreeMap<usize, f64>, TrainingError> {
        let settings = self.preference(critic);
        let judged = self.is_judged();
        let rows: Vec<usize> = (0..samples.len()).filter(|&row| judged(&samples[row])).collect();
        let policy = &self.learning.team.policies[critic];
        let read = hinted(policy, settings.hint, rows.iter().map(|&row| &samples[row]))?;
        let now = self.scored(policy, &read)?;
        let trainer = self.learning.trainers.get(critic);
        let start = trainer
            .and_then(|trainer| trainer.reference())
            .or_else(|| self.learning.starts.get(critic))
            .filter(|_| settings.against == Against::Start);
        let before = match start {
            Some(start) => self.scored(start, &read)?,
            None => read.iter().map(|sample| sample.completion.logprobs.clone()).collect(),
        };
        let scores = rows.iter().enumerate().map(|(place, &row)| {
            (row, mean_difference(&read[place].completion, &now[place], &before[place]))
        });
        Ok(relative(samples, &scores.collect()))
    }

    /// Log-probabilities of the answers' tokens under the policy's own distribution.
    fn scored(&self, policy: &Policy, samples: &[Sample]) -> Result<Vec<Vec<f32>>, TrainerError> {
        let tokens = self.config.train.microbatch_tokens;
        let of_policy = [(policy, samples.iter().collect())];
        let plain = Sampling::plain(1).into();
        let scored = rescore(&self.learning.team.ranks, &of_policy, &plain, tokens)?;
        Ok(scored.into_iter().next().unwrap_or_default())
    }
}

/// Over the tokens that were drawn.
fn mean_difference(completion: &Completion, now: &[f32], before: &[f32]) -> f64 {
    let pairs = now.iter().zip(before).enumerate();
    let drawn = pairs.filter(|(place, _)| completion.is_drawn(*place));
    let sum: f64 = drawn.map(|(_, (now, before))| f64::from(now - before)).sum();
    sum / completion.drawn().max(1) as f64
}
