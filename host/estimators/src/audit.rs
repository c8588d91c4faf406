//! Several estimators on the same answers: how many they leave out, how large their
//! advantages are, and how far they agree.
//!
//! Pure: a function of the sample table.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::advantage::{Compared, Memory, compare};
use crate::credit::Credits;
use crate::worth::Earnings;
use troupe_core::config::{AdvantageConfig, Unit};
use troupe_core::trajectory::Sample;

/// One estimator's figures for one role's answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// Answers.
    pub answers: usize,
    /// Groups that contain them.
    pub groups: usize,
    /// Share of these groups whose members are all worth the same, from 0 to 1.
    pub flat: f64,
    /// Mean of |A| over all answers; those without an advantage count as 0.
    pub magnitude: f64,
    /// How much larger the role's squared advantages are, if all roles of a task
    /// are standardized together, than if it is alone:
    /// (sd_k² + (μ_k − μ)²) / sd², the mean over tasks (Dr. MAS, arXiv 2602.08847).
    pub inflation: f64,
    /// Spearman's rank correlation with the advantages of the first estimator, from -1 to 1.
    pub rank_correlation: f64,
    /// Share of answers whose advantage has another sign than the first estimator's, from 0 to 1.
    pub changed_signs: f64,
}

/// What an [`Audit`] is computed from, collected over steps: advantages of one role's answers,
/// 0 where there is none, beside those of the first estimator.
#[derive(Clone, Debug, Default)]
pub struct RoleTally {
    groups: usize,
    flat: usize,
    advantages: Vec<f64>,
    reference: Vec<f64>,
    inflation: Vec<f64>,
}

/// The tallies of one estimator, by role.
pub type Tallies = BTreeMap<String, RoleTally>;

/// Where advantages come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An estimator, and what it remembers.
    Estimator(AdvantageConfig, Memory),
    /// What was stored: of a critic, say, that is not there any more. The settings are the run's.
    Stored(AdvantageConfig),
}

impl Source {
    fn config(&self) -> &AdvantageConfig {
        match self {
            Source::Estimator(config, _) | Source::Stored(config) => config,
        }
    }

    fn compared(
        &mut self,
        samples: &[Sample],
        stored: &Credits,
        learns: impl Fn(&Sample) -> bool,
    ) -> Compared {
        match self {
            Source::Estimator(config, memory) => compare(samples, config, memory, learns),
            Source::Stored(_) => Compared {
                formed: Vec::new(),
                kept: Vec::new(),
                credits: stored.clone(),
                taught: stored.advantages.iter().map(|a| a.is_some_and(|a| a != 0.0)).collect(),
            },
        }
    }
}

/// Adds a step's answers, which were `stored` with these credits, to each source's tallies, and
/// returns each source's comparison. `tallies` and `sources` are parallel; the first source is the
/// one that the others are measured against. Only roles with a sample for which `learns` are
/// tallied.
pub fn take_in(
    tallies: &mut [Tallies],
    sources: &mut [Source],
    (samples, stored): (&[Sample], &Credits),
    learns: impl Fn(&Sample) -> bool,
) -> Vec<Compared> {
    let compared: Vec<Compared> =
        sources.iter_mut().map(|source| source.compared(samples, stored, &learns)).collect();
    let Some(first) = compared.first() else { return compared };
    let learning = samples.iter().filter(|sample| learns(sample));
    let learning: BTreeSet<&str> = learning.map(|sample| sample.role.as_str()).collect();
    for ((tallies, source), result) in tallies.iter_mut().zip(sources).zip(&compared) {
        for role in &learning {
            let tally = tallies.entry((*role).to_owned()).or_default();
            let groups = result.formed.iter().filter(|group| group.roles.contains(*role));
            tally.groups += groups.clone().count();
            tally.flat += groups.filter(|group| group.is_flat()).count();
            let pairs =
                result.credits.advantages.iter().zip(&first.credits.advantages).zip(samples);
            for ((advantage, reference), _) in pairs.filter(|(_, sample)| sample.role == *role) {
                tally.advantages.push(f64::from(advantage.unwrap_or(0.0)));
                tally.reference.push(f64::from(reference.unwrap_or(0.0)));
            }
            tally.inflation.extend(inflation(samples, source.config(), role));
        }
    }
    compared
}

impl RoleTally {
    /// The figures of everything tallied so far.
    pub fn audit(&self) -> Audit {
        let answers = self.advantages.len();
        let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
        let pairs = self.advantages.iter().zip(&self.reference);
        let changed = pairs.filter(|(advantage, reference)| sign(**advantage) != sign(**reference));
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
        Audit {
            answers,
            groups: self.groups,
            flat: share(self.flat, self.groups),
            magnitude: self.advantages.iter().map(|advantage| advantage.abs()).sum::<f64>()
                / answers.max(1) as f64,
            inflation: mean(&self.inflation),
            rank_correlation: rank_correlation(&self.advantages, &self.reference),
            changed_signs: share(changed.count(), answers),
        }
    }
}

fn sign(number: f64) -> i8 {
    i8::from(number > 0.0) - i8::from(number < 0.0)
}

/// The mean inflation of a role over the tasks in which worths differ: how many times
/// larger its squared advantages would be if all roles of a task were standardized
/// together, (sd_k² + (μ_k − μ)²) / sd² (Dr. MAS, arXiv 2602.08847). At least 0, and 1 if
/// roles do not differ; none if no task's worths differ.
pub fn inflation_of(samples: &[Sample], config: &AdvantageConfig, role: &str) -> Option<f64> {
    let tasks = inflation(samples, config, role);
    (!tasks.is_empty()).then(|| tasks.iter().sum::<f64>() / tasks.len() as f64)
}

/// The inflation of a role in every task in which worths differ.
fn inflation(samples: &[Sample], config: &AdvantageConfig, role: &str) -> Vec<f64> {
    let earnings = Earnings::of(samples, config, config.comparison().worth);
    let mut tasks: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let worth = earnings.worth(Unit::Completion, &[index]);
        let (worths, role_worths) = tasks.entry(sample.task).or_default();
        worths.push(worth);
        if sample.role == role {
            role_worths.push(worth);
        }
    }
    let ratio = |(worths, role_worths): (Vec<f64>, Vec<f64>)| {
        let ((mean, variance), (role_mean, role_variance)) =
            (moments(&worths), moments(&role_worths));
        let second_moment = role_variance + (role_mean - mean).powi(2);
        (variance > 1e-12 && !role_worths.is_empty()).then(|| second_moment / variance)
    };
    tasks.into_values().filter_map(ratio).collect()
}

/// Mean and variance, n in the denominator.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    (mean, numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count)
}

/// Spearman's rank correlation of two lists of numbers, from -1 to 1.
pub fn rank_correlation(first: &[f64], second: &[f64]) -> f64 {
    correlation(&ranks(first), &ranks(second))
}

/// The rank of each number; equal ones share the mean of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    for equal in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let before = order.iter().position(|at| *at == equal[0]).unwrap_or(0);
        let rank = before as f64 + (equal.len() - 1) as f64 / 2.0;
        equal.iter().for_each(|&at| ranks[at] = rank);
    }
    ranks
}

/// Pearson's correlation; 0 if one side does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let ((mean_a, variance_a), (mean_b, variance_b)) = (moments(a), moments(b));
    let products = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b));
    let covariance = products.sum::<f64>() / a.len().max(1) as f64;
    let scale = (variance_a * variance_b).sqrt();
    if scale > 0.0 { covariance / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::{Estimator, Scale};
    use troupe_core::example::tree_of;

    fn audits(samples: &[Sample], estimators: &[AdvantageConfig]) -> Vec<BTreeMap<String, Audit>> {
        let source =
            |config: &AdvantageConfig| Source::Estimator(config.clone(), Memory::default());
        let mut sources: Vec<Source> = estimators.iter().map(source).collect();
        let mut tallies = vec![Tallies::new(); sources.len()];
        let none = Credits::of(vec![None; samples.len()]);
        let answers = (samples, &none);
        take_in(&mut tallies, &mut sources, answers, |sample| sample.role != "frozen");
        let audit = |tallies: Tallies| {
            tallies.into_iter().map(|(role, tally)| (role, tally.audit())).collect()
        };
        tallies.into_iter().map(audit).collect()
    }

    #[test]
    fn what_was_stored_is_measured_as_it_is() {
        let samples = tree_of(1, 1, &["solo"], 3);
        let stored = Credits::of(vec![Some(0.5), None, Some(-1.5)]);
        let mut tallies = vec![Tallies::new()];
        let mut sources = [Source::Stored(AdvantageConfig::default())];
        let compared = take_in(&mut tallies, &mut sources, (&samples, &stored), |_| true);
        assert_eq!(
            (&compared[0].credits, &compared[0].taught[..]),
            (&stored, &[true, false, true][..])
        );
        let audit = tallies[0]["solo"].audit();
        assert!((audit.magnitude - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!((audit.answers, audit.groups, audit.rank_correlation), (3, 0, 1.0));
    }

    #[test]
    fn signs_are_compared_with_the_first_estimators() {
        let mut samples = tree_of(1, 1, &["planner", "executor"], 2);
        for (sample, reward) in samples.iter_mut().zip([0.0, 1.0, 10.0, 11.0]) {
            sample.reward.local = reward;
        }
        // Each role alone: −, +. Both together, with mean 5.5: −, − and +, +.
        let naive = AdvantageConfig { estimator: Estimator::Naive, ..AdvantageConfig::default() };
        let all = audits(&samples, &[AdvantageConfig::default(), naive]);
        for role in ["planner", "executor"] {
            assert_eq!([0, 1].map(|index: usize| all[index][role].changed_signs), [0.0, 0.5]);
        }
    }

    #[test]
    fn estimators_that_differ_by_a_scale_rank_alike_and_change_no_sign() {
        let mut samples = tree_of(4, 2, &["planner", "executor", "frozen"], 4);
        for (index, sample) in samples.iter_mut().enumerate() {
            // One state in four has nothing to tell.
            let flat = sample.task == 0;
            sample.reward.team = if flat { 1.0 } else { ((index * 7919) % 13) as f64 };
        }
        let spread = AdvantageConfig::default();
        let plain = AdvantageConfig { scale: Some(Scale::None), ..spread.clone() };
        let all = audits(&samples, &[spread, plain]);
        for (estimator, by_role) in all.iter().enumerate() {
            assert_eq!(by_role.keys().collect::<Vec<_>>(), ["executor", "planner"]);
            for audit in by_role.values() {
                assert_eq!((audit.answers, audit.groups, audit.flat), (32, 8, 0.25));
                assert_eq!(audit.changed_signs, 0.0);
                assert!(audit.rank_correlation > if estimator == 0 { 0.999_999 } else { 0.9 });
            }
        }
        assert!(all[1]["planner"].magnitude > 2.0 * all[0]["planner"].magnitude);
    }

    #[test]
    fn a_quiet_role_beside_a_loud_one_is_inflated_or_drowned() {
        let mut samples = tree_of(1, 1, &["loud", "quiet"], 4);
        let worths = [10.0, -10.0, 10.0, -10.0, 1.0, -1.0, 1.0, -1.0];
        samples.iter_mut().zip(worths).for_each(|(sample, worth)| sample.reward.local = worth);
        let naive = AdvantageConfig { estimator: Estimator::Naive, ..AdvantageConfig::default() };
        let audit = audits(&samples, &[naive]).remove(0);
        // sd² is (100 + 1) / 2; all means are 0.
        assert!((audit["loud"].inflation - 100.0 / 50.5).abs() < 1e-12);
        assert!((audit["quiet"].inflation - 1.0 / 50.5).abs() < 1e-12);
    }

    #[test]
    fn equal_numbers_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]), 1.0);
        assert_eq!(correlation(&[1.0, 1.0], &[2.0, 4.0]), 0.0);
    }
}
