//! Credit steps: what is done to advantages before the update, in the order that
//! `advantage.then` names.
//!
//! Pure: functions of the sample table and of the advantages so far.

use std::collections::BTreeMap;

use troupe_core::config::{AdvantageConfig, CreditStep, Scale};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Sample, StopReason};

/// Keeps what hardly varies from being blown up.
const EPSILON: f64 = 1e-4;

/// Advantage and weight of each sample of a table: the input of the update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Credits {
    /// Positive: to become likelier; negative: less likely. A sample of a group that was left
    /// out has none; `train.regularize` says whether entropy bonus and KL penalty act on it.
    pub advantages: Vec<Option<f32>>,
    /// How often each counts, 0 or more: 2 as if it were there twice, 0 not at all, not even
    /// for bonus and penalty.
    pub weights: Vec<f32>,
}

impl Credits {
    /// Advantages that all count once.
    pub fn of(advantages: Vec<Option<f32>>) -> Self {
        let weights = vec![1.0; advantages.len()];
        Credits { advantages, weights }
    }

    /// Those of answers that nothing but a critic knows the worth of: no advantages, after the
    /// configuration's steps up to the critic, so that what these mask is not judged.
    pub fn unjudged(samples: &[Sample], config: &AdvantageConfig) -> Self {
        Credits::of(vec![None; samples.len()]).after(samples, config, |_| true)
    }

    /// The credits after the configuration's steps, up to the first for which a critic is asked.
    /// Samples that do not `learn` are given no advantage.
    #[must_use]
    pub fn after(
        mut self,
        samples: &[Sample],
        config: &AdvantageConfig,
        learns: impl Fn(&Sample) -> bool,
    ) -> Self {
        for step in config.then.iter().take_while(|step| !step.is_judged()) {
            self.take(step, samples, config, &learns);
        }
        self
    }

    /// The credits after the remaining steps: what a critic finds takes the place of all
    /// advantages. `verdicts` has, by critic, what it finds of which samples; those that do not
    /// `teach` anything have no advantage, whatever it finds.
    #[must_use]
    pub fn judged(
        mut self,
        samples: &[Sample],
        config: &AdvantageConfig,
        verdicts: &BTreeMap<&str, BTreeMap<usize, f64>>,
        teaches: impl Fn(&Sample) -> bool,
    ) -> Self {
        for step in config.then.iter().skip_while(|step| !step.is_judged()) {
            let CreditStep::Judge(critic) = step else {
                self.take(step, samples, config, &teaches);
                continue;
            };
            let found = verdicts.get(critic.as_str());
            for (row, advantage) in self.advantages.iter_mut().enumerate() {
                let verdict = found.and_then(|found| found.get(&row));
                let is_taught = self.weights[row] > 0.0 && teaches(&samples[row]);
                *advantage = verdict.filter(|_| is_taught).map(|&a| a as f32);
            }
        }
        self
    }

    /// No sample counts.
    #[must_use]
    pub fn nothing(self) -> Self {
        let count = self.advantages.len();
        Credits { advantages: vec![None; count], weights: vec![0.0; count] }
    }

    fn take(
        &mut self,
        step: &CreditStep,
        samples: &[Sample],
        config: &AdvantageConfig,
        learns: &dyn Fn(&Sample) -> bool,
    ) {
        match step {
            CreditStep::Inherit => self.inherit(samples, learns),
            // They were compared as often as they count, so it is done already.
            CreditStep::Align => {}
            CreditStep::TaskNormalize => self.normalize(samples, |s| &s.family, token_count),
            CreditStep::Whiten => self.normalize(samples, |s| &s.policy, |_| 1.0),
            CreditStep::EpisodeMean => self.share_by_episode(samples),
            CreditStep::StateMean => self.share_by_state(samples, config),
            CreditStep::MaskTruncated => {
                self.mask(samples, |sample| sample.completion.stop == StopReason::Length);
            }
            CreditStep::MaskRole(role) => self.mask(samples, |sample| sample.role == *role),
            // Only critics know.
            CreditStep::Judge(_) => {}
        }
    }

    /// A called answer takes the advantage of the answer that began the chain of calls
    /// (MATPO, arXiv 2510.04678), if it learns.
    fn inherit(&mut self, samples: &[Sample], learns: &dyn Fn(&Sample) -> bool) {
        for index in 0..samples.len() {
            let calls = std::iter::successors(samples[index].caller, |&at| samples[at].caller);
            if let Some(root) = calls.last() {
                self.advantages[index] = self.advantages[root].filter(|_| learns(&samples[index]));
            }
        }
    }

    /// Gives the advantages of answers with the same key mean 0 and spread 1, each answer
    /// counting as often as `count` says: by family and token, AgentRL (arXiv 2510.04206,
    /// equation 1).
    fn normalize<'s>(
        &mut self,
        samples: &'s [Sample],
        key: impl Fn(&'s Sample) -> &'s str,
        count: impl Fn(&Sample) -> f64,
    ) {
        let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, sample) in samples.iter().enumerate() {
            if self.advantages[index].is_some() && self.weights[index] > 0.0 {
                members.entry(key(sample)).or_default().push(index);
            }
        }
        for members in members.into_values() {
            let advantage = |&index: &usize| f64::from(self.advantages[index].unwrap_or(0.0));
            let weight = |&index: &usize| count(&samples[index]) * f64::from(self.weights[index]);
            let total: f64 = members.iter().map(weight).sum();
            let sum = |term: &dyn Fn(f64) -> f64| -> f64 {
                members.iter().map(|index| weight(index) * term(advantage(index))).sum()
            };
            let mean = sum(&|advantage| advantage) / total;
            let spread = (sum(&|advantage| (advantage - mean).powi(2)) / total).sqrt();
            let normalized = |index| ((advantage(index) - mean) / (spread + EPSILON)) as f32;
            let normalized: Vec<f32> = members.iter().map(normalized).collect();
            for (index, normalized) in members.into_iter().zip(normalized) {
                self.advantages[index] = Some(normalized);
            }
        }
    }

    /// All answers of a seat in an episode count as many tokens as those of any other, so that
    /// long failures do not outweigh short successes; all together they count what they did.
    fn share_by_episode(&mut self, samples: &[Sample]) {
        let key = |s: &Sample| (s.task, s.episode, s.role.clone(), s.instance);
        let mut said: BTreeMap<_, f64> = BTreeMap::new();
        for (sample, weight) in samples.iter().zip(&self.weights) {
            *said.entry(key(sample)).or_default() += f64::from(*weight) * drawn(sample);
        }
        said.retain(|_, tokens| *tokens > 0.0);
        let mean = said.values().sum::<f64>() / said.len().max(1) as f64;
        for (sample, weight) in samples.iter().zip(&mut self.weights) {
            if let Some(tokens) = said.get(&key(sample)) {
                *weight *= (mean / tokens) as f32;
            }
        }
    }

    /// The answers to a state count as much together as those to any other, however many there are.
    ///
    /// Σ (r − mean) ∇log π over n answers is on average n − 1 times the gradient of what an answer
    /// to the state is worth (each answer stands in its own mean; n times, where the mean is that
    /// of the others), so that a share of 1/(n − 1) makes groups of any size estimates of the same.
    /// All advantages are multiplied by the one number with which the answers of the table count on
    /// average what they did.
    fn share_by_state(&mut self, samples: &[Sample], config: &AdvantageConfig) {
        let mut counts: BTreeMap<State, f64> = BTreeMap::new();
        let compared = samples.iter().zip(&self.advantages).filter(|(_, it)| it.is_some());
        compared.for_each(|(sample, _)| *counts.entry(state_of(sample)).or_default() += 1.0);
        counts.retain(|_, count| *count > 1.0);
        let gradients = |role: &str, count: f64| match config.of_role(role).comparison().scale {
            Scale::LeaveOneOut => count,
            _ => count - 1.0,
        };
        let (answers, shares) =
            counts.iter().fold((0.0, 0.0), |(answers, shares), ((_, _, role, ..), count)| {
                (answers + count, shares + count / gradients(role, *count))
            });
        for (sample, advantage) in samples.iter().zip(&mut self.advantages) {
            if let (Some(advantage), Some(count)) = (advantage, counts.get(&state_of(sample))) {
                *advantage *= (answers / shares / gradients(&sample.role, *count)) as f32;
            }
        }
    }

    /// Masked answers have no advantage and weight 0 (those that were cut off: DAPO, arXiv
    /// 2503.14476, section 3.4).
    fn mask(&mut self, samples: &[Sample], is_masked: impl Fn(&Sample) -> bool) {
        for (index, _) in samples.iter().enumerate().filter(|(_, sample)| is_masked(sample)) {
            (self.advantages[index], self.weights[index]) = (None, 0.0);
        }
    }
}

/// Task, what happened before, role, seat, conversation and turn.
type State<'s> = (usize, u64, &'s str, u32, &'s str, usize);

/// What the answers to a state have in common, as in the groups that are compared by state: not the
/// episode, since each of them may go on in one of its own.
fn state_of(sample: &Sample) -> State<'_> {
    let Sample { task, state, role, instance, thread, turn, .. } = sample;
    (*task, *state, role.as_str(), *instance, thread.as_str(), *turn)
}

/// How often each sample counts, in comparisons and in the update: once, unless
/// `advantage.then` has `align`. Then `threads` called conversations of every episode and
/// role count: surplus ones, drawn at random, are left out, and where there are fewer, some
/// count again (M-GRPO, arXiv 2511.13288, section 4.3).
pub fn counts(samples: &[Sample], config: &AdvantageConfig) -> Vec<f32> {
    let mut counts = vec![1.0; samples.len()];
    if !config.then.contains(&CreditStep::Align) {
        return counts;
    }
    type Conversation<'s> = (u32, &'s str);
    let mut called: BTreeMap<(usize, usize, &str), BTreeMap<Conversation, Vec<usize>>> =
        BTreeMap::new();
    for (index, sample) in samples.iter().enumerate().filter(|(_, s)| s.caller.is_some()) {
        let episode = called.entry((sample.task, sample.episode, &sample.role)).or_default();
        episode.entry((sample.instance, &sample.thread)).or_default().push(index);
    }
    for conversations in called.into_values() {
        let mut conversations: Vec<Vec<usize>> = conversations.into_values().collect();
        // What happened before decides, so that a stored table says the same.
        let seed = Seed::new(samples[conversations[0][0]].state).named("align");
        seed.shuffle(&mut conversations);
        let (whole, rest) =
            (config.threads / conversations.len(), config.threads % conversations.len());
        for (place, members) in conversations.iter().enumerate() {
            let count = whole + usize::from(place < rest);
            members.iter().for_each(|&member| counts[member] = count as f32);
        }
    }
    counts
}

fn drawn(sample: &Sample) -> f64 {
    sample.completion.drawn() as f64
}

fn token_count(sample: &Sample) -> f64 {
    sample.completion.tokens.len() as f64
}

#[cfg(test)]
mod tests;
