//! What answers were really worth, as far as further episodes can tell.
//!
//! Every stored state can be played to again, and from it as often as one likes:
//! once with an answer that was given (its mean return is Q), once with a fresh
//! one (V). Q − V is the advantage that an estimator stands for, and how far the
//! estimator is from it can be seen.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::rollout::{RolloutError, Setting, Start, TaskSeed, collect_from};
use crate::states::{Seat, StateError, reach, seat};
use crate::team::Team;
use troupe_core::config::{AdvantageConfig, Config, Unit, Worth};
use troupe_core::error::{Coded, ExitCode};
use troupe_core::seed::Seed;
use troupe_core::table::Row;
use troupe_core::trajectory::Sample;
use troupe_estimators::audit::rank_correlation;
use troupe_estimators::worth::Earnings;

/// Why the truth cannot be found out.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// A stored state cannot be reached again.
    #[error(transparent)]
    State(#[from] StateError),
    /// The policies cannot answer.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
}

impl Coded for TruthError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            TruthError::State(error) => error.code(),
            TruthError::Rollout(error) => error.code(),
        }
    }
}

/// What is known of the worth of one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Its place in the table.
    pub row: usize,
    /// Q − V.
    pub advantage: f64,
    /// The variance of that, from the number of episodes alone.
    pub noise: f64,
    /// Q, the mean return after the answer.
    pub worth: f64,
}

/// How the truth is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// From how many of the stored states.
    pub states: usize,
    /// How often with each answer, and with a fresh one.
    pub episodes: usize,
    /// Whether only what the whole team earns counts, and not what a seat earns for itself: praise
    /// by a judge is no truth.
    pub team_only: bool,
}

/// Standard errors by which an estimated variance has to exceed another one.
const CLEAR: f64 = 2.0;

/// How far an estimator is from the truth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distance {
    /// Answers whose true worth is known.
    pub answers: usize,
    /// Pearson's correlation with it.
    pub correlation: f64,
    /// Spearman's.
    pub rank_correlation: f64,
    /// What the estimator's advantages are multiplied by to be nearest to it.
    pub scale: f64,
    /// Mean of scale·A − truth: 0 if it is right on average.
    pub bias: f64,
    /// Variance of the same, what the truth itself is uncertain by taken away, in
    /// units of the truth's own variance: 0 is perfect, 1 is worth nothing. Nothing is
    /// known of it where the truth does not vary more than what it is uncertain by, by two
    /// standard errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    /// Share of answers that are pushed the right way, of those with any truth to speak of:
    /// more than its standard error.
    pub right_signs: f64,
    /// Of advantages that stand for more or less than one half (`advantage.scale = "half"`), the
    /// share that is on another side of it than Q.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong_labels: Option<f64>,
}

/// Play to some of the stored states and on from there, so often with each answer and as often
/// with a fresh one.
///
/// # Errors
/// If the states cannot be reached again, or the policies cannot answer.
pub fn find(
    team: &Team,
    config: &Config,
    rows: &[Row],
    search: Search,
    learns: impl Fn(&Sample) -> bool,
) -> Result<Vec<Truth>, TruthError> {
    let seed = Seed::new(config.run.seed).named("truth");
    let samples: Vec<Sample> = rows.iter().map(|row| row.sample.clone()).collect();
    let mut all = reach(&samples, |index| task_of(team, &rows[index], seed))?;
    all.retain(|state| state.rows.iter().any(|&row| learns(&samples[row])));
    seed.shuffle(&mut all);
    all.truncate(search.states);
    let (mut starts, mut owners) = (Vec::new(), Vec::new());
    for (number, state) in all.iter().enumerate() {
        let branches: BTreeSet<usize> = state.rows.iter().map(|&row| samples[row].branch).collect();
        let answers =
            branches.into_iter().map(|branch| (Some(branch), state.answers(&samples, branch)));
        for (branch, answers) in answers.chain([(None, Vec::new())]) {
            for episode in 0..search.episodes {
                let task = state.task.again(branch, episode);
                let (position, answers) = (state.position.clone(), answers.clone());
                starts.push(Start { task, position, answers });
                owners.push((number, branch));
            }
        }
    }
    let setting = Setting::of(&team.role_map, config);
    let mut rollout = collect_from(&setting, &team.policies, starts)?;
    let mut paid = config.advantage.clone();
    if search.team_only {
        paid.alpha = 1.0;
        rollout.samples.iter_mut().for_each(|sample| sample.reward.local = 0.0);
    }
    let returns = returns(&rollout.samples, &owners, &paid);
    let truths = all.iter().enumerate().flat_map(|(number, state)| {
        let known = state.rows.iter().filter(|&&row| learns(&samples[row]));
        known.filter_map(|&row| truth_of(row, number, &samples[row], &returns)).collect::<Vec<_>>()
    });
    Ok(truths.collect())
}

/// Returns of a seat's first answer, by state and by the answer that was given.
type Returns<'s> = BTreeMap<(usize, Option<usize>, Seat<'s>), Vec<f64>>;

fn returns<'s>(
    samples: &'s [Sample],
    owners: &[(usize, Option<usize>)],
    config: &AdvantageConfig,
) -> Returns<'s> {
    let earnings = Earnings::of(samples, config, Worth::ToGo);
    let mut returns = Returns::new();
    for (index, sample) in samples.iter().enumerate().filter(|(_, sample)| sample.round == 0) {
        let (state, branch) = owners[sample.task];
        let worth = earnings.worth(Unit::Completion, &[index]);
        returns.entry((state, branch, seat(sample))).or_default().push(worth);
    }
    returns
}

fn truth_of(row: usize, state: usize, sample: &Sample, returns: &Returns) -> Option<Truth> {
    let of = |branch| returns.get(&(state, branch, seat(sample))).filter(|all| all.len() > 1);
    let ((q, q_noise), (v, v_noise)) =
        (mean_and_noise(of(Some(sample.branch))?), mean_and_noise(of(None)?));
    Some(Truth { row, advantage: q - v, noise: q_noise + v_noise, worth: q })
}

/// The mean of some numbers and its variance.
fn mean_and_noise(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

fn task_of(team: &Team, row: &Row, seed: Seed) -> Option<TaskSeed> {
    let seed = seed.at(row.step as u64).at(row.sample.task as u64);
    TaskSeed::find(team, (&row.sample.family, &row.split), row.seed, seed)
}

impl TaskSeed {
    fn again(&self, branch: Option<usize>, episode: usize) -> TaskSeed {
        let branch = branch.map_or(u64::MAX, |branch| branch as u64);
        TaskSeed { seed: self.seed.at(branch).at(episode as u64), ..self.clone() }
    }
}

impl Distance {
    /// Of an estimator's advantages from the truth; `truths` say which.
    pub fn of(truths: &[Truth], advantages: &[Option<f32>]) -> Self {
        let pairs: Vec<(f64, &Truth)> = truths
            .iter()
            .map(|truth| (f64::from(advantages[truth.row].unwrap_or(0.0)), truth))
            .collect();
        let count = pairs.len().max(1) as f64;
        let mean = |of: &dyn Fn(&(f64, &Truth)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let (squares, products) = (mean(&|(a, _)| a * a), mean(&|(a, t)| a * t.advantage));
        let scale = if squares > 0.0 { products / squares } else { 0.0 };
        let bias = mean(&|(a, t)| scale * a - t.advantage);
        let error = mean(&|(a, t)| (scale * a - t.advantage - bias).powi(2));
        let noise = mean(&|(_, t)| t.noise);
        let (mean_advantage, true_mean) = (mean(&|(a, _)| *a), mean(&|(_, t)| t.advantage));
        let spread = mean(&|(_, t)| (t.advantage - true_mean).powi(2));
        let advantage_spread = mean(&|(a, _)| (a - mean_advantage).powi(2));
        let covariance = mean(&|(a, t)| (a - mean_advantage) * (t.advantage - true_mean));
        let clear = pairs.iter().filter(|(_, t)| t.advantage.abs() > t.noise.sqrt());
        let right = clear.clone().filter(|(a, t)| a * t.advantage > 0.0).count();
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let (estimated, true_ones): (Vec<f64>, Vec<f64>) =
            pairs.iter().map(|(a, t)| (*a, t.advantage)).unzip();
        Distance {
            answers: pairs.len(),
            rank_correlation: rank_correlation(&estimated, &true_ones),
            correlation: ratio(covariance, (spread * advantage_spread).sqrt()),
            scale,
            bias,
            // Of normal numbers, an estimated variance has the standard error σ²·√(2/n).
            variance: (spread - noise > CLEAR * spread * (2.0 / count).sqrt())
                .then(|| (error - noise).max(0.0) / (spread - noise)),
            right_signs: ratio(right as f64, clear.count() as f64),
            wrong_labels: None,
        }
    }

    /// The same of advantages that stand for more or less than one half.
    pub fn of_labels(truths: &[Truth], advantages: &[Option<f32>]) -> Self {
        let wrong =
            |truth: &&Truth| (advantages[truth.row].unwrap_or(0.0) > 0.0) != (truth.worth > 0.5);
        let wrong = truths.iter().filter(wrong).count() as f64 / truths.len().max(1) as f64;
        Distance { wrong_labels: Some(wrong), ..Self::of(truths, advantages) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(row: usize, advantage: f64) -> Truth {
        Truth { row, advantage, noise: 0.0, worth: 0.0 }
    }

    #[test]
    fn an_estimator_that_is_right_but_for_its_scale_has_no_error() {
        let truths: Vec<Truth> = [-1.0, 0.5, 0.5, 2.0]
            .repeat(4)
            .into_iter()
            .enumerate()
            .map(|(row, a)| truth(row, a))
            .collect();
        let tenth: Vec<Option<f32>> =
            truths.iter().map(|t| Some(t.advantage as f32 / 10.0)).collect();
        let distance = Distance::of(&truths, &tenth);
        assert!((distance.scale - 10.0).abs() < 1e-5 && distance.bias.abs() < 1e-6, "{distance:?}");
        assert!(
            (distance.correlation - 1.0).abs() < 1e-9 && distance.variance.unwrap() < 1e-9,
            "{distance:?}"
        );
        assert_eq!(distance.right_signs, 1.0);
        assert!((distance.rank_correlation - 1.0).abs() < 1e-9);
        let cubed: Vec<Option<f32>> =
            truths.iter().map(|t| Some(t.advantage.powi(3) as f32)).collect();
        let cubed = Distance::of(&truths, &cubed);
        assert!((cubed.rank_correlation - 1.0).abs() < 1e-9 && cubed.correlation < 0.99);
    }

    #[test]
    fn one_that_knows_nothing_is_off_by_the_truths_own_variance() {
        let truths: Vec<Truth> = (0..16).map(|row| truth(row, [1.0, -1.0][row % 2])).collect();
        let advantages = [1.0, 1.0, -1.0, -1.0].map(Some).repeat(4);
        let distance = Distance::of(&truths, &advantages);
        assert_eq!(
            (distance.correlation, distance.variance, distance.right_signs),
            (0.0, Some(1.0), 0.5)
        );
    }

    #[test]
    fn of_a_truth_that_varies_no_more_than_its_noise_no_error_is_told() {
        let truths = |noise: f64| -> Vec<Truth> {
            (0..50).map(|row| Truth { noise, ..truth(row, [1.0, -1.0][row % 2]) }).collect()
        };
        let none = vec![Some(0.0); 50];
        let variance = |noise| Distance::of(&truths(noise), &none).variance;
        assert_eq!((variance(0.0), variance(0.59)), (Some(1.0), Some(1.0)));
        // Two standard errors of a variance of 50 numbers are two fifths of it.
        assert_eq!((variance(0.61), variance(1.0), variance(2.0)), (None, None, None));
    }

    #[test]
    fn a_label_is_wrong_if_its_answer_is_on_the_other_side_of_one_half() {
        let worths = [0.9, 0.6, 0.4, 0.1, 0.5];
        let truths: Vec<Truth> = worths
            .into_iter()
            .enumerate()
            .map(|(row, worth)| Truth { worth, ..truth(row, -1.0) })
            .collect();
        let labels = |labels: [f32; 5]| {
            let distance = Distance::of_labels(&truths, &labels.map(Some));
            distance.wrong_labels.unwrap()
        };
        assert_eq!(labels([0.5, 0.17, -0.17, -0.5, -0.17]), 0.0);
        assert_eq!(labels([-0.17, 0.17, 0.17, -0.5, -0.17]), 0.4);
    }

    #[test]
    fn the_variance_of_a_mean_shrinks_with_its_numbers() {
        assert_eq!(mean_and_noise(&[1.0, 3.0]), (2.0, 1.0));
        assert_eq!(mean_and_noise(&[1.0, 3.0, 1.0, 3.0]), (2.0, 1.0 / 3.0));
    }
}
