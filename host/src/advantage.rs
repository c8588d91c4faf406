//! What a group says about each of its members.
//!
//! Pure: numbers in, numbers out.

use crate::config::{AdvantageConfig, Scale};
use crate::group::{Group, filter_groups, form_groups, is_flat, leave_out_frozen, mean, spread};
use crate::trajectory::Sample;

/// Keeps a nearly flat group from being blown up; as in TRL.
const EPSILON: f64 = 1e-4;

/// What comparing the samples of a step has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// All groups of roles that learn.
    pub formed: Vec<Group>,
    /// Those that the filter kept.
    pub kept: Vec<Group>,
    /// One for each sample; those of groups that are left out have none.
    pub advantages: Vec<Option<f32>>,
}

/// The whole way from the sample table to advantages.
pub fn compare(
    samples: &[Sample],
    config: &AdvantageConfig,
    learns: impl Fn(&Sample) -> bool,
) -> Compared {
    let formed = leave_out_frozen(form_groups(samples, config), samples, learns);
    let kept = filter_groups(formed.clone(), config);
    let mut advantages = advantages(&kept, config.comparison().scale, samples.len());
    repel(&mut advantages, &formed, samples, config.refused);
    Compared { formed, kept, advantages }
}

/// One advantage per sample of the table; samples of no group get none. Every
/// member of a unit has the unit's advantage:
/// - `spread`: A = (r − mean) / (std + ε), std over n − 1 (arXiv 2402.03300,
///   section 4.1);
/// - `none`: A = r − mean (arXiv 2503.20783, section 3.2);
/// - `leave-one-out`: A = r − mean of the others = n / (n − 1) · (r − mean)
///   (arXiv 2402.14740, equation 8);
/// - `parts`: the sum of (p − mean) / (std + ε) over the named shares p of r,
///   divided by the standard deviation of these sums in the whole step (GDPO).
///
/// A group of one has advantage 0: there is nothing to compare it with.
pub fn advantages(groups: &[Group], scale: Scale, samples: usize) -> Vec<Option<f32>> {
    let mut relative: Vec<Vec<f64>> = groups.iter().map(|group| in_group(group, scale)).collect();
    if scale == Scale::Parts {
        whiten(&mut relative);
    }
    let mut table = vec![None; samples];
    for (group, relative) in groups.iter().zip(relative) {
        for (unit, advantage) in group.units.iter().zip(relative) {
            for &member in &unit.members {
                table[member] = Some(advantage as f32);
            }
        }
    }
    table
}

/// Divides all by their standard deviation; their mean is 0 already.
fn whiten(relative: &mut [Vec<f64>]) {
    let count = relative.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    let squares: f64 = relative.iter().flatten().map(|number| number * number).sum();
    let scale = 1.0 / ((squares / count).sqrt() + EPSILON);
    relative.iter_mut().flatten().for_each(|number| *number *= scale);
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

/// What each unit is worth in comparison with the others.
fn in_group(group: &Group, scale: Scale) -> Vec<f64> {
    let scores = group.scores();
    match scale {
        Scale::None => centered(&scores),
        Scale::Spread => standardized(&scores),
        Scale::LeaveOneOut => {
            let others = scores.len().saturating_sub(1).max(1) as f64;
            let factor = scores.len() as f64 / others;
            centered(&scores).into_iter().map(|difference| difference * factor).collect()
        }
        Scale::Parts => {
            let parts = group.part_names().into_iter().map(|name| standardized(&group.part(name)));
            parts.fold(vec![0.0; scores.len()], |sums, part| {
                sums.iter().zip(part).map(|(sum, part)| sum + part).collect()
            })
        }
    }
}

/// The numbers less their mean; zeros if they are all the same.
fn centered(numbers: &[f64]) -> Vec<f64> {
    if is_flat(numbers) {
        return vec![0.0; numbers.len()];
    }
    let mean = mean(numbers);
    numbers.iter().map(|number| number - mean).collect()
}

/// The same in units of their spread.
fn standardized(numbers: &[f64]) -> Vec<f64> {
    let scale = 1.0 / (spread(numbers) + EPSILON);
    centered(numbers).into_iter().map(|difference| difference * scale).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

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
                .map(|(member, score)| Unit {
                    members: vec![member],
                    score,
                    parts: BTreeMap::new(),
                })
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
        let unit = |(index, &score)| {
            let parts = [("all".to_owned(), score)].into();
            Unit { members: vec![index], score, parts }
        };
        let units = scores.iter().enumerate().map(unit).collect();
        Group { roles: BTreeSet::from(["solo".to_owned()]), units }
    }

    fn advantages_of(scores: &[f64], scale: Scale) -> Vec<f64> {
        advantages(&[group(scores)], scale, scores.len())
            .into_iter()
            .map(|advantage| f64::from(advantage.unwrap()))
            .collect()
    }

    fn scales() -> impl Strategy<Value = Scale> {
        let all = [Scale::None, Scale::Spread, Scale::LeaveOneOut, Scale::Parts];
        prop::sample::select(all.to_vec())
    }

    proptest! {
        #[test]
        fn advantages_of_a_group_sum_to_zero(
            scores in prop::collection::vec(-5.0..5.0_f64, 1..9), scale in scales(),
        ) {
            let sum: f64 = advantages_of(&scores, scale).iter().sum();
            prop_assert!(sum.abs() < 1e-4, "sum {sum}");
        }

        #[test]
        fn a_shift_of_all_rewards_changes_nothing(
            scores in prop::collection::vec(-5.0..5.0_f64, 1..9),
            shift in -3.0..3.0_f64, scale in scales(),
        ) {
            let shifted: Vec<f64> = scores.iter().map(|score| score + shift).collect();
            for (a, b) in advantages_of(&scores, scale).iter().zip(advantages_of(&shifted, scale)) {
                prop_assert!((a - b).abs() < 1e-4, "{a} against {b}");
            }
        }

        #[test]
        fn the_order_of_members_does_not_matter(
            scores in prop::collection::vec(-5.0..5.0_f64, 1..9), scale in scales(),
        ) {
            let reversed: Vec<f64> = scores.iter().rev().copied().collect();
            let there = advantages_of(&scores, scale);
            let back = advantages_of(&reversed, scale);
            for (a, b) in there.iter().zip(back.iter().rev()) {
                prop_assert!((a - b).abs() < 1e-4, "{a} against {b}");
            }
        }

        #[test]
        fn a_group_of_one_has_advantage_zero(score in -5.0..5.0_f64, scale in scales()) {
            prop_assert_eq!(advantages_of(&[score], scale), vec![0.0]);
        }
    }

    #[test]
    fn a_spread_is_the_sample_standard_deviation() {
        let normalized = advantages_of(&[1.0, 3.0], Scale::Spread);
        assert!((normalized[1] - 1.0 / (2.0_f64.sqrt() + EPSILON)).abs() < 1e-6);
        assert_eq!(advantages_of(&[1.0, 3.0], Scale::None), [-1.0, 1.0]);
    }

    #[test]
    fn leaving_one_out_compares_with_the_mean_of_the_others() {
        // 1 with (2 + 6) / 2, 2 with (1 + 6) / 2, 6 with (1 + 2) / 2.
        assert_eq!(advantages_of(&[1.0, 2.0, 6.0], Scale::LeaveOneOut), [-3.0, -1.5, 4.5]);
    }

    #[test]
    fn small_shares_of_a_reward_count_as_much_as_large_ones() {
        let unit = |member, shares: [(&str, f64); 2]| Unit {
            members: vec![member],
            score: shares.iter().map(|(_, value)| value).sum(),
            parts: shares.map(|(name, value)| (name.to_owned(), value)).into(),
        };
        let units = vec![
            unit(0, [("solved", 10.0), ("form", 0.0)]),
            unit(1, [("solved", 0.0), ("form", 0.1)]),
            unit(2, [("solved", 0.0), ("form", 0.0)]),
            unit(3, [("solved", 10.0), ("form", 0.1)]),
        ];
        let group = Group { roles: BTreeSet::from(["solo".to_owned()]), units };
        let table = advantages(&[group], Scale::Parts, 4);
        let [solved, form, neither, both] = [0, 1, 2, 3].map(|index| table[index].unwrap());
        // Each share is ±0.866 (0.865 of the small one, by ε); their sums are 0, 0, −1.73, 1.73,
        // whose standard deviation is 1.22.
        assert!(solved.abs() < 0.01 && form.abs() < 0.01, "{solved} {form}");
        assert!((both - 1.414).abs() < 0.01 && (neither + 1.414).abs() < 0.01, "{both}");
    }

    #[test]
    fn who_was_refused_alone_or_with_others_worth_more_is_not_pushed_away() {
        let config = AdvantageConfig::default();
        let advantages = |rewards: &[f64]| {
            let answer = |(branch, reward): (usize, &f64)| {
                let mut made = sample(0, 0, 0, "solo", branch);
                (made.accepted, made.reward.local) = (false, *reward);
                made
            };
            let samples: Vec<Sample> = rewards.iter().enumerate().map(answer).collect();
            compare(&samples, &config, |_| true).advantages
        };
        // The filter leaves the group out, and still it says one thing.
        assert_eq!(advantages(&[-0.1, -0.1]), [Some(-0.5), Some(-0.5)]);
        assert_eq!(advantages(&[-0.1]), [None], "it was compared with nothing");
        assert!(advantages(&[-0.1, -0.3])[0].unwrap() > 0.0);
    }

    #[test]
    fn samples_outside_every_group_have_no_advantage() {
        assert_eq!(advantages(&[], Scale::Spread, 2), [None, None]);
    }
}
