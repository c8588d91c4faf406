//! How much every token's log-probability pulls: ∂(−L)/∂log π, in plain numbers.

use std::collections::BTreeMap;

use crate::anchor::Anchor;
use crate::sample::CreditedSample;
use troupe_core::config::{Objective, TrainConfig};

/// A row of a mini-batch, scored.
pub(crate) struct Scored<'a> {
    /// The answer and its advantage.
    pub(crate) row: &'a CreditedSample<'a>,
    /// Its index among the member's rows.
    pub(crate) index: usize,
    /// Which log-probabilities ratios begin at.
    pub(crate) anchor: &'a Anchor,
    /// Log-probability of every token under the policy as it is now.
    pub(crate) now: Vec<f32>,
    /// The same under the reference, where the objective asks for it.
    pub(crate) reference: Option<Vec<f32>>,
    /// The share that each drawn token is of the loss.
    pub(crate) share: f32,
    /// The share that the whole answer is of a mean over answers.
    pub(crate) share_of_answer: f32,
}

/// What is done with a token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pull {
    /// ∂(−L)/∂log π.
    pub(crate) slope: f64,
    /// The token's part of −L.
    pub(crate) gain: f64,
    /// Whether a bound below, or above, holds the ratio.
    pub(crate) clipped: [bool; 2],
}

impl Scored<'_> {
    /// Places and log-probabilities of the tokens that were drawn.
    fn drawn(&self) -> impl Iterator<Item = (usize, f32)> {
        let is_drawn = |(at, _): &(usize, f32)| self.row.sample.completion.is_drawn(*at);
        self.now.iter().copied().enumerate().filter(is_drawn)
    }

    /// What it was worth beyond its group's average, if it was compared with anything.
    fn advantage(&self) -> Option<f64> {
        self.row.advantage.map(f64::from)
    }

    /// No pull at all: of an answer that was compared with nothing.
    fn none(&self) -> Vec<Pull> {
        vec![Pull::default(); self.now.len()]
    }

    /// What of some log-probabilities is the drawn tokens', summed.
    fn sum(&self, logprobs: &[f32]) -> f64 {
        self.drawn().map(|(at, _)| f64::from(logprobs[at])).sum()
    }

    /// Add the pull of the KL penalty, whose estimate at a token is e^x − x − 1 with x = log π_ref −
    /// log π (<http://joschu.net/blog/kl-approx.html>).
    pub(crate) fn penalize(&self, config: &TrainConfig, pulls: &mut [Pull]) {
        let Some(reference) = self.reference.as_ref().filter(|_| config.kl_coefficient != 0.0)
        else {
            return;
        };
        let weight = config.kl_coefficient * f64::from(self.share);
        for (at, now) in self.drawn() {
            let log_ratio = f64::from(reference[at] - now);
            pulls[at].slope += weight * log_ratio.exp_m1();
            pulls[at].gain -= weight * (log_ratio.exp_m1() - log_ratio);
        }
    }

    /// The pulls of the drawn tokens, and none of the others.
    fn pulls(&self, pull: impl Fn(usize, f32) -> Pull) -> Vec<Pull> {
        let mut pulls = vec![Pull::default(); self.now.len()];
        self.drawn().for_each(|(at, now)| pulls[at] = pull(at, now));
        pulls
    }
}

/// The pull of every token of every row of a mini-batch.
pub(crate) fn weigh(config: &TrainConfig, rows: &[Scored]) -> Vec<Vec<Pull>> {
    match config.objective {
        Objective::Surrogate => by_token(rows, |token| clipped(config, token)),
        Objective::Cispo => by_token(rows, |token| cispo(config, token)),
        Objective::Reinforce => by_token(rows, |token| likelihood(token, token.advantage)),
        Objective::Likelihood => {
            by_token(rows, |token| likelihood(token, f64::from(u8::from(token.advantage > 0.0))))
        }
        Objective::WeightedLikelihood => {
            by_token(rows, |token| likelihood(token, weight_of(token.advantage, config)))
        }
        Objective::Gspo => rows.iter().map(|row| by_answer(config, row, Ratio::OfTokens)).collect(),
        Objective::MGrpo => rows.iter().map(|row| by_answer(config, row, Ratio::Whole)).collect(),
        Objective::Preference => preference(config, rows),
    }
}

/// A token with what is known of it.
struct Token {
    advantage: f64,
    logprob: f64,
    /// Its probability now over that before the update.
    ratio: f64,
}

fn by_token(rows: &[Scored], pull: impl Fn(&Token) -> Pull) -> Vec<Vec<Pull>> {
    let of_row = |scored: &Scored| -> Vec<Pull> {
        let Some(advantage) = scored.advantage() else { return scored.none() };
        scored.pulls(|at, now| {
            let (before, correction) = scored.anchor.token(scored.row, scored.index, at);
            let logprob = f64::from(now);
            let ratio = f64::from(now - before).exp();
            let share = f64::from(scored.share) * f64::from(correction);
            pull(&Token { advantage, logprob, ratio }).times(share)
        })
    };
    rows.iter().map(of_row).collect()
}

impl Pull {
    fn times(self, factor: f64) -> Self {
        Pull { slope: self.slope * factor, gain: self.gain * factor, ..self }
    }
}

/// min(ρA, clip(ρ)A) (PPO, arXiv 1707.06347, equation 7); of A < 0 no less than cA, if there is
/// such a bound (arXiv 1912.09729, equation 5).
fn clipped(config: &TrainConfig, token: &Token) -> Pull {
    let Token { advantage, ratio, .. } = *token;
    let (low, high) = (1.0 - config.clip_low, 1.0 + config.clip_high);
    let dual = config.clip_dual;
    let is_dual = dual > 0.0 && advantage < 0.0 && ratio > dual;
    let clipped = [ratio < low && advantage < 0.0, (ratio > high && advantage > 0.0) || is_dual];
    let ratio_held = if is_dual { dual } else { ratio };
    let gain = (ratio_held * advantage).min(ratio.clamp(low, high) * advantage);
    let slope = if clipped.contains(&true) { 0.0 } else { ratio * advantage };
    Pull { slope, gain, clipped }
}

/// sg(min(ρ, 1 + ε))·A·log π (CISPO, arXiv 2506.13585, equation 4, whose lower side is open, as
/// the text below it says).
fn cispo(config: &TrainConfig, token: &Token) -> Pull {
    let high = 1.0 + config.clip_high;
    let clipped = [false, token.ratio > high];
    Pull { clipped, ..likelihood(token, token.ratio.min(high) * token.advantage) }
}

/// The largest weight of `weighted-likelihood` (AWR, arXiv 1910.00177, section 5).
const MOST_WEIGHT: f64 = 20.0;

/// exp(A / β), bounded (AWR, arXiv 1910.00177, equation 11).
fn weight_of(advantage: f64, config: &TrainConfig) -> f64 {
    (advantage / config.temper()).exp().min(MOST_WEIGHT)
}

/// w·log π.
fn likelihood(token: &Token, weight: f64) -> Pull {
    Pull { slope: weight, gain: weight * token.logprob, clipped: [false; 2] }
}

/// Which ratio an answer has.
#[derive(Clone, Copy, PartialEq)]
enum Ratio {
    /// The geometric mean of its tokens' (GSPO, arXiv 2507.18071, equation 7).
    OfTokens,
    /// Their product (M-GRPO, arXiv 2511.13288, equation 16).
    Whole,
}

/// min(sA, clip(s)A) with one ratio s for the answer; a mean over answers.
fn by_answer(config: &TrainConfig, scored: &Scored, ratio: Ratio) -> Vec<Pull> {
    let Some(advantage) = scored.advantage() else { return scored.none() };
    let token = |at: usize| scored.anchor.token(scored.row, scored.index, at);
    // What is masked is no part of the answer.
    let is_masked = |at: usize| token(at).1 == 0.0;
    let length = scored.drawn().filter(|(at, _)| !is_masked(*at)).count().max(1) as f64;
    let tokens = scored.drawn().filter(|(at, _)| !is_masked(*at)).map(|(at, now)| {
        let (before, correction) = token(at);
        (f64::from(now - before), f64::from(correction).ln())
    });
    let (log_ratio, log_correction) =
        tokens.fold((0.0, 0.0), |sum, token| (sum.0 + token.0, sum.1 + token.1));
    let per_token = match ratio {
        Ratio::OfTokens => 1.0 / length,
        Ratio::Whole => 1.0,
    };
    let whole = Token { advantage, logprob: 0.0, ratio: (log_ratio * per_token).exp() };
    let correction = (log_correction / length).exp();
    let pull = clipped(config, &whole).times(f64::from(scored.share_of_answer) * correction);
    let of_token = Pull { slope: pull.slope * per_token, gain: pull.gain / length, ..pull };
    scored.pulls(|at, _| if is_masked(at) { Pull::default() } else { of_token })
}

/// log σ(β·margin) for every pair of a better and a worse answer to one prompt,
/// a mean over the pairs of a prompt, which counts as much as its answers do. The
/// margin is the difference of log(π / π_ref) (DPO, arXiv 2305.18290, equation 7).
fn preference(config: &TrainConfig, rows: &[Scored]) -> Vec<Vec<Pull>> {
    let mut pulls: Vec<(f64, f64)> = vec![(0.0, 0.0); rows.len()];
    let margin = |scored: &Scored| {
        let reference = scored.reference.as_deref();
        scored.sum(&scored.now) - reference.map_or(0.0, |reference| scored.sum(reference))
    };
    for of_prompt in by_prompt(rows) {
        let of_sign = |sign: f32| -> Vec<usize> {
            let is_of = |at: &usize| rows[*at].row.advantage.is_some_and(|a| a * sign > 0.0);
            of_prompt.iter().copied().filter(is_of).collect()
        };
        let (better, worse) = (of_sign(1.0), of_sign(-1.0));
        let pairs = (better.len() * worse.len()).max(1) as f64;
        let share: f64 = of_prompt.iter().map(|&at| f64::from(rows[at].share_of_answer)).sum();
        for &winner in &better {
            for &loser in &worse {
                let margin = config.temper() * (margin(&rows[winner]) - margin(&rows[loser]));
                // log σ(m) = −log(1 + e^−m), without overflow.
                let gain = -((-margin.abs()).exp().ln_1p() + (-margin).max(0.0));
                let slope = config.temper() / (1.0 + margin.exp());
                pulls[winner].0 += slope * share / pairs;
                pulls[loser].0 -= slope * share / pairs;
                pulls[winner].1 += gain * share / pairs;
            }
        }
    }
    let of_row = |(scored, (slope, gain)): (&Scored, (f64, f64))| {
        let length = scored.drawn().count().max(1) as f64;
        scored.pulls(|_, _| Pull { slope, gain: gain / length, clipped: [false; 2] })
    };
    rows.iter().zip(pulls).map(of_row).collect()
}

/// Indices of rows with equal prompts.
fn by_prompt(rows: &[Scored]) -> Vec<Vec<usize>> {
    let mut prompts: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
    for (index, scored) in rows.iter().enumerate() {
        prompts.entry(&scored.row.sample.prompt).or_default().push(index);
    }
    prompts.into_values().collect()
}
