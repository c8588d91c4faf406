//! Whether what answers on a server is the policy: a fixed prompt is answered there as a role's
//! answers are drawn, and what was drawn is scored here.
//!
//! Answers are drawn and not a text scored, because that is what can go wrong: engines score
//! prompts without their caches and before temperature and cut-offs.

use std::fmt;

use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Reward, Sample};
use troupe_model::{EngineAdvice, Policy, RemoteEngine, Sampling, SamplingByRole};
use troupe_trainer::ranks::Ranks;
use troupe_trainer::rescore;

use super::PublicationError;

/// Tokens of the prompt: more than the blocks in which engines keep keys and values, so that
/// those of an earlier adapter would show.
const PROMPT_TOKENS: usize = 160;
/// Answers to it.
const ANSWERS: u64 = 8;
/// Tokens of an answer.
const ANSWER_TOKENS: usize = 24;
/// Differences below this share of the tolerance are never looked into.
const NOISE: f64 = 0.1;
/// Something else answers if it agrees with the answers this many times better.
const BETTER: f64 = 3.0;

/// A question to one role.
pub(super) struct Canary<'a> {
    pub(super) policy: &'a str,
    pub(super) role: &'a str,
    pub(super) engine: &'a RemoteEngine,
    pub(super) sampling: &'a Sampling,
}

/// What answers on a server is not the policy that it was given.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server at `{url}` does not answer as the policy `{policy}` (role `{role}`), although it \
     was given the adapter `{adapter}`: over {tokens} tokens its log-probabilities are \
     {difference:.2e} nats per token from those of the trainer, and \
     policies.{policy}.sampler.tolerance is {tolerance}; {}",
    .advice
)]
pub struct Disagreement {
    url: String,
    policy: String,
    role: String,
    adapter: String,
    tokens: usize,
    difference: f64,
    tolerance: f64,
    advice: String,
}

/// What answers instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The base without the adapter.
    Base,
    /// The adapter as it was published before.
    Earlier,
    /// The policy, before cut-offs.
    Uncut,
    /// The policy, before temperature and cut-offs.
    Raw,
}

impl fmt::Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Likeness::Base => "the base without any adapter",
            Likeness::Earlier => "the adapter that was published before",
            Likeness::Uncut => "the policy before cut-offs",
            Likeness::Raw => "the policy before temperature and cut-offs",
        })
    }
}

fn advice(likeness: Option<Likeness>, engine: &EngineAdvice) -> String {
    let Some(likeness) = likeness else {
        return format!(
            "most likely its base is another checkpoint or of another type (`--dtype`), or it \
             fills in what it was not told ({})",
            engine.defaults
        );
    };
    let what = match likeness {
        Likeness::Base => {
            format!("it has lost the adapter or passes it over; {}", engine.adapters)
        }
        Likeness::Earlier => "it keeps files, or keys and values, of an earlier adapter, although \
                              names and paths are used once; start it anew, and look for what \
                              stands between"
            .to_owned(),
        Likeness::Uncut => engine.cut_offs.to_owned(),
        Likeness::Raw => engine.temperature.to_owned(),
    };
    format!("these are the log-probabilities of {likeness}: {what}")
}

impl Canary<'_> {
    /// The mean difference between there and here, in nats per token.
    pub(super) fn ask(
        &self,
        adapter: &str,
        policy: &Policy,
        earlier: Option<&Policy>,
        tolerance: f64,
    ) -> Result<f64, PublicationError> {
        let answers = self.draw(adapter)?;
        let by_role = SamplingByRole::from(self.sampling.clone());
        let difference = difference(policy, &answers, &by_role)?;
        if difference <= NOISE * tolerance {
            return Ok(difference);
        }
        let plain = Sampling::plain(self.sampling.max_completion_tokens);
        let (temperature, repetition_penalty) =
            (self.sampling.temperature, self.sampling.repetition_penalty);
        let uncut = Sampling { temperature, repetition_penalty, ..plain.clone() };
        let others = [
            (Likeness::Base, Some(&policy.plain()), &by_role),
            (Likeness::Earlier, earlier, &by_role),
            (Likeness::Uncut, Some(policy), &uncut.into()),
            (Likeness::Raw, Some(policy), &plain.into()),
        ];
        let mut nearest: Option<(Likeness, f64)> = None;
        for (likeness, other, sampling) in others {
            let Some(other) = other else { continue };
            let distance = self::difference(other, &answers, sampling)?;
            if BETTER * distance < difference && nearest.is_none_or(|(_, best)| distance < best) {
                nearest = Some((likeness, distance));
            }
        }
        if difference <= tolerance && nearest.is_none() {
            return Ok(difference);
        }
        Err(Box::new(Disagreement {
            url: self.engine.url().to_owned(),
            policy: self.policy.to_owned(),
            role: self.role.to_owned(),
            adapter: adapter.to_owned(),
            tokens: answers.iter().map(|answer| answer.completion.tokens.len()).sum(),
            difference,
            tolerance,
            advice: advice(nearest.map(|(likeness, _)| likeness), self.engine.advice()),
        })
        .into())
    }

    /// The answers there: the same prompt and the same seeds every time.
    fn draw(&self, adapter: &str) -> Result<Vec<Sample>, PublicationError> {
        let seed = Seed::new(0).named("canary").named(self.role);
        let answer = self.sampling.max_completion_tokens.min(ANSWER_TOKENS);
        let room = self.engine.positions().saturating_sub(answer);
        let token = |place| seed.at(place).index(self.engine.vocabulary()) as u32;
        let prompt: Vec<u32> = (0..PROMPT_TOKENS.min(room) as u64).map(token).collect();
        let sampling = Sampling { max_completion_tokens: answer, ..self.sampling.clone() };
        let seeds: Vec<Seed> = (0..ANSWERS).map(|number| seed.named("answer").at(number)).collect();
        let drawn = self.engine.draw(adapter, &prompt, &seeds, &sampling);
        let failed = |failure| PublicationError::server(self.policy, self.engine, failure);
        let sample = |completion| self.sample(&prompt, completion);
        Ok(drawn.map_err(failed)?.into_iter().map(sample).collect())
    }

    fn sample(&self, prompt: &[u32], completion: Completion) -> Sample {
        Sample {
            task: 0,
            family: String::new(),
            episode: 0,
            turn: 0,
            role: self.role.to_owned(),
            instance: 0,
            thread: String::new(),
            situation: None,
            hint: None,
            parent: None,
            caller: None,
            round: 0,
            policy: self.policy.to_owned(),
            branch: 0,
            kept: false,
            state: 0,
            prompt: prompt.into(),
            completion,
            reward: Reward::default(),
            accepted: true,
        }
    }
}

/// Mean |difference| of the log-probabilities as drawn from those that a policy gives.
fn difference(
    policy: &Policy,
    answers: &[Sample],
    sampling: &SamplingByRole,
) -> Result<f64, PublicationError> {
    let pair = vec![(policy, answers.iter().collect())];
    let scores = rescore(&Ranks::alone(), &pair, sampling, PROMPT_TOKENS + ANSWER_TOKENS)?;
    let pairs = answers.iter().zip(scores.iter().flatten());
    let gaps: Vec<f64> = pairs
        .flat_map(|(answer, here)| answer.completion.logprobs.iter().zip(here))
        .map(|(there, here)| f64::from((there - here).abs()))
        .collect();
    Ok(gaps.iter().sum::<f64>() / gaps.len().max(1) as f64)
}
