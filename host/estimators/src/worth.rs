//! The worth of a unit: its own reward, the return from it on, or the return of
//! the whole episode ([`Worth`]). In the unit of the environment's rewards, and
//! unbounded like them.
//!
//! Pure: a function of the sample table.

use std::collections::{BTreeMap, BTreeSet};

use crate::lineage::{EpisodeOf, Lineage};
use troupe_core::config::{AdvantageConfig, Unit, Worth};
use troupe_core::trajectory::Sample;

/// A seat in an episode: the episode, the role, and which of its seats.
type Seat<'a> = (EpisodeOf, &'a str, u32);
/// Rewards by round.
type ByRound = BTreeMap<usize, f64>;

/// The rewards of every round of every episode.
pub struct Earnings<'a> {
    samples: &'a [Sample],
    alpha: f64,
    discount: f64,
    worth: Worth,
    lineage: Lineage,
    /// α·team by round, shared by the answers of a round; the rounds before a fork included.
    team: BTreeMap<EpisodeOf, ByRound>,
    /// The local rewards of each seat by round.
    local: BTreeMap<Seat<'a>, ByRound>,
}

impl<'a> Earnings<'a> {
    /// Adds up the rewards of a table. All worths but [`Worth::Now`] need whole
    /// episodes: of a tree's branches only one has a future.
    pub fn of(samples: &'a [Sample], config: &AdvantageConfig, worth: Worth) -> Self {
        let (alpha, discount) = (config.alpha, config.discount);
        let mut earnings = Earnings {
            samples,
            alpha,
            discount,
            worth,
            lineage: Lineage::default(),
            team: BTreeMap::new(),
            local: BTreeMap::new(),
        };
        if worth != Worth::Now {
            earnings.lineage = Lineage::of(samples);
            earnings.add_up();
        }
        earnings
    }

    fn add_up(&mut self) {
        let (mut team, mut local) = (BTreeMap::new(), BTreeMap::new());
        for sample in self.samples {
            let shared = self.alpha * sample.reward.team;
            let rounds: &mut ByRound = team.entry(episode(sample)).or_default();
            rounds.entry(sample.round).or_insert(shared);
            let rounds: &mut ByRound = local.entry(seat(sample)).or_default();
            *rounds.entry(sample.round).or_default() += sample.reward.local;
        }
        let seats: BTreeSet<(usize, &str, u32)> =
            local.keys().map(|&((task, _), role, instance)| (task, role, instance)).collect();
        for &(task, number) in team.keys() {
            let path = self.lineage.path((task, number));
            self.team.insert((task, number), along(&path, |from| team.get(&(task, from))));
            for &(_, role, instance) in seats.iter().filter(|seat| seat.0 == task) {
                let rewards = along(&path, |from| local.get(&((task, from), role, instance)));
                self.local.insert(((task, number), role, instance), rewards);
            }
        }
    }

    /// The worth of a unit's members (indices into the table) together; 0 without members:
    /// - [`Worth::Now`]: Σ (α·team + local) over the members;
    /// - [`Worth::ToGo`]: Σ γ^(t − now) · (α·team + local) over the rounds from the answer on,
    ///   γ the `discount`, local the rewards of its seat;
    /// - [`Worth::Whole`]: Σ α·team over the episode, and Σ local over the members, or over the
    ///   seat's whole episode if the unit is a single completion;
    /// - [`Worth::Outcome`]: Σ α·team over the episode, and local of the answer alone.
    ///
    /// A completion that several episodes have in common is worth their mean as
    /// [`Lineage::through`] weighs them, the backup of MALT (arXiv 2412.01928, equation 3) and
    /// MHGPO (arXiv 2506.02718).
    pub fn worth(&self, unit: Unit, members: &[usize]) -> f64 {
        let Some(&first) = members.first() else { return 0.0 };
        let sample = &self.samples[first];
        if self.worth == Worth::Now {
            let totals =
                members.iter().map(|&member| self.samples[member].reward.total(self.alpha));
            return totals.sum();
        }
        if unit != Unit::Completion {
            let local = |sum, member: &usize| sum + self.samples[*member].reward.local;
            return members.iter().fold(self.team_reward(episode(sample)), local);
        }
        let episodes = self.lineage.through(episode(sample), sample.round).into_iter();
        episodes.map(|(number, weight)| weight * self.in_episode(sample, number)).sum()
    }

    /// The worth of a completion in one of the episodes that contain it.
    fn in_episode(&self, sample: &Sample, number: usize) -> f64 {
        let episode = (sample.task, number);
        if self.worth == Worth::Outcome {
            return self.team_reward(episode) + sample.reward.local;
        }
        let rewards = &self.local[&(episode, sample.role.as_str(), sample.instance)];
        match self.worth {
            Worth::ToGo => self.to_go(&self.team[&episode], rewards, sample.round),
            _ => rewards.values().fold(self.team_reward(episode), |sum, local| sum + local),
        }
    }

    /// The members' immediate rewards (indices into the table), by the name of the award and
    /// without α. GDPO compares each on its own.
    pub fn parts(&self, members: &[usize]) -> BTreeMap<String, f64> {
        let mut parts: BTreeMap<String, f64> = BTreeMap::new();
        for (name, value) in members.iter().flat_map(|&member| &self.samples[member].reward.parts) {
            *parts.entry(name.clone()).or_default() += value;
        }
        parts
    }

    /// Σ α·team over an episode; 0 if it has no answers.
    pub fn team_reward(&self, episode: EpisodeOf) -> f64 {
        self.team.get(&episode).map_or(0.0, |rounds| rounds.values().sum())
    }

    /// Σ γ^(t − now) · (α·team + local) over the rounds from this one on.
    fn to_go(&self, team: &ByRound, local: &ByRound, from: usize) -> f64 {
        // Rounds are counted, not subtracted: between two of them there is one step.
        let rounds = team.range(from..);
        rounds.rev().fold(0.0, |later, (round, team)| {
            team + local.get(round).copied().unwrap_or(0.0) + self.discount * later
        })
    }
}

/// The rewards on the whole path of an episode.
fn along<'m>(path: &[(usize, usize)], earned: impl Fn(usize) -> Option<&'m ByRound>) -> ByRound {
    let rounds = path.iter().filter_map(|&(from, last)| Some((earned(from)?, last)));
    let rounds = rounds.flat_map(|(rounds, last)| rounds.range(..=last));
    rounds.map(|(round, earned)| (*round, *earned)).collect()
}

fn episode(sample: &Sample) -> EpisodeOf {
    (sample.task, sample.episode)
}

fn seat(sample: &Sample) -> Seat<'_> {
    (episode(sample), &sample.role, sample.instance)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use troupe_core::example::{forked, sample};

    /// An episode of two turns and two roles: team and local of each answer.
    fn played() -> Vec<Sample> {
        let earned = [
            (0, "planner", 0.0, 0.5),
            (0, "executor", 1.0, -0.25),
            (1, "planner", 0.0, 0.25),
            (1, "executor", 4.0, 0.0),
        ];
        let rows = earned.into_iter().enumerate().map(|(round, (turn, role, team, local))| {
            let mut row = sample(0, 0, turn, role, 0);
            row.round = round;
            (row.reward.team, row.reward.local) = (team, local);
            row
        });
        rows.collect()
    }

    fn worths(worth: Worth, discount: f64) -> Vec<f64> {
        let samples = played();
        let config = AdvantageConfig { alpha: 0.5, discount, ..AdvantageConfig::default() };
        let earnings = Earnings::of(&samples, &config, worth);
        (0..4).map(|index| earnings.worth(Unit::Completion, &[index])).collect()
    }

    #[test]
    fn an_answer_is_worth_its_own_reward_or_what_follows_or_the_whole() {
        assert_eq!(worths(Worth::Now, 1.0), [0.5, 0.25, 0.25, 2.0]);
        // α·team is 0, 0.5, 0, 2; the planner's own 0.5 and 0.25, the executor's −0.25 and 0.
        assert_eq!(worths(Worth::ToGo, 1.0), [3.25, 2.25, 2.25, 2.0]);
        assert_eq!(worths(Worth::ToGo, 0.5), [0.5 + 0.25 + 0.0625 + 0.25, 0.25 + 0.5, 1.25, 2.0]);
        assert_eq!(worths(Worth::Whole, 1.0), [3.25, 2.25, 3.25, 2.25]);
    }

    #[test]
    fn what_is_earned_together_is_the_teams_reward_once_and_everybodys_own() {
        let samples = played();
        let config = AdvantageConfig::default();
        let earnings = Earnings::of(&samples, &config, Worth::Whole);
        assert_eq!(earnings.worth(Unit::Seat, &[0, 2]), 5.75);
        assert_eq!(earnings.worth(Unit::Episode, &[0, 1, 2, 3]), 5.5);
    }

    #[test]
    fn an_outcome_is_the_episodes_and_what_is_said_of_an_answer_is_its_own() {
        let samples = played();
        let config = AdvantageConfig { alpha: 2.0, ..AdvantageConfig::default() };
        let earnings = Earnings::of(&samples, &config, Worth::Outcome);
        let team: f64 = samples.iter().map(|sample| sample.reward.team).sum();
        for (index, sample) in samples.iter().enumerate() {
            let worth = earnings.worth(Unit::Completion, &[index]);
            assert_eq!(worth, 2.0 * team + sample.reward.local, "answer {index}");
        }
        assert!(samples.iter().any(|sample| sample.reward.local != 0.0));
    }

    #[test]
    fn each_seat_of_a_role_earns_for_itself() {
        let mut samples = played();
        samples[2].instance = 1;
        let config = AdvantageConfig::default();
        let earnings = Earnings::of(&samples, &config, Worth::Whole);
        let worths = [0, 2].map(|index| earnings.worth(Unit::Completion, &[index]));
        assert_eq!(worths, [5.5, 5.25]);
    }

    #[test]
    fn answers_of_one_round_share_its_team_reward() {
        let mut samples = played();
        samples[1].round = 0;
        samples[0].reward.team = 1.0;
        let config = AdvantageConfig::default();
        let earnings = Earnings::of(&samples, &config, Worth::Whole);
        assert_eq!(earnings.worth(Unit::Seat, &[0, 2]), 5.75);
    }

    #[test]
    fn what_several_episodes_have_in_common_is_worth_their_mean() {
        // Answers earn their index; the episodes are 0 1 2, 0 3 4 and 0 1 5.
        let samples = forked();
        let config = AdvantageConfig::default();
        let worths = |worth| -> Vec<f64> {
            let earnings = Earnings::of(&samples, &config, worth);
            (0..6).map(|index| earnings.worth(Unit::Completion, &[index])).collect()
        };
        assert_eq!(worths(Worth::ToGo), [5.75, 4.5, 2.0, 7.0, 4.0, 5.0]);
        assert_eq!(worths(Worth::Whole), [5.75, 4.5, 3.0, 7.0, 7.0, 6.0]);
    }

    /// A tree of answers: what each earns, and what may be said after it.
    #[derive(Clone, Debug)]
    struct AnswerTree {
        earned: f64,
        then: Vec<AnswerTree>,
    }

    fn trees() -> impl Strategy<Value = AnswerTree> {
        let earned = || (-4_i8..5).prop_map(f64::from);
        let leaf = earned().prop_map(|earned| AnswerTree { earned, then: Vec::new() });
        leaf.prop_recursive(4, 40, 3, move |inner| {
            (earned(), prop::collection::vec(inner, 0..4))
                .prop_map(|(earned, then)| AnswerTree { earned, then })
        })
    }

    /// The rows of a tree: the first branch goes on in the episode, others are forks of it.
    fn rows_of(tree: &AnswerTree) -> (Vec<Sample>, Vec<f64>) {
        /// Where a subtree hangs, its round, and its episode.
        type Place = (Option<usize>, usize, usize);
        fn add(
            tree: &AnswerTree,
            (parent, round, episode): Place,
            rows: &mut Vec<(Sample, f64)>,
            episodes: &mut usize,
        ) -> f64 {
            let mut row = sample(0, 0, round, "solver", 0);
            (row.round, row.episode, row.parent, row.reward.team) =
                (round, episode, parent, tree.earned);
            let at = rows.len();
            rows.push((row, 0.0));
            let mut later = 0.0;
            for (branch, next) in tree.then.iter().enumerate() {
                let episode = if branch == 0 {
                    episode
                } else {
                    *episodes += 1;
                    *episodes
                };
                later += add(next, (Some(at), round + 1, episode), rows, episodes);
            }
            let worth = tree.earned + later / tree.then.len().max(1) as f64;
            rows[at].1 = worth;
            worth
        }
        let mut rows = Vec::new();
        add(tree, (None, 0, 0), &mut rows, &mut 0);
        // A table has the rows of an episode side by side.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&at| rows[at].0.episode);
        let now: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(now, at)| (*at, now)).collect();
        let moved = |at: &usize| {
            let (row, worth) = rows[*at].clone();
            (Sample { parent: row.parent.map(|parent| now[&parent]), ..row }, worth)
        };
        order.iter().map(moved).unzip()
    }

    proptest! {
        #[test]
        fn what_comes_of_an_answer_is_a_mean_over_its_children_however_unbalanced(tree in trees()) {
            let (samples, expected) = rows_of(&tree);
            let config = AdvantageConfig::default();
            let earnings = Earnings::of(&samples, &config, Worth::ToGo);
            for (row, expected) in expected.into_iter().enumerate() {
                let worth = earnings.worth(Unit::Completion, &[row]);
                prop_assert!((worth - expected).abs() < 1e-9, "row {row}: {worth} for {expected}");
            }
        }
    }
}
