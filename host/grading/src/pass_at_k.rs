//! How often one of k samples passes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use troupe_core::statistics::{chance_of_one, wilson};

/// What became of the samples of one problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Samples that passed.
    pub passed: usize,
    /// Samples that failed.
    pub failed: usize,
    /// Samples without a verdict; they count neither way.
    pub void: usize,
}

/// pass@k over a set of problems.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassAtK {
    /// Samples drawn.
    pub k: usize,
    /// Mean over the problems; 0 if there are none.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Problems that count.
    pub problems: usize,
    /// Problems left out because fewer than k of their samples have a verdict.
    pub left_out: usize,
    /// Samples without a verdict, over all problems.
    pub void: usize,
}

/// The unbiased estimate of the probability that at least one of k samples
/// passes, 1 − C(n−c, k) / C(n, k) where c of n verdicts passed, averaged
/// over the problems (Chen et al. 2021, arXiv 2107.03374, equation 1).
///
/// The interval is Wilson's for a proportion over the problems. With one sample
/// a problem and k = 1 it is exactly that; otherwise it is too wide rather than
/// too narrow, since a quantity between 0 and 1 varies at most as much as a
/// proportion with its mean. It says how much another draw of problems would
/// change the value.
pub fn pass_at_k(tallies: &BTreeMap<String, Tally>, k: usize) -> PassAtK {
    let (mut sum, mut problems) = (0.0, 0);
    for tally in tallies.values() {
        let verdicts = tally.passed + tally.failed;
        if k > 0 && verdicts >= k {
            sum += chance_of_one(verdicts, tally.passed, k);
            problems += 1;
        }
    }
    let value = if problems == 0 { 0.0 } else { sum / problems as f64 };
    let (low, high) = wilson(value, problems);
    PassAtK {
        k,
        value,
        low,
        high,
        problems,
        left_out: tallies.len() - problems,
        void: tallies.values().map(|tally| tally.void).sum(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tallies(counts: &[(usize, usize, usize)]) -> BTreeMap<String, Tally> {
        let tally = |(index, &(passed, failed, void))| {
            (format!("p{index}"), Tally { passed, failed, void })
        };
        counts.iter().enumerate().map(tally).collect()
    }

    #[test]
    fn the_estimate_is_the_papers() {
        // n = 5, c = 2, k = 3: 1 − C(3,3)/C(5,3) = 1 − 1/10.
        let result = pass_at_k(&tallies(&[(2, 3, 0)]), 3);
        assert!((result.value - 0.9).abs() < 1e-12);
        // n = 200, c = 10, k = 100: from the exact binomials, in Python.
        let result = pass_at_k(&tallies(&[(10, 190, 0)]), 100);
        assert!((result.value - 0.999_228_973_937_282_2).abs() < 1e-9, "{}", result.value);
    }

    #[test]
    fn problems_with_too_few_verdicts_are_left_out_and_counted() {
        let result = pass_at_k(&tallies(&[(1, 1, 0), (2, 0, 3), (1, 0, 4)]), 2);
        assert_eq!((result.problems, result.left_out, result.void), (2, 1, 7));
        assert_eq!(result.value, 1.0);
        let nothing = pass_at_k(&BTreeMap::new(), 1);
        assert_eq!((nothing.value, nothing.low, nothing.high), (0.0, 0.0, 1.0));
    }

    #[test]
    fn the_interval_agrees_with_wilsons_table() {
        let one_each: Vec<_> =
            (0..512).map(|i| if i < 486 { (1, 0, 0) } else { (0, 1, 0) }).collect();
        let result = pass_at_k(&tallies(&one_each), 1);
        assert!(
            (result.low - 0.9264).abs() < 5e-4 && (result.high - 0.9653).abs() < 5e-4,
            "{result:?}"
        );
    }

    proptest! {
        #[test]
        fn with_k_of_one_it_is_the_share_that_passed(passed in 0..50_usize, failed in 0..50_usize) {
            prop_assume!(passed + failed > 0);
            let value = pass_at_k(&tallies(&[(passed, failed, 0)]), 1).value;
            prop_assert!((value - passed as f64 / (passed + failed) as f64).abs() < 1e-9);
        }

        #[test]
        fn it_grows_with_k_and_with_what_passed(passed in 0..30_usize, failed in 1..30_usize, k in 1..20_usize) {
            prop_assume!(passed + failed > k);
            let at = |passed, failed, k| pass_at_k(&tallies(&[(passed, failed, 0)]), k).value;
            prop_assert!(at(passed, failed, k) <= at(passed, failed, k + 1) + 1e-12);
            prop_assert!(at(passed, failed, k) <= at(passed + 1, failed - 1, k) + 1e-12);
        }

        #[test]
        fn void_samples_change_nothing(passed in 0..9_usize, failed in 0..9_usize, void in 0..9_usize) {
            let (with, without) = (tallies(&[(passed, failed, void)]), tallies(&[(passed, failed, 0)]));
            prop_assert_eq!(pass_at_k(&with, 2).value, pass_at_k(&without, 2).value);
        }
    }
}
