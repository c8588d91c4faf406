//! Means with what is known of them.
//!
//! What was measured is a list of seeds, each a list of tasks: a share or an amount for each. What
//! another training run would come to is known from the spread between seeds; that is what the
//! intervals are about. There are two, because neither is right everywhere: the plain t interval
//! takes the seeds' means as normal; the bootstrap draws seeds and tasks again, and is stretched as
//! far as so few seeds demand. Everything here is a function of its arguments.

mod bootstrap;
mod student;

use serde::{Deserialize, Serialize};

use crate::seed::Seed;

use bootstrap::resampled_means;
use student::quantile_975;

/// Draws of the bootstrap.
pub const DRAWS: usize = 10_000;

/// The 97.5 % quantile of the standard normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The part of it between two bounds.
    #[must_use]
    pub fn within(self, low: f64, high: f64) -> Self {
        Interval { low: self.low.clamp(low, high), high: self.high.clamp(low, high) }
    }
}

/// A mean over seeds and tasks, with what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean over the seeds of the means over their tasks.
    pub mean: f64,
    /// The mean of the middle half of the seeds.
    pub interquartile_mean: f64,
    /// The mean of each seed.
    pub seeds: Vec<f64>,
    /// The bootstrap over seeds and their tasks; nothing of fewer than two seeds.
    pub bootstrap: Option<Interval>,
    /// Student's interval over the seeds; nothing of fewer than two.
    pub student: Option<Interval>,
}

impl Estimate {
    /// Of what was measured: for each seed, for each of its tasks. Draws come from `seed`.
    pub fn of(measured: &[Vec<f64>], seed: Seed) -> Self {
        let seeds: Vec<f64> = measured.iter().map(|tasks| mean(tasks)).collect();
        Estimate {
            mean: mean(&seeds),
            interquartile_mean: interquartile_mean(&seeds),
            bootstrap: bootstrap_interval(measured, DRAWS, seed),
            student: student_interval(&seeds),
            seeds,
        }
    }

    /// The same with intervals that do not leave what such a figure can be.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        let cut = |interval: Interval| interval.within(low, high);
        self.bootstrap = self.bootstrap.map(cut);
        self.student = self.student.map(cut);
        self
    }
}

/// What a difference says of a claim that it is above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval is above 0.
    Shown,
    /// The interval holds 0, or there is none.
    NotShown,
    /// The whole interval is below 0.
    Opposite,
}

impl Verdict {
    /// Of a difference's interval.
    pub fn of(interval: Option<Interval>) -> Self {
        match interval {
            Some(Interval { low, .. }) if low > 0.0 => Verdict::Shown,
            Some(Interval { high, .. }) if high < 0.0 => Verdict::Opposite,
            _ => Verdict::NotShown,
        }
    }

    /// As it is printed.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Shown => "shown",
            Verdict::NotShown => "not shown",
            Verdict::Opposite => "the opposite",
        }
    }
}

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    // The sum of nothing would be −0.
    values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
}

/// The mean without the lowest and the highest quarter, each rounded down.
pub fn interquartile_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

/// Student's 95 % interval of the mean; nothing of fewer than two values.
pub fn student_interval(values: &[f64]) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let half = quantile_975(values.len() - 1) * standard_error(values);
    Some(Interval { low: mean - half, high: mean + half })
}

/// The 95 % interval of the mean over seeds by drawing seeds and, within each, tasks with
/// replacement; nothing of fewer than two seeds or without tasks.
///
/// Its ends are the 2.5 % and 97.5 % quantiles of what was drawn, their distances from the mean
/// stretched: of few seeds, draws come too close to each other, and a normal quantile stands where
/// Student's belongs; while tasks that are drawn again count a second time, for they made the
/// seeds differ already. What is right is known, Student's quantile in standard errors, and the
/// draws keep what they know of the shape. Where seeds agree by chance, so that this would be
/// narrower than what was drawn, nothing is changed.
pub fn bootstrap_interval(measured: &[Vec<f64>], draws: usize, seed: Seed) -> Option<Interval> {
    if measured.len() < 2 || measured.iter().any(Vec::is_empty) {
        return None;
    }
    let means: Vec<f64> = measured.iter().map(|tasks| mean(tasks)).collect();
    let (center, drawn) = (mean(&means), sorted_draws(measured, draws, seed));
    let Interval { low, high } = percentile_interval(&drawn);
    let spread = (squares(&drawn) / drawn.len() as f64).sqrt();
    let right = quantile_975(means.len() - 1) / NORMAL_975 * standard_error(&means);
    let stretch = if spread > 0.0 { (right / spread).max(1.0) } else { 1.0 };
    let away = |end: f64| center + stretch * (end - center);
    Some(Interval { low: away(low), high: away(high) })
}

fn sorted_draws(measured: &[Vec<f64>], draws: usize, seed: Seed) -> Vec<f64> {
    let mut means = resampled_means(measured, draws, seed);
    means.sort_by(f64::total_cmp);
    means
}

/// The quantiles of sorted draws.
fn percentile_interval(drawn: &[f64]) -> Interval {
    Interval { low: quantile(drawn, 0.025), high: quantile(drawn, 0.975) }
}

/// The squares of the distances from the mean, added up.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Of the mean of at least two values.
fn standard_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    (squares(values) / (count - 1.0) / count).sqrt()
}

/// Of sorted values, between two of them in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests;
