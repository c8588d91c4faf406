//! What an answer, or several together, was worth.
//!
//! Pure: a function of the sample table.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{AdvantageConfig, Unit, Worth};
use crate::trajectory::Sample;

/// One episode of a task.
type Episode = (usize, usize);
/// A seat in an episode.
type Seat<'a> = (Episode, &'a str, u32);

/// What was earned in every round of every episode.
pub struct Earnings<'a> {
    samples: &'a [Sample],
    alpha: f64,
    discount: f64,
    worth: Worth,
    /// α·team, by round. The answers of a round share it.
    team: BTreeMap<Episode, BTreeMap<usize, f64>>,
    /// What each seat earned for itself, by round.
    local: BTreeMap<Seat<'a>, BTreeMap<usize, f64>>,
}

impl<'a> Earnings<'a> {
    /// What these samples earned. Whole trajectories are needed for all but
    /// `now`: of a tree's branches only one has a future.
    pub fn of(samples: &'a [Sample], config: &AdvantageConfig, worth: Worth) -> Self {
        let (alpha, discount) = (config.alpha, config.discount);
        let mut team: BTreeMap<Episode, BTreeMap<usize, f64>> = BTreeMap::new();
        let mut local: BTreeMap<Seat, BTreeMap<usize, f64>> = BTreeMap::new();
        if worth != Worth::Now {
            for sample in samples {
                let shared = alpha * sample.reward.team;
                team.entry(episode(sample)).or_default().entry(sample.round).or_insert(shared);
                let own = local.entry(seat(sample)).or_default().entry(sample.round).or_default();
                *own += sample.reward.local;
            }
        }
        Earnings { samples, alpha, discount, worth, team, local }
    }

    /// What some answers were worth together.
    pub fn worth(&self, unit: Unit, members: &[usize]) -> f64 {
        let Some(&first) = members.first() else { return 0.0 };
        let sample = &self.samples[first];
        let local = |sum, member: &usize| sum + self.samples[*member].reward.local;
        match (self.worth, unit) {
            (Worth::Now, _) => {
                let own =
                    members.iter().map(|&member| self.samples[member].reward.total(self.alpha));
                own.sum()
            }
            (Worth::ToGo, _) => self.to_go(sample),
            (Worth::Whole, Unit::Completion) => {
                let own = &self.local[&seat(sample)];
                own.values().fold(self.team_of(sample), |sum, local| sum + local)
            }
            (Worth::Whole, _) => members.iter().fold(self.team_of(sample), local),
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

    fn team_of(&self, sample: &Sample) -> f64 {
        self.team[&episode(sample)].values().sum()
    }

    /// Σ γ^(t − now) · (α·team + local) over the rounds from the answer's on.
    fn to_go(&self, sample: &Sample) -> f64 {
        let (team, local) = (&self.team[&episode(sample)], &self.local[&seat(sample)]);
        // Rounds are counted, not subtracted: between two of them there is one step.
        let rounds: BTreeSet<usize> = team.range(sample.round..).map(|(&round, _)| round).collect();
        let earned = |round: &usize| {
            team.get(round).copied().unwrap_or(0.0) + local.get(round).copied().unwrap_or(0.0)
        };
        rounds.iter().rev().fold(0.0, |later, round| earned(round) + self.discount * later)
    }
}

fn episode(sample: &Sample) -> Episode {
    (sample.task, sample.episode)
}

fn seat(sample: &Sample) -> Seat<'_> {
    (episode(sample), &sample.role, sample.instance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_samples::sample;

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
}
