//! What an answer, or several together, was worth.
//!
//! Pure: a function of the sample table.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{AdvantageConfig, Unit, Worth};
use crate::lineage::{EpisodeOf, Lineage};
use crate::trajectory::Sample;

/// A seat in an episode.
type Seat<'a> = (EpisodeOf, &'a str, u32);
/// What was earned in every round.
type ByRound = BTreeMap<usize, f64>;

/// What was earned in every round of every episode.
pub struct Earnings<'a> {
    samples: &'a [Sample],
    alpha: f64,
    discount: f64,
    worth: Worth,
    lineage: Lineage,
    /// α·team, by round, what the episode was forked from included. The answers
    /// of a round share it.
    team: BTreeMap<EpisodeOf, ByRound>,
    /// What each seat earned for itself, by round.
    local: BTreeMap<Seat<'a>, ByRound>,
}

impl<'a> Earnings<'a> {
    /// What these samples earned. Whole episodes are needed for all but `now`:
    /// of a tree's branches only one has a future.
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
            for &(_, role, instance) in seats.iter().filter(|(of, ..)| *of == task) {
                let own = along(&path, |from| local.get(&((task, from), role, instance)));
                self.local.insert(((task, number), role, instance), own);
            }
        }
    }

    /// What some answers were worth together; a part of several episodes is worth
    /// what these are on average.
    pub fn worth(&self, unit: Unit, members: &[usize]) -> f64 {
        let Some(&first) = members.first() else { return 0.0 };
        let sample = &self.samples[first];
        if self.worth == Worth::Now {
            let own = members.iter().map(|&member| self.samples[member].reward.total(self.alpha));
            return own.sum();
        }
        if unit != Unit::Completion {
            let local = |sum, member: &usize| sum + self.samples[*member].reward.local;
            return members.iter().fold(self.team_of(episode(sample)), local);
        }
        let through = self.lineage.through(episode(sample), sample.round);
        let count = through.len() as f64;
        let worths = through.into_iter().map(|number| self.in_episode(sample, number));
        worths.sum::<f64>() / count
    }

    /// What an answer was worth in one of the episodes that it is part of.
    fn in_episode(&self, sample: &Sample, number: usize) -> f64 {
        let at = (sample.task, number);
        let own = &self.local[&(at, sample.role.as_str(), sample.instance)];
        match self.worth {
            Worth::ToGo => self.to_go(&self.team[&at], own, sample.round),
            _ => own.values().fold(self.team_of(at), |sum, local| sum + local),
        }
    }

    /// Every named share of what some answers earned at once.
    pub fn parts(&self, members: &[usize]) -> BTreeMap<String, f64> {
        let mut parts: BTreeMap<String, f64> = BTreeMap::new();
        for (name, value) in members.iter().flat_map(|&member| &self.samples[member].reward.parts) {
            *parts.entry(name.clone()).or_default() += value;
        }
        parts
    }

    fn team_of(&self, episode: EpisodeOf) -> f64 {
        self.team[&episode].values().sum()
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

/// What was earned on the whole path of an episode.
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
    use super::*;
    use crate::test_samples::{forked, sample};

    /// An episode of two turns and two roles: team and local of each answer.
    fn played() -> Vec<Sample> {
        let earned = [
            (0, "planner", 0.0, 0.5),
            (0, "executor", 1.0, -0.25),
            (1, "planner", 0.0, 0.25),
            (1, "executor", 4.0, 0.0),
        ];
        let made = earned.into_iter().enumerate().map(|(round, (turn, role, team, local))| {
            let mut made = sample(0, 0, turn, role, 0);
            made.round = round;
            (made.reward.team, made.reward.local) = (team, local);
            made
        });
        made.collect()
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
        assert_eq!(worths(Worth::ToGo), [16.0 / 3.0, 4.5, 2.0, 7.0, 4.0, 5.0]);
        assert_eq!(worths(Worth::Whole), [16.0 / 3.0, 4.5, 3.0, 7.0, 7.0, 6.0]);
    }
}
