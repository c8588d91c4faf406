//! What a group says about each of its members.
//!
//! Pure: numbers in, numbers out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::{AdvantageConfig, Comparison, Scale};
use crate::credit::{Credits, counts};
use crate::group::{
    Group, Score, filter_groups, form_groups, is_flat, leave_out_frozen, mean, spread,
};
use crate::trajectory::Sample;

/// Keeps a nearly flat group from being blown up; as in TRL.
const EPSILON: f64 = 1e-4;

/// What an estimator remembers from step to step; part of the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Running means of what trajectories were worth, by the roles that took part.
    #[serde(default)]
    pub means: BTreeMap<String, f64>,
}

/// What comparing the samples of a step has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// All groups of roles that learn.
    pub formed: Vec<Group>,
    /// Those that the filter kept.
    pub kept: Vec<Group>,
    /// What the update is to do with each sample; those of groups that are left
    /// out have no advantage.
    pub credits: Credits,
}

/// The whole way from the sample table to what the update takes.
pub fn compare(
    samples: &[Sample],
    config: &AdvantageConfig,
    memory: &mut Memory,
    learns: impl Fn(&Sample) -> bool,
) -> Compared {
    let weights = counts(samples, config);
    let mut judge = |comparison: &Comparison| {
        let formed = form_groups(samples, &weights, config, comparison);
        let formed = leave_out_frozen(formed, samples, &learns);
        let kept = match comparison.scale {
            // What all in a group are worth is compared with earlier steps.
            Scale::Running => formed.clone(),
            _ => filter_groups(formed.clone(), config),
        };
        let advantages = match comparison.scale {
            Scale::Running => running(&kept, config.decay, memory, samples.len()),
            scale => advantages(&kept, scale, samples.len()),
        };
        (formed, kept, advantages)
    };
    let (formed, kept, mut advantages) = judge(&config.comparison());
    if let Some((weight, comparison)) = config.besides() {
        let (_, _, besides) = judge(&comparison);
        add(&mut advantages, &besides, weight);
    }
    repel(&mut advantages, &formed, samples, config.refused);
    let credits = Credits { advantages, weights }.after(samples, config);
    Compared { formed, kept, credits }
}

/// Adds what another comparison says; who is in one alone has that.
fn add(advantages: &mut [Option<f32>], besides: &[Option<f32>], weight: f64) {
    for (advantage, besides) in advantages.iter_mut().zip(besides) {
        if let Some(besides) = besides {
            let sum = f64::from(advantage.unwrap_or(0.0)) + weight * f64::from(*besides);
            *advantage = Some(sum as f32);
        }
    }
}

/// A = r − b, and then b ← decay·b + (1 − decay)·r, for one unit after the other;
/// every role has its own b, which begins at 0 (SPIRAL, arXiv 2506.24119).
fn running(groups: &[Group], decay: f64, memory: &mut Memory, samples: usize) -> Vec<Option<f32>> {
    let mut table = vec![None; samples];
    for group in groups {
        let roles: Vec<&str> = group.roles.iter().map(String::as_str).collect();
        let mean = memory.means.entry(roles.join("+")).or_default();
        for unit in &group.units {
            let advantage = (unit.score - *mean) as f32;
            unit.members.iter().for_each(|&member| table[member] = Some(advantage));
            *mean = decay * *mean + (1.0 - decay) * unit.score;
        }
    }
    table
}

/// One advantage per sample of the table; samples of no group get none. Every
/// member of a unit has the unit's advantage:
/// - `spread`: A = (r − mean) / (std + ε), std over n − 1 (arXiv 2402.03300,
///   section 4.1);
/// - `none`: A = r − mean (arXiv 2503.20783, section 3.2);
/// - `mean`: A = (r − mean) / (|mean| + ε);
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
        Scale::None | Scale::Running => centered(&scores),
        Scale::Mean => {
            let scale = 1.0 / (mean(&scores).abs() + EPSILON);
            centered(&scores).into_iter().map(|difference| difference * scale).collect()
        }
        Scale::Spread => standardized(&scores),
        Scale::LeaveOneOut => {
            let count: f64 = scores.iter().map(|score| score.weight).sum();
            let factor = count / (count - 1.0).max(1.0);
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
fn centered(numbers: &[Score]) -> Vec<f64> {
    if is_flat(numbers) {
        return vec![0.0; numbers.len()];
    }
    let mean = mean(numbers);
    numbers.iter().map(|number| number.value - mean).collect()
}

/// The same in units of their spread.
fn standardized(numbers: &[Score]) -> Vec<f64> {
    let scale = 1.0 / (spread(numbers) + EPSILON);
    centered(numbers).into_iter().map(|difference| difference * scale).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::config::{Estimator, GroupFilter};
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
                    weight: 1.0,
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
            Unit { members: vec![index], score, weight: 1.0, parts }
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
    fn max_rl_divides_by_the_mean() {
        let found = advantages_of(&[0.0, 1.0, 0.0, 1.0], Scale::Mean);
        for (found, expected) in found.into_iter().zip([-1.0, 1.0, -1.0, 1.0]) {
            assert!((found - expected).abs() < 1e-3);
        }
        let rare = advantages_of(&[0.0, 0.0, 0.0, 1.0], Scale::Mean);
        assert!((rare[3] - 3.0).abs() < 2e-3 && (rare[0] + 1.0).abs() < 1e-3, "{rare:?}");
    }

    /// One seat's episodes of one task, each worth so much.
    fn episodes(role: &str, worths: &[f64]) -> Vec<Sample> {
        let made = worths.iter().enumerate().map(|(episode, worth)| {
            let mut made = sample(0, episode, 0, role, 0);
            made.reward.local = *worth;
            made
        });
        made.collect()
    }

    #[test]
    fn a_running_mean_follows_its_role_from_step_to_step() {
        let config =
            AdvantageConfig { estimator: Estimator::Rae, decay: 0.5, ..AdvantageConfig::default() };
        let mut memory = Memory::default();
        let mut step = |role: &str, worths: &[f64]| {
            let samples = episodes(role, worths);
            compare(&samples, &config, &mut memory, |_| true).credits.advantages
        };
        // b is 0, 0.5, 0.25: the score comes before the update.
        assert_eq!(step("white", &[1.0, 0.0, 2.0]), [Some(1.0), Some(-0.5), Some(1.75)]);
        assert_eq!(step("black", &[-4.0]), [Some(-4.0)]);
        assert_eq!(step("white", &[1.125]), [Some(0.0)]);
        assert_eq!(memory.means["black"], -2.0);
        let kept = serde_json::to_string(&memory).unwrap();
        assert_eq!(serde_json::from_str::<Memory>(&kept).unwrap(), memory);
    }

    #[test]
    fn gigpo_adds_what_answers_to_one_prompt_say() {
        let config = AdvantageConfig {
            estimator: Estimator::Gigpo,
            step_weight: 2.0,
            filter: GroupFilter::Off,
            ..AdvantageConfig::default()
        };
        let mut samples = episodes("solo", &[0.0, 2.0]);
        // Both meet this prompt again, in other turns, and only the second episode is paid.
        for (episode, turn, worth) in [(0, 1, 0.0), (1, 1, 4.0)] {
            let mut later = sample(0, episode, turn, "solo", 0);
            later.prompt = vec![9].into();
            later.reward.local = worth;
            samples.push(later);
        }
        let found = compare(&samples, &config, &mut Memory::default(), |_| true).credits.advantages;
        // The episodes are worth 0 and 6, the steps 0, 6 and 0, 4: each pair is ±1/√2 apart.
        let unit = 0.5_f32.sqrt();
        for (found, sign) in found.into_iter().zip([-1.0, 1.0, -1.0, 1.0]) {
            assert!((found.unwrap() - sign * 3.0 * unit).abs() < 1e-3, "{found:?}");
        }
    }

    #[test]
    fn conversations_that_count_again_weigh_in_their_groups_mean() {
        let then = vec!["align".parse().unwrap()];
        let config = AdvantageConfig {
            estimator: Estimator::MGrpo,
            scale: Some(Scale::None),
            then,
            threads: 2,
            ..AdvantageConfig::default()
        };
        let called = |episode, thread: &str, worth| {
            let mut made = sample(0, episode, 0, "worker", 0);
            (made.thread, made.caller, made.reward.local) = (thread.to_owned(), Some(0), worth);
            made
        };
        // One conversation of the first episode stands for two, so the mean is
        // (2 · 6 + 0 + 0) / 4.
        let samples = [called(0, "a", 6.0), called(1, "a", 0.0), called(1, "b", 0.0)];
        let credits = compare(&samples, &config, &mut Memory::default(), |_| true).credits;
        assert_eq!(credits.advantages, [Some(3.0), Some(-3.0), Some(-3.0)]);
        assert_eq!(credits.weights, [2.0, 1.0, 1.0]);
    }

    #[test]
    fn small_shares_of_a_reward_count_as_much_as_large_ones() {
        let unit = |member, shares: [(&str, f64); 2]| Unit {
            members: vec![member],
            score: shares.iter().map(|(_, value)| value).sum(),
            weight: 1.0,
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
            compare(&samples, &config, &mut Memory::default(), |_| true).credits.advantages
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
