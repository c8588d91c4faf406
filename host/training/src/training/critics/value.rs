//! A critic of what states and answers are worth, and answers to states of earlier steps that it
//! says it of (ArCHer, arXiv 2402.19446).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::hinted::prompts_of;
use super::judged_by;
use crate::metrics::CriticMetrics;
use crate::team::Team;
use crate::training::learning::Learning;
use crate::training::replay::Replay;
use crate::training::{Training, TrainingError};
use troupe_core::config::{Reading, ValueCriticConfig};
use troupe_core::seed::Seed;
use troupe_core::totals::Totals;
use troupe_core::trajectory::{Reward, Sample};
use troupe_estimators::critique::{Transition, generalized, transitions};
use troupe_model::{Policy, Request};
use troupe_trainer::{Answered, Estimate, Outcome};

impl Training {
    fn value(&self, critic: &str) -> ValueCriticConfig {
        self.config.policies[critic].value.clone().unwrap_or_default()
    }

    /// Whether the policies wait until the critic knows something.
    pub(super) fn learns_alone(&self, critic: &str) -> bool {
        let steps = self.learning.critics.get(critic).map_or(0, |critic| critic.steps());
        steps <= self.value(critic).warmup_steps
    }

    /// Answers of the policies as they are to states of the steps that the critic learns from, each
    /// drawn with the same probability; nothing if none are asked for. They earned nothing.
    pub(super) fn ask_again(
        &self,
        critic: &str,
        samples: &[Sample],
        seed: Seed,
    ) -> Result<Option<Vec<Sample>>, TrainingError> {
        let count = self.value(critic).asked_again;
        if count == 0 {
            return Ok(None);
        }
        let seed = seed.named("again");
        let judged = self.is_judged();
        let steps = self.value(critic).replay_steps;
        let remembered = remembered(&self.learning.replay, steps, samples);
        let states: Vec<&Sample> = remembered.flatten().filter(|sample| judged(sample)).collect();
        let mut asked: BTreeMap<(&str, &str), Vec<(u64, &Sample)>> = BTreeMap::new();
        if !states.is_empty() {
            for place in 0..count as u64 {
                let state = states[seed.named("state").at(place).index(states.len())];
                let to = (state.policy.as_str(), state.role.as_str());
                asked.entry(to).or_default().push((place, state));
            }
        }
        let sampling = self.learning.team.role_map.sampling(&self.config.rollout);
        let mut answers = Vec::with_capacity(count);
        for ((policy, role), asked) in asked {
            let request = |&(place, state): &(u64, &Sample)| Request {
                prompt: state.prompt.clone(),
                seeds: vec![seed.named("answer").at(place)],
            };
            let requests: Vec<Request> = asked.iter().map(request).collect();
            let policy = &self.learning.team.policies[policy];
            let drawn = policy.generate(&requests, sampling.of(role))?;
            let drawn = asked.into_iter().zip(drawn.into_iter().flatten());
            answers.extend(drawn.map(|((place, state), completion)| Sample {
                task: place as usize,
                parent: None,
                caller: None,
                kept: false,
                branch: 0,
                completion,
                reward: Reward::default(),
                ..state.clone()
            }));
        }
        Ok(Some(answers))
    }

    /// Let a critic learn from what came of the answers that are remembered, and from `fresh`
    /// ones, if it learns.
    pub(super) fn learn_values(
        &mut self,
        name: &str,
        (samples, fresh): (&[Sample], &[Sample]),
        seed: Seed,
    ) -> Result<CriticMetrics, TrainingError> {
        let ValueCriticConfig { hint, replay_steps, .. } = self.value(name);
        let Learning { team, critics, replay, .. } = &mut self.learning;
        let Team { policies, role_map, .. } = team;
        let judged = judged_by(role_map);
        let (Some(critic), Some(encoder)) = (critics.get_mut(name), policies.get_mut(name)) else {
            return Ok(CriticMetrics::default());
        };
        if !self.config.trains(name) {
            return Ok(CriticMetrics::default());
        }
        let mut past = Vec::new();
        for samples in remembered(replay, replay_steps, samples) {
            let transitions = transitions(samples, &self.config.advantage, judged);
            let prompts = prompts_of(encoder, hint, samples.iter())?;
            past.push(Remembered { samples, prompts, transitions });
        }
        let outcomes: Vec<Outcome> = past.iter().flat_map(Remembered::outcomes).collect();
        let fresh: Vec<&Sample> = fresh.iter().filter(|sample| judged(sample)).collect();
        let prompts = prompts_of(encoder, hint, fresh.iter().copied())?;
        let values = critic.learn(encoder, &outcomes, &answered(&fresh, &prompts), seed)?;
        Ok(CriticMetrics { values: Some(values), ..CriticMetrics::default() })
    }

    /// What a critic finds of the answers of policies that learn, in units of reward.
    pub(super) fn judge_by_value(
        &self,
        name: &str,
        samples: &[Sample],
    ) -> Result<BTreeMap<usize, f64>, TrainingError> {
        let settings = self.value(name);
        let judged = self.is_judged();
        let rows: Vec<usize> = (0..samples.len()).filter(|&row| judged(&samples[row])).collect();
        let answers: Vec<&Sample> = rows.iter().map(|&row| &samples[row]).collect();
        let policy = &self.learning.team.policies[name];
        let estimates = self.estimates(name, policy, (settings.hint, &answers))?;
        if settings.reading == Reading::Difference {
            let differences = rows.into_iter().zip(estimates);
            return Ok(differences.map(|(row, e)| (row, e.answer - e.state)).collect());
        }
        let mut values = vec![0.0; samples.len()];
        rows.iter().zip(estimates).for_each(|(&row, estimate)| values[row] = estimate.state);
        let way = transitions(samples, &self.config.advantage, judged);
        Ok(generalized(&way, &values, (settings.discount, settings.lambda)))
    }

    fn estimates(
        &self,
        name: &str,
        policy: &Policy,
        (reads_hints, answers): (bool, &[&Sample]),
    ) -> Result<Vec<Estimate>, TrainingError> {
        let prompts = prompts_of(policy, reads_hints, answers.iter().copied())?;
        let critic = &self.learning.critics[name];
        Ok(critic.judge(policy, &answered(answers, &prompts))?)
    }
}

/// What was read and drawn for answers that were asked for one by one.
pub(super) fn spent_on(answers: &[Sample]) -> Totals {
    let completions = answers.iter().map(|answer| answer.completion.length() as u64);
    Totals {
        samples: answers.len() as u64,
        completion_tokens: completions.sum(),
        prompt_tokens: answers.iter().map(|answer| answer.prompt.len() as u64).sum(),
        acts: 0,
    }
}

/// The answers that a critic learns from, step by step, the newest last.
fn remembered<'a>(
    replay: &'a Replay,
    steps: usize,
    samples: &'a [Sample],
) -> impl Iterator<Item = &'a [Sample]> {
    replay.last(steps - 1).map(|past| &past.samples[..]).chain([samples])
}

fn answered<'a>(samples: &[&'a Sample], prompts: &'a [Arc<[u32]>]) -> Vec<Answered<'a>> {
    let answer = |(sample, prompt): (&&'a Sample, &'a Arc<[u32]>)| Answered {
        prompt,
        answer: &sample.completion.tokens,
    };
    samples.iter().zip(prompts).map(answer).collect()
}

/// A step's answers, and what came of them.
struct Remembered<'a> {
    samples: &'a [Sample],
    prompts: Vec<Arc<[u32]>>,
    transitions: Vec<Transition>,
}

impl Remembered<'_> {
    fn outcomes(&self) -> impl Iterator<Item = Outcome<'_>> {
        self.transitions.iter().map(|&Transition { row, reward, next }| Outcome {
            answered: Answered {
                prompt: &self.prompts[row],
                answer: &self.samples[row].completion.tokens,
            },
            reward,
            next: next.map(|next| &*self.prompts[next]),
        })
    }
}
