//! What a group says about each of its members.
//!
//! Pure: numbers in, numbers out.

use crate::config::Estimator;
use crate::group::Group;
use crate::trajectory::Sample;

/// Keeps a nearly flat group from being blown up; as in TRL.
const EPSILON: f64 = 1e-4;

/// One advantage per sample of the table; samples of no group get none.
///
/// Every member of a unit has the unit's advantage
/// - `at-grpo`, `grpo`, `naive`: A = (r − mean) / (std + ε), std over n − 1;
/// - `dr-grpo`: A = r − mean (arXiv 2503.20783, section 3.2).
///
/// A group of one has advantage 0: there is nothing to compare it with.
pub fn advantages(groups: &[Group], estimator: Estimator, samples: usize) -> Vec<Option<f32>> {
    let mut table = vec![None; samples];
    for group in groups {
        let relative = group_relative(group, estimator != Estimator::DrGrpo);
        for (unit, advantage) in group.units.iter().zip(relative) {
            for &member in &unit.members {
                table[member] = Some(advantage as f32);
            }
        }
    }
    table
}

/// Gives an advantage of its own to groups that have none although something is
/// known of them: of two or more answers, none was carried out in full, and all
/// were worth the same. Without it a policy to which a word has become all but
/// impossible never leaves the states in which only that word is right.
pub fn repel(table: &mut [Option<f32>], groups: &[Group], samples: &[Sample], refused: f64) {
    if refused == 0.0 {
        return;
    }
    let members = |group: &Group| -> Vec<usize> {
        group.units.iter().flat_map(|unit| unit.members.iter().copied()).collect()
    };
    for group in groups.iter().filter(|group| group.units.len() > 1 && group.is_flat()) {
        let members = members(group);
        if members.iter().all(|&member| !samples[member].accepted) {
            members.into_iter().for_each(|member| table[member] = Some(refused as f32));
        }
    }
}

/// Each unit's score relative to the group's mean, in units of its spread if
/// `normalize`.
fn group_relative(group: &Group, normalize: bool) -> Vec<f64> {
    if group.is_flat() {
        return vec![0.0; group.units.len()];
    }
    let mean = group.mean();
    let scale = if normalize { 1.0 / (group.spread() + EPSILON) } else { 1.0 };
    group.scores().into_iter().map(|score| (score - mean) * scale).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::group::Unit;
    use crate::test_samples::sample;

    #[test]
    fn only_answers_that_were_all_refused_alike_are_pushed_away_from() {
        let group = |members: [usize; 2], scores: [f64; 2]| Group {
            roles: BTreeSet::from(["solo".to_owned()]),
            units: members
                .into_iter()
                .zip(scores)
                .map(|(member, score)| Unit { members: vec![member], score })
                .collect(),
        };
        let mut samples: Vec<Sample> =
            (0..8).map(|branch| sample(0, 0, 0, "solo", branch)).collect();
        for (sample, accepted) in samples.iter_mut().zip([false, false, false, true, true, true]) {
            sample.accepted = accepted;
        }
        samples[6].accepted = false;
        samples[7].accepted = false;
        let groups = [
            group([0, 1], [-0.1, -0.1]),
            group([2, 3], [0.0, 0.0]),
            group([4, 5], [1.0, 1.0]),
            group([6, 7], [-0.1, -0.3]),
        ];
        let mut table = vec![None; 8];
        repel(&mut table, &groups, &samples, -0.5);
        assert_eq!(table, [&[Some(-0.5); 2][..], &[None; 6]].concat());
        let mut table = vec![None; 8];
        repel(&mut table, &groups, &samples, 0.0);
        assert_eq!(table, [None; 8]);
    }

    fn group(scores: &[f64]) -> Group {
        let unit = |(index, &score)| Unit { members: vec![index], score };
        let units = scores.iter().enumerate().map(unit).collect();
        Group { roles: BTreeSet::from(["solo".to_owned()]), units }
    }

    fn advantages_of(scores: &[f64], estimator: Estimator) -> Vec<f64> {
        advantages(&[group(scores)], estimator, scores.len())
            .into_iter()
            .map(|advantage| f64::from(advantage.unwrap()))
            .collect()
    }

    fn estimators() -> impl Strategy<Value = Estimator> {
        prop_oneof![
            Just(Estimator::AtGrpo),
            Just(Estimator::Grpo),
            Just(Estimator::DrGrpo),
            Just(Estimator::Naive)
        ]
    }

    proptest! {
        #[test]
        fn advantages_of_a_group_sum_to_zero(
            scores in prop::collection::vec(-5.0..5.0_f64, 1..9), estimator in estimators(),
        ) {
            let sum: f64 = advantages_of(&scores, estimator).iter().sum();
            prop_assert!(sum.abs() < 1e-4, "sum {sum}");
        }

        #[test]
        fn a_shift_of_all_rewards_changes_nothing(
            scores in prop::collection::vec(-5.0..5.0_f64, 1..9),
            shift in -3.0..3.0_f64, estimator in estimators(),
        ) {
            let shifted: Vec<f64> = scores.iter().map(|score| score + shift).collect();
            for (a, b) in advantages_of(&scores, estimator).iter().zip(advantages_of(&shifted, estimator)) {
                prop_assert!((a - b).abs() < 1e-4, "{a} against {b}");
            }
        }

        #[test]
        fn the_order_of_members_does_not_matter(
            scores in prop::collection::vec(-5.0..5.0_f64, 1..9), estimator in estimators(),
        ) {
            let reversed: Vec<f64> = scores.iter().rev().copied().collect();
            let there = advantages_of(&scores, estimator);
            let back = advantages_of(&reversed, estimator);
            for (a, b) in there.iter().zip(back.iter().rev()) {
                prop_assert!((a - b).abs() < 1e-4, "{a} against {b}");
            }
        }

        #[test]
        fn a_group_of_one_has_advantage_zero(score in -5.0..5.0_f64, estimator in estimators()) {
            prop_assert_eq!(advantages_of(&[score], estimator), vec![0.0]);
        }
    }

    #[test]
    fn at_grpo_divides_by_the_sample_standard_deviation_and_dr_grpo_does_not() {
        let normalized = advantages_of(&[1.0, 3.0], Estimator::AtGrpo);
        assert!((normalized[1] - 1.0 / (2.0_f64.sqrt() + EPSILON)).abs() < 1e-6);
        assert_eq!(advantages_of(&[1.0, 3.0], Estimator::DrGrpo), [-1.0, 1.0]);
    }

    #[test]
    fn samples_outside_every_group_have_no_advantage() {
        assert_eq!(advantages(&[], Estimator::AtGrpo, 2), [None, None]);
    }
}
