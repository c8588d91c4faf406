//! Which completions are compared with each other.
//!
//! Pure: a function of the sample table. What the groups are worth is said in
//! `advantage`; how the table came about is `rollout`'s business.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{AdvantageConfig, Estimator, GroupFilter};
use crate::trajectory::Sample;

/// Rewards closer than this are the same reward.
const SAME_REWARD: f64 = 1e-9;

/// Something that is compared as a whole: one completion, or all that one
/// role said in one episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Indices into the sample table.
    pub members: Vec<usize>,
    /// What it was worth.
    pub score: f64,
}

/// Units that are comparable with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Whose answers are compared.
    pub roles: BTreeSet<String>,
    /// The units, in the order of the sample table.
    pub units: Vec<Unit>,
}

impl Group {
    fn of(units: Vec<Unit>, samples: &[Sample]) -> Self {
        let members = units.iter().flat_map(|unit| &unit.members);
        Group { roles: members.map(|&member| samples[member].role.clone()).collect(), units }
    }

    /// The units' scores, in order.
    pub fn scores(&self) -> Vec<f64> {
        self.units.iter().map(|unit| unit.score).collect()
    }

    /// Mean score.
    pub fn mean(&self) -> f64 {
        self.units.iter().map(|unit| unit.score).sum::<f64>() / self.units.len().max(1) as f64
    }

    /// Standard deviation of the scores (n − 1 in the denominator); 0 for a group of one.
    pub fn spread(&self) -> f64 {
        if self.units.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.units.iter().map(|unit| (unit.score - mean).powi(2)).sum();
        (squares / (self.units.len() - 1) as f64).sqrt()
    }

    /// Whether all scores are the same, so that nothing can be learned from the group.
    pub fn is_flat(&self) -> bool {
        let low = self.units.iter().map(|unit| unit.score).fold(f64::INFINITY, f64::min);
        let high = self.units.iter().map(|unit| unit.score).fold(f64::NEG_INFINITY, f64::max);
        self.units.len() < 2 || high - low < SAME_REWARD
    }
}

/// Put the samples into groups, in the order of their keys.
///
/// - `at-grpo`: the completions of one (task, role, turn) state
///   (arXiv 2510.11062, section 4.1).
/// - `grpo`, `dr-grpo`: a role's trajectories of one task; a trajectory's score
///   is the α-weighted team reward of its whole episode plus the role's own
///   local rewards (arXiv 2402.03300, section 4.1).
/// - `naive`: all completions of one task, whatever state they were drawn in.
pub fn form_groups(samples: &[Sample], estimator: Estimator, alpha: f64) -> Vec<Group> {
    match estimator {
        Estimator::AtGrpo => group_completions(samples, alpha, |s| {
            (s.task, s.turn, s.role.clone(), s.instance, s.thread.clone(), s.state)
        }),
        Estimator::Naive => group_completions(samples, alpha, |s| s.task),
        Estimator::Grpo | Estimator::DrGrpo => group_trajectories(samples, alpha),
    }
}

fn group_completions<K: Ord>(
    samples: &[Sample],
    alpha: f64,
    key: impl Fn(&Sample) -> K,
) -> Vec<Group> {
    let mut groups: BTreeMap<K, Vec<Unit>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let unit = Unit { members: vec![index], score: sample.reward.total(alpha) };
        groups.entry(key(sample)).or_default().push(unit);
    }
    groups.into_values().map(|units| Group::of(units, samples)).collect()
}

fn group_trajectories(samples: &[Sample], alpha: f64) -> Vec<Group> {
    let mut team: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut rounds = BTreeSet::new();
    for sample in samples {
        // The answers of a round share its team reward.
        if rounds.insert((sample.task, sample.episode, sample.round)) {
            *team.entry((sample.task, sample.episode)).or_default() += alpha * sample.reward.team;
        }
    }
    let mut groups: BTreeMap<(usize, &str, u32), BTreeMap<usize, Unit>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let unit = groups
            .entry((sample.task, &sample.role, sample.instance))
            .or_default()
            .entry(sample.episode)
            .or_insert_with(|| Unit {
                members: Vec::new(),
                score: team[&(sample.task, sample.episode)],
            });
        unit.members.push(index);
        unit.score += sample.reward.local;
    }
    let units = groups.into_values().map(|units| units.into_values().collect());
    units.map(|units| Group::of(units, samples)).collect()
}

/// The groups without the answers of roles that do not learn. What those did
/// still counts in the score of a trajectory they took part in.
pub fn leave_out_frozen(
    groups: Vec<Group>,
    samples: &[Sample],
    learns: impl Fn(&str) -> bool,
) -> Vec<Group> {
    let learning = |unit: &Unit| unit.members.iter().any(|&at| learns(&samples[at].role));
    let groups = groups.into_iter().map(|group| {
        Group::of(group.units.into_iter().filter(|unit| learning(unit)).collect(), samples)
    });
    groups.filter(|group| !group.units.is_empty()).collect()
}

/// Leave out the groups the filter names. The `std` and `mean` filters are the
/// reference system's: of each role's groups, the share `filter_ratio` with the
/// smallest spread, or with the lowest mean, goes. Roles are not measured
/// against each other, as their rewards are of different sizes.
pub fn filter_groups(groups: Vec<Group>, config: &AdvantageConfig) -> Vec<Group> {
    let measure: fn(&Group) -> f64 = match config.filter {
        GroupFilter::Off => return groups,
        GroupFilter::ZeroVariance => {
            return groups.into_iter().filter(|group| !group.is_flat()).collect();
        }
        GroupFilter::Std => Group::spread,
        GroupFilter::Mean => Group::mean,
    };
    let mut own: BTreeMap<&BTreeSet<String>, Vec<usize>> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        own.entry(&group.roles).or_default().push(index);
    }
    let mut keep = vec![true; groups.len()];
    for mut order in own.into_values() {
        order.sort_by(|&a, &b| measure(&groups[a]).total_cmp(&measure(&groups[b])).then(a.cmp(&b)));
        let dropped = (order.len() as f64 * config.filter_ratio).floor() as usize;
        order.iter().take(dropped).for_each(|&index| keep[index] = false);
    }
    groups.into_iter().zip(keep).filter_map(|(group, keep)| keep.then_some(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_samples::{sample, tree_of};

    #[test]
    fn at_grpo_groups_have_k_members_of_one_state() {
        let samples = tree_of(3, 2, &["planner", "executor"], 4);
        let groups = form_groups(&samples, Estimator::AtGrpo, 1.0);
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
        let sizes: Vec<usize> = form_groups(&samples, Estimator::AtGrpo, 1.0)
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
        let groups = form_groups(&[a, b], Estimator::Grpo, 0.5);
        let scores: Vec<f64> = groups.iter().map(|group| group.units[0].score).collect();
        assert_eq!(scores, [1.5, 1.75], "executor, then planner");
    }

    #[test]
    fn naive_puts_all_of_a_task_into_one_group() {
        let samples = tree_of(2, 3, &["planner", "executor"], 4);
        let groups = form_groups(&samples, Estimator::Naive, 1.0);
        assert_eq!(groups.iter().map(|group| group.units.len()).collect::<Vec<_>>(), [24, 24]);
    }

    #[test]
    fn roles_that_do_not_learn_are_in_no_group_but_count_for_their_team() {
        let samples = tree_of(2, 1, &["planner", "executor"], 4);
        let without = |estimator| {
            let groups = form_groups(&samples, estimator, 1.0);
            leave_out_frozen(groups, &samples, |role| role == "planner")
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
        let groups = form_groups(&samples, Estimator::Grpo, 1.0);
        let groups = leave_out_frozen(groups, &samples, |role| role == "planner");
        assert_eq!((groups.len(), groups[0].units[0].score), (1, 2.0));
    }

    /// A group of the role with these scores.
    fn group(role: &str, scores: &[f64]) -> Group {
        let units = scores.iter().map(|&score| Unit { members: vec![0], score }).collect();
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
        let group = |scores: &[f64]| group("solo", scores);
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
