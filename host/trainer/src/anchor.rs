//! Where ratios begin, and how far that is from what drew the answers.
//!
//! Answers are drawn by one kernel, or one engine, and learned from by another,
//! which gives every token a slightly different probability. With a *rescored*
//! anchor the ratio of an unchanged policy is exactly 1 everywhere, so that
//! nothing is clipped for rounding's sake, and importance weights, truncated or
//! masked, correct for the difference.

use crate::sample::CreditedSample;
use troupe_core::config::{Importance, TrainConfig};
use troupe_core::trajectory::Sample;

/// Log-probabilities before the update, of every token of every row.
pub(super) enum Anchor {
    /// Those that the answers were drawn with.
    Sampled,
    /// Those that the policy gives them before the update.
    Rescored(Rescored),
    /// The same where each token is learned from once and all at once, so that the pass that
    /// differentiates finds them.
    Own,
}

pub(super) struct Rescored {
    logprobs: Vec<Vec<f32>>,
    corrections: Vec<Vec<f32>>,
    corrects: bool,
}

impl Anchor {
    /// At these log-probabilities of the tokens of some samples.
    pub(super) fn at(config: &TrainConfig, samples: &[&Sample], logprobs: Vec<Vec<f32>>) -> Self {
        let corrections = samples.iter().zip(&logprobs);
        let corrections = corrections.map(|(sample, here)| corrections_of(config, sample, here));
        Anchor::Rescored(Rescored {
            corrections: corrections.collect(),
            logprobs,
            corrects: config.importance.weighs(),
        })
    }

    /// Whether corrections are other than 1.
    pub(super) fn corrects(&self) -> bool {
        matches!(self, Anchor::Rescored(Rescored { corrects: true, .. }))
    }

    /// The share of tokens whose correction the cap held, or that are left out; nothing if the
    /// objective finds it.
    pub(super) fn capped_share(&self, config: &TrainConfig) -> Option<f64> {
        let rescored = match self {
            Anchor::Rescored(rescored) if rescored.corrects => rescored,
            Anchor::Own => return None,
            _ => return Some(0.0),
        };
        let cap = config.importance_cap as f32;
        let is_capped = |correction: &&f32| match config.importance {
            Importance::Truncate => **correction >= cap,
            _ => **correction == 0.0,
        };
        let all = || rescored.corrections.iter().flatten();
        Some(all().filter(is_capped).count() as f64 / all().count().max(1) as f64)
    }

    /// Log-probability before the update, and correction, of a token of a row; as sampled, if
    /// the objective finds them.
    pub(super) fn token(&self, row: &CreditedSample, index: usize, token: usize) -> (f32, f32) {
        match self {
            Anchor::Sampled | Anchor::Own => (row.sample.completion.logprobs[token], 1.0),
            Anchor::Rescored(rescored) => {
                (rescored.logprobs[index][token], rescored.corrections[index][token])
            }
        }
    }
}

/// What each token of an answer counts for, given its log-probabilities here.
fn corrections_of(config: &TrainConfig, sample: &Sample, here: &[f32]) -> Vec<f32> {
    let pairs = here.iter().zip(&sample.completion.logprobs);
    let log_ratios: Vec<f64> = pairs.map(|(here, there)| f64::from(here - there)).collect();
    let cap = config.importance_cap;
    let kept = |log_ratio: f64| log_ratio.abs() <= cap.ln();
    // A token that was put there has no known probability.
    let places = log_ratios.iter().enumerate();
    let drawn = places.filter(|(place, _)| sample.completion.is_drawn(*place));
    let whole = drawn.map(|(_, log_ratio)| log_ratio).sum::<f64>()
        / sample.completion.drawn().max(1) as f64;
    let correction = |log_ratio: &f64| match config.importance {
        Importance::Auto | Importance::None => 1.0,
        Importance::Truncate => log_ratio.exp().min(cap),
        Importance::Mask if kept(*log_ratio) => log_ratio.exp(),
        Importance::MaskAnswer if kept(whole) => log_ratio.exp(),
        Importance::Mask | Importance::MaskAnswer => 0.0,
    };
    log_ratios.iter().map(|log_ratio| correction(log_ratio) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::sample;

    #[test]
    fn corrections_are_capped_or_masked_by_token_or_by_answer() {
        let mut sample = sample(0, 0, 0, "solo", 0);
        sample.completion.logprobs = vec![-1.0, -1.0, -1.0];
        // Ratios 4, 1/4 and 1: their geometric mean is 1.
        let four = 4.0_f32.ln();
        let here = [-1.0 + four, -1.0 - four, -1.0];
        let of = |importance| {
            let config = TrainConfig { importance, importance_cap: 3.0, ..TrainConfig::default() };
            corrections_of(&config, &sample, &here)
        };
        let near = |actual: Vec<f32>, expected: [f32; 3]| {
            assert!(actual.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{actual:?}");
        };
        let share = |importance| {
            let config = TrainConfig { importance, importance_cap: 3.0, ..TrainConfig::default() };
            let anchor = Anchor::at(&config, &[&sample], vec![here.to_vec()]);
            anchor.capped_share(&config).unwrap()
        };
        assert_eq!(share(Importance::None), 0.0);
        assert!((share(Importance::Truncate) - 1.0 / 3.0).abs() < 1e-9);
        assert!((share(Importance::Mask) - 2.0 / 3.0).abs() < 1e-9);
        near(of(Importance::None), [1.0, 1.0, 1.0]);
        near(of(Importance::Truncate), [3.0, 0.25, 1.0]);
        near(of(Importance::Mask), [0.0, 0.0, 1.0]);
        near(of(Importance::MaskAnswer), [4.0, 0.25, 1.0]);
        sample.completion.logprobs = vec![-1.0 - four; 3];
        let config = TrainConfig {
            importance: Importance::MaskAnswer,
            importance_cap: 3.0,
            ..TrainConfig::default()
        };
        near(corrections_of(&config, &sample, &[-1.0; 3]), [0.0; 3]);
    }
}
