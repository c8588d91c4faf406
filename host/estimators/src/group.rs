//! Groups: which completions are compared with each other.
//!
//! Pure: a function of the sample table.

use std::collections::{BTreeMap, BTreeSet};

use crate::worth::Earnings;
use troupe_core::config::{AdvantageConfig, Comparison, GroupFilter, Same, Scale, Unit};
use troupe_core::trajectory::Sample;

/// Rewards closer than this are the same reward.
const SAME_REWARD: f64 = 1e-9;

/// A unit of comparison: one completion, or all those of a seat, thread or episode.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupUnit {
    /// Indices into the sample table.
    pub members: Vec<usize>,
    /// What it was worth, in the unit of the reward.
    pub worth: f64,
    /// How often it counts in its group: 1, or a whole number from 0 on after `align`.
    pub weight: f64,
    /// The named shares of that, if each is compared on its own.
    pub parts: BTreeMap<String, f64>,
}

/// Units that are comparable with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The roles whose answers are compared.
    pub roles: BTreeSet<String>,
    /// The units, in the order of the sample table.
    pub units: Vec<GroupUnit>,
}

impl Group {
    fn of(units: Vec<GroupUnit>, samples: &[Sample]) -> Self {
        let members = units.iter().flat_map(|unit| &unit.members);
        Group { roles: members.map(|&member| samples[member].role.clone()).collect(), units }
    }

    /// What the units were worth, in order.
    pub fn worths(&self) -> Vec<Weighted> {
        self.units.iter().map(|unit| Weighted { value: unit.worth, weight: unit.weight }).collect()
    }

    /// Rows of the table that are in it, unit by unit.
    pub fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.units.iter().flat_map(|unit| unit.members.iter().copied())
    }

    /// The least and the greatest worth.
    pub fn extremes(&self) -> (f64, f64) {
        let worths = self.units.iter().map(|unit| unit.worth);
        worths.fold((f64::MAX, f64::MIN), |(low, high), worth| (low.min(worth), high.max(worth)))
    }

    /// Mean worth.
    pub fn mean(&self) -> f64 {
        mean(&self.worths())
    }

    /// Standard deviation of the worths (n − 1 in the denominator); 0 for a group of one.
    pub fn spread(&self) -> f64 {
        spread(&self.worths())
    }

    /// Every unit's value of a named share; 0 where it has none.
    pub fn part(&self, name: &str) -> Vec<Weighted> {
        let part = |unit: &GroupUnit| Weighted {
            value: unit.parts.get(name).copied().unwrap_or(0.0),
            weight: unit.weight,
        };
        self.units.iter().map(part).collect()
    }

    /// The names of all shares that are compared on their own.
    pub fn part_names(&self) -> BTreeSet<&str> {
        self.units.iter().flat_map(|unit| unit.parts.keys()).map(String::as_str).collect()
    }

    /// Whether all units were worth the same, and so were all their shares, so that nothing can
    /// be learned from the group.
    pub fn is_flat(&self) -> bool {
        let parts = self.part_names();
        is_flat(&self.worths()) && parts.into_iter().all(|name| is_flat(&self.part(name)))
    }
}

/// A number with a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The number.
    pub value: f64,
    /// How often it counts.
    pub weight: f64,
}

impl From<f64> for Weighted {
    fn from(value: f64) -> Self {
        Weighted { value, weight: 1.0 }
    }
}

fn count(numbers: &[Weighted]) -> f64 {
    numbers.iter().map(|number| number.weight).sum()
}

/// The weighted mean; 0 without numbers.
pub fn mean(numbers: &[Weighted]) -> f64 {
    let sum: f64 = numbers.iter().map(|number| number.weight * number.value).sum();
    sum / count(numbers).max(1.0)
}

/// The weighted standard deviation, with n − 1 in the denominator, n being the sum of the
/// weights; 0 if n is below 2.
pub fn spread(numbers: &[Weighted]) -> f64 {
    let count = count(numbers);
    if count < 2.0 {
        return 0.0;
    }
    let mean = mean(numbers);
    let square = |number: &Weighted| number.weight * (number.value - mean).powi(2);
    (numbers.iter().map(square).sum::<f64>() / (count - 1.0)).sqrt()
}

/// Whether all numbers with a weight are the same within 10⁻⁹.
pub fn is_flat(numbers: &[Weighted]) -> bool {
    let values = || numbers.iter().filter(|number| number.weight > 0.0).map(|number| number.value);
    let (low, high) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    numbers.len() < 2 || high - low < SAME_REWARD
}

/// Puts the samples into units and these into groups, as `comparison` says: with
/// `at-grpo`'s, the K completions of one seat in one state (AT-GRPO, arXiv 2510.11062,
/// section 4.1). `weights` has how often each sample counts (`credit::counts`). Units that begin
/// with a sample for which not `of` are left out, but still count in what others are worth.
/// Groups come in the order of their keys.
pub fn form_groups(
    samples: &[Sample],
    weights: &[f32],
    config: &AdvantageConfig,
    comparison: &Comparison,
    of: impl Fn(&Sample) -> bool,
) -> Vec<Group> {
    let earnings = Earnings::of(samples, config, comparison.worth);
    let mut unit_numbers = BTreeMap::new();
    let mut units: Vec<Vec<usize>> = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let key = unit_key(comparison.unit, index, sample);
        let number = *unit_numbers.entry(key).or_insert(units.len());
        match units.get_mut(number) {
            Some(members) => members.push(index),
            None => units.push(vec![index]),
        }
    }
    let mut groups: BTreeMap<Key, Vec<GroupUnit>> = BTreeMap::new();
    for members in units.into_iter().filter(|members| of(&samples[members[0]])) {
        let key = Key::of(comparison, &samples[members[0]]);
        let worth = earnings.worth(comparison.unit, &members);
        let weight = f64::from(weights[members[0]]);
        let parts = match comparison.scale {
            Scale::Parts => earnings.parts(&members),
            _ => BTreeMap::new(),
        };
        groups.entry(key).or_default().push(GroupUnit { members, worth, weight, parts });
    }
    groups.into_values().map(|units| Group::of(units, samples)).collect()
}

/// Task, episode, seat, thread and sample of a unit, as far as they tell it from others.
type UnitKey<'a> = (usize, usize, Option<(&'a str, u32)>, &'a str, usize);

fn unit_key(unit: Unit, index: usize, sample: &Sample) -> UnitKey<'_> {
    let seat = Some((sample.role.as_str(), sample.instance));
    match unit {
        Unit::Completion => (sample.task, sample.episode, seat, "", index),
        Unit::Seat => (sample.task, sample.episode, seat, "", 0),
        Unit::Thread => (sample.task, sample.episode, seat, &sample.thread, 0),
        Unit::Episode => (sample.task, sample.episode, None, "", 0),
    }
}

/// What the members of a group have in common.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    family: Option<&'a str>,
    task: Option<usize>,
    turn: Option<usize>,
    role: Option<&'a str>,
    instance: Option<u32>,
    thread: Option<&'a str>,
    state: Option<u64>,
    situation: Option<Option<&'a str>>,
    prompt: Option<&'a [u32]>,
}

impl<'a> Key<'a> {
    fn of(comparison: &Comparison, sample: &'a Sample) -> Self {
        let mut key = Key::default();
        for same in &comparison.same {
            match same {
                Same::Family => key.family = Some(&sample.family),
                Same::Task => key.task = Some(sample.task),
                Same::Role => key.role = Some(&sample.role),
                Same::Seat => {
                    key.role = Some(&sample.role);
                    key.instance = Some(sample.instance);
                }
                Same::Thread => key.thread = Some(&sample.thread),
                Same::Turn => key.turn = Some(sample.turn),
                Same::State => key.state = Some(sample.state),
                Same::Prompt => key.prompt = Some(&sample.prompt),
                Same::Situation => key.situation = Some(sample.situation.as_deref()),
            }
        }
        key
    }
}

/// Leaves out units without an answer that learns, and groups that are empty then. Answers
/// that do not learn still count in the worth of a trajectory they took part in.
pub fn leave_out_frozen(
    groups: Vec<Group>,
    samples: &[Sample],
    learns: impl Fn(&Sample) -> bool,
) -> Vec<Group> {
    let learning = |unit: &GroupUnit| unit.members.iter().any(|&at| learns(&samples[at]));
    let groups = groups.into_iter().map(|group| {
        Group::of(group.units.into_iter().filter(|unit| learning(unit)).collect(), samples)
    });
    groups.filter(|group| !group.units.is_empty()).collect()
}

/// Leaves out the groups that `config.filter` names: flat ones, or of each role's groups the
/// share `filter_ratio` (from 0 to 1, rounded down) with the smallest spread or the lowest mean,
/// as AT-GRPO's reference code does. Roles are not measured against each other, since their
/// rewards differ in size.
pub fn filter_groups(groups: Vec<Group>, config: &AdvantageConfig) -> Vec<Group> {
    let measure: fn(&Group) -> f64 = match config.filter {
        GroupFilter::Off => return groups,
        GroupFilter::ZeroVariance => {
            return groups.into_iter().filter(|group| !group.is_flat()).collect();
        }
        GroupFilter::Std => Group::spread,
        GroupFilter::Mean => Group::mean,
    };
    let mut by_roles: BTreeMap<&BTreeSet<String>, Vec<usize>> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        by_roles.entry(&group.roles).or_default().push(index);
    }
    let mut keep = vec![true; groups.len()];
    for mut order in by_roles.into_values() {
        order.sort_by(|&a, &b| measure(&groups[a]).total_cmp(&measure(&groups[b])).then(a.cmp(&b)));
        let dropped = (order.len() as f64 * config.filter_ratio).floor() as usize;
        order.iter().take(dropped).for_each(|&index| keep[index] = false);
    }
    groups.into_iter().zip(keep).filter_map(|(group, keep)| keep.then_some(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::Estimator;
    use troupe_core::example::{sample, tree_of};

    fn groups(samples: &[Sample], config: &AdvantageConfig) -> Vec<Group> {
        form_groups(samples, &vec![1.0; samples.len()], config, &config.comparison(), |_| true)
    }

    fn by(estimator: Estimator) -> AdvantageConfig {
        AdvantageConfig { estimator, ..AdvantageConfig::default() }
    }

    #[test]
    fn at_grpo_groups_have_k_members_of_one_state() {
        let samples = tree_of(3, 2, &["planner", "executor"], 4);
        let groups = groups(&samples, &by(Estimator::AtGrpo));
        assert_eq!(groups.len(), 3 * 2 * 2);
        for group in groups {
            assert_eq!(group.units.len(), 4);
            let first = &samples[group.units[0].members[0]];
            for unit in &group.units {
                let other = &samples[unit.members[0]];
                assert_eq!(
                    (first.task, first.turn, &first.role),
                    (other.task, other.turn, &other.role)
                );
                assert_eq!(first.state, other.state);
            }
        }
    }

    #[test]
    fn at_grpo_never_compares_two_states_even_of_one_role_and_turn() {
        let mut samples = tree_of(1, 1, &["solo"], 4);
        samples[3].state += 1;
        let sizes: Vec<usize> = groups(&samples, &by(Estimator::AtGrpo))
            .iter()
            .map(|group| group.units.len())
            .collect();
        assert_eq!(sizes, [3, 1]);
    }

    #[test]
    fn a_trajectory_is_worth_its_episodes_team_reward_and_its_own_local_reward() {
        let mut a = sample(0, 0, 0, "planner", 0);
        a.reward.team = 1.0;
        a.reward.local = 0.25;
        let mut b = sample(0, 0, 0, "executor", 0);
        b.reward.team = 2.0;
        let groups = groups(&[a, b], &AdvantageConfig { alpha: 0.5, ..by(Estimator::Grpo) });
        let worths: Vec<f64> = groups.iter().map(|group| group.units[0].worth).collect();
        assert_eq!(worths, [1.5, 1.75], "executor, then planner");
    }

    #[test]
    fn naive_puts_all_of_a_task_into_one_group() {
        let samples = tree_of(2, 3, &["planner", "executor"], 4);
        let groups = groups(&samples, &by(Estimator::Naive));
        assert_eq!(groups.iter().map(|group| group.units.len()).collect::<Vec<_>>(), [24, 24]);
    }

    /// Sizes of the groups, and of the first unit in each.
    fn sizes(samples: &[Sample], estimator: Estimator) -> Vec<(usize, usize)> {
        let groups = groups(samples, &by(estimator));
        groups.iter().map(|group| (group.units.len(), group.units[0].members.len())).collect()
    }

    #[test]
    fn every_estimator_compares_what_its_name_says() {
        // Two episodes of one task: two roles, two turns; the executor has a second seat.
        let mut samples = Vec::new();
        for episode in 0..2 {
            for turn in 0..2 {
                samples.push(sample(0, episode, turn, "planner", 0));
                samples.push(sample(0, episode, turn, "executor", 0));
                samples.push(Sample { instance: 1, ..sample(0, episode, turn, "executor", 0) });
            }
        }
        samples[2].thread = "aside".to_owned();
        assert_eq!(sizes(&samples, Estimator::Grpo), [(2, 2), (2, 2), (2, 2)], "by seat");
        assert_eq!(sizes(&samples, Estimator::TeamGrpo), [(6, 2)], "all seats in one");
        assert_eq!(sizes(&samples, Estimator::Drmas), [(8, 1), (4, 1)], "by role");
        assert_eq!(
            sizes(&samples, Estimator::TurnGrpo),
            [(4, 1), (2, 1), (4, 1), (2, 1)],
            "by turn and role"
        );
        assert_eq!(sizes(&samples, Estimator::MGrpo), [(5, 2), (2, 2)], "one seat has two");
        assert_eq!(sizes(&samples, Estimator::Naive), [(12, 1)]);
        assert_eq!(sizes(&samples, Estimator::Rloo), sizes(&samples, Estimator::AtGrpo));
        assert_eq!(sizes(&samples, Estimator::Gdpo), sizes(&samples, Estimator::AtGrpo));
    }

    #[test]
    fn a_choice_of_its_own_replaces_the_one_of_the_name() {
        let samples = tree_of(1, 2, &["planner", "executor"], 4);
        let of = |same: &[Same]| {
            let config = AdvantageConfig { same: Some(same.to_vec()), ..by(Estimator::AtGrpo) };
            groups(&samples, &config).iter().map(|group| group.units.len()).collect::<Vec<_>>()
        };
        assert_eq!(of(&[Same::Task, Same::Role]), [8, 8]);
        assert_eq!(of(&[Same::Task, Same::Turn]), [8, 8]);
        assert_eq!(of(&[Same::State]), [4; 4]);
        assert_eq!(of(&[Same::Situation]), [16]);
    }

    #[test]
    fn equal_sums_of_different_shares_are_worth_comparing() {
        let mut samples = tree_of(1, 1, &["solo"], 2);
        for (sample, (team, fine)) in samples.iter_mut().zip([(1.0, 0.0), (2.0, -1.0)]) {
            (sample.reward.team, sample.reward.local) = (team, fine);
            sample.reward.parts = [("team".to_owned(), team), ("fine".to_owned(), fine)].into();
        }
        let flat = |estimator| groups(&samples, &by(estimator))[0].is_flat();
        assert!(flat(Estimator::AtGrpo) && !flat(Estimator::Gdpo));
    }

    #[test]
    fn roles_that_do_not_learn_are_in_no_group_but_count_for_their_team() {
        let samples = tree_of(2, 1, &["planner", "executor"], 4);
        let without = |estimator| {
            let groups = groups(&samples, &by(estimator));
            leave_out_frozen(groups, &samples, |sample| sample.role == "planner")
        };
        let planner = BTreeSet::from(["planner".to_owned()]);
        for (estimator, units) in [(Estimator::AtGrpo, 4), (Estimator::Naive, 4)] {
            let groups = without(estimator);
            assert_eq!(groups.len(), 2);
            assert!(groups.iter().all(|group| group.roles == planner));
            assert!(groups.iter().all(|group| group.units.len() == units));
        }
        let mut samples = vec![sample(0, 0, 0, "planner", 0), sample(0, 0, 0, "executor", 0)];
        samples[1].reward.team = 2.0;
        let groups = groups(&samples, &by(Estimator::Grpo));
        let groups = leave_out_frozen(groups, &samples, |sample| sample.role == "planner");
        assert_eq!((groups.len(), groups[0].units[0].worth), (1, 2.0));
    }

    /// A group of the role whose units were worth so much.
    fn group(role: &str, worths: &[f64]) -> Group {
        let units = worths
            .iter()
            .map(|&worth| GroupUnit {
                members: vec![0],
                worth,
                weight: 1.0,
                parts: BTreeMap::new(),
            })
            .collect();
        Group { roles: BTreeSet::from([role.to_owned()]), units }
    }

    #[test]
    fn a_role_with_small_rewards_keeps_as_many_groups_as_one_with_large_ones() {
        let loud = (1..5).map(|size| group("loud", &[0.0, f64::from(size)]));
        let quiet = (1..5).map(|size| group("quiet", &[0.0, f64::from(size) / 100.0]));
        let groups: Vec<Group> = loud.chain(quiet).collect();
        for filter in [GroupFilter::Std, GroupFilter::Mean] {
            let config = AdvantageConfig { filter, filter_ratio: 0.5, ..Default::default() };
            let kept = filter_groups(groups.clone(), &config);
            let expected = [&groups[2..4], &groups[6..8]].concat();
            assert_eq!(kept, expected, "{filter:?}");
        }
    }

    #[test]
    fn filters_leave_out_what_their_names_say() {
        let group = |worths: &[f64]| group("solo", worths);
        let groups = vec![group(&[1.0, 1.0]), group(&[0.0, 4.0]), group(&[-9.0, -8.0])];
        let filter = |filter| {
            let config = AdvantageConfig { filter, filter_ratio: 0.34, ..Default::default() };
            filter_groups(groups.clone(), &config)
        };
        assert_eq!(filter(GroupFilter::Off), groups);
        assert_eq!(filter(GroupFilter::ZeroVariance), groups[1..]);
        assert_eq!(filter(GroupFilter::Std), groups[1..]);
        assert_eq!(filter(GroupFilter::Mean), groups[..2]);
    }
}
