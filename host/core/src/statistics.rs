//! Means with what is known of them.
//!
//! What was measured is a table: a line for each seed, a column for each task. Every seed is
//! examined on the same tasks, so a task that all find hard is one hard task and not as many as
//! there are seeds: both seeds and tasks are a sample, and an interval that is to hold for others
//! counts both ([`crossed`]). Everything here is a function of its arguments.

mod always_valid;
mod bootstrap;
mod crossed;
mod pass_at_k;
mod student;
mod verdict;

use serde::{Deserialize, Serialize};

pub use always_valid::{AlwaysValid, pairs_for};
pub use bootstrap::{DRAWS, Measured, Redrawn};
pub use crossed::Spread;
pub use pass_at_k::{chance_of_one, usual_ks};
pub use verdict::{Verdict, holm};

use student::quantile_975;

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
    /// Its distance from that of other seeds and tasks; none with fewer than two seeds.
    pub spread: Option<Spread>,
    /// The interval that follows from it.
    pub crossed: Option<Interval>,
    /// Student's interval over the seeds alone, on these tasks; nothing of fewer than two.
    pub student: Option<Interval>,
}

impl Estimate {
    /// Of what was measured: for each seed, for each task, which are the same for all.
    pub fn of(measured: &[Vec<f64>]) -> Self {
        let seeds: Vec<f64> = measured.iter().map(|tasks| mean(tasks)).collect();
        let mean = mean(&seeds);
        let spread = Spread::of(measured);
        Estimate {
            mean,
            interquartile_mean: interquartile_mean(&seeds),
            spread,
            crossed: spread.map(|spread| spread.interval(mean)),
            student: student_interval(&seeds),
            seeds,
        }
    }

    /// The same with intervals cut to the range of such figures.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Self {
        let cut = |interval: Interval| interval.within(low, high);
        self.crossed = self.crossed.map(cut);
        self.student = self.student.map(cut);
        self
    }

    /// The probability of a mean at least so far from 0 if 0 is what is true; nothing of fewer
    /// than two seeds.
    pub fn chance_of_no_difference(&self) -> Option<f64> {
        self.spread.map(|spread| spread.two_sided(self.mean))
    }

    /// The same if what is true is not closer to 0 than `margin`: the larger of the two one-sided
    /// tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987), doubled, so that it is below 5 %
    /// just where the 95 % interval lies within the margin.
    pub fn chance_of_a_margin(&self, margin: f64) -> Option<f64> {
        let spread = self.spread?;
        let sides = [margin - self.mean, self.mean + margin].map(|way| spread.beyond(way));
        Some((2.0 * sides[0].max(sides[1])).min(1.0))
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

/// The standard error of the mean; 0 of fewer than two values.
pub fn standard_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.len() < 2 { 0.0 } else { (squares(values) / (count - 1.0) / count).sqrt() }
}

/// Wilson's score interval (J. Am. Stat. Assoc. 22, 1927) at 95 % of a share
/// of `count` things; everything is possible if there are none.
pub fn wilson(share: f64, count: usize) -> (f64, f64) {
    if count == 0 {
        return (0.0, 1.0);
    }
    let z = 1.959_964_f64;
    let n = count as f64;
    let scale = 1.0 + z * z / n;
    let center = (share + z * z / (2.0 * n)) / scale;
    let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((center - half).max(0.0), (center + half).min(1.0))
}

/// The squares of the distances from the mean, added up.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests;
