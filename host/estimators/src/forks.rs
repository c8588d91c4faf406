//! How many answers each state is given, where not all are given as many
//! (`rollout.allocation = "adaptive"`).
//!
//! What a group of n answers says is the less certain the more its answers differ in worth, and it
//! costs n times what an answer costs. For a given number of tokens the error of the sum over all
//! states is least with n ∝ √(variance / tokens): Neyman's allocation (1934) with costs. States are
//! told apart by who is asked when; how much their answers differ and cost is what it was in the
//! steps before.
//!
//! A state's own answers have no say in how many there will be. If they had (more where the first
//! two differ, say), a group's size would depend on what is compared in it, and the gradient would
//! be biased towards states in which chance made a difference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::group::Group;
use troupe_core::config::RolloutConfig;
use troupe_core::trajectory::Sample;

/// Answers to a state, at least: fewer could not be compared, and nobody would notice when states
/// of its kind begin to differ.
pub const LEAST: usize = 2;
/// How much of what was known stays known after a step.
const MEMORY: f64 = 0.7;
/// The least variance of a kind of state, as a share of the largest of all.
const LEAST_VARIANCE: f64 = 1e-3;

/// What is known of kinds of states; part of the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forks(BTreeMap<String, Kind>);

/// States at which the same role is asked in the same turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Kind {
    /// Variance of what answers to one state are worth, in squared units of reward; unbiased.
    variance: f64,
    /// Tokens of an answer.
    tokens: f64,
    /// States in a step.
    states: f64,
}

/// How many answers the states of a step are given, by kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dealing {
    answers: BTreeMap<String, f64>,
    otherwise: f64,
}

/// The kind of a state.
pub fn kind_of(family: &str, role: &str, turn: usize) -> String {
    format!("{family}/{role}/{turn}")
}

impl Forks {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Take in how the answers of a step's groups differed, but for those of roles that are `given`
    /// a number of their own: nothing is dealt out to these.
    pub fn learn(&mut self, samples: &[Sample], groups: &[Group], given: impl Fn(&str) -> bool) {
        let mut seen: BTreeMap<String, Kind> = BTreeMap::new();
        for group in groups.iter().filter(|group| group.units.len() >= LEAST) {
            let members = || group.units.iter().flat_map(|unit| &unit.members);
            let Some(first) = members().next().map(|&member| &samples[member]) else { continue };
            if given(&first.role) {
                continue;
            }
            let name = kind_of(&first.family, &first.role, first.turn);
            let none = Kind { variance: 0.0, tokens: 0.0, states: 0.0 };
            let kind = seen.entry(name).or_insert(none);
            let (count, mean) = (group.units.len() as f64, group.mean());
            let spread: f64 = group.units.iter().map(|unit| (unit.worth - mean).powi(2)).sum();
            let drawn: usize = members().map(|&member| samples[member].completion.drawn()).sum();
            kind.variance += spread / (count - 1.0);
            kind.tokens += drawn as f64 / count;
            kind.states += 1.0;
        }
        for (name, Kind { variance, tokens, states }) in seen {
            let now = Kind { variance: variance / states, tokens: tokens / states, states };
            self.0.entry(name).and_modify(|kind| kind.blend(now)).or_insert(now);
        }
    }

    /// The answers of the next step: as many tokens as with `rollout.branches` for every state.
    pub fn deal(&self, rollout: &RolloutConfig) -> Dealing {
        let even = rollout.branches as f64;
        let (least, most) = (LEAST as f64, rollout.most_branches() as f64);
        let largest = self.0.values().map(|kind| kind.variance).fold(0.0, f64::max);
        if largest <= 0.0 {
            return Dealing::of(BTreeMap::new(), rollout);
        }
        let need = |kind: &Kind| {
            (kind.variance.max(LEAST_VARIANCE * largest) / kind.tokens.max(1.0)).sqrt()
        };
        let answers = |kind: &Kind, scale: f64| (scale * need(kind)).clamp(least, most);
        let spent = |scale: f64| -> f64 {
            let tokens = |kind: &Kind| kind.states * kind.tokens * (answers(kind, scale) - even);
            self.0.values().map(tokens).sum()
        };
        // What is spent grows with the scale; at the ends all have the least, or the most.
        let (mut low, mut high) = (0.0, 1.0);
        while spent(high) < 0.0 && self.0.values().any(|kind| answers(kind, high) < most) {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if spent(middle) < 0.0 { low = middle } else { high = middle }
        }
        let answers = self.0.iter().map(|(name, kind)| (name.clone(), answers(kind, low)));
        Dealing::of(answers.collect(), rollout)
    }
}

impl Kind {
    fn blend(&mut self, now: Kind) {
        let blend = |old: f64, new: f64| MEMORY * old + (1.0 - MEMORY) * new;
        self.variance = blend(self.variance, now.variance);
        self.tokens = blend(self.tokens, now.tokens);
        self.states = blend(self.states, now.states);
    }
}

impl Dealing {
    /// So many answers on average to states of these kinds, and as many as ever to others.
    pub fn of(answers: BTreeMap<String, f64>, rollout: &RolloutConfig) -> Self {
        Dealing { answers, otherwise: rollout.branches as f64 }
    }

    /// Answers to a state of this kind: a whole number that is right on average, `chance` (from 0
    /// to 1) deciding whether it is the one below or above.
    pub fn answers(&self, kind: &str, chance: f64) -> usize {
        let mean = self.answers.get(kind).copied().unwrap_or(self.otherwise);
        mean.floor() as usize + usize::from(chance < mean.fract())
    }

    /// What states of each kind are given on average.
    pub fn means(&self) -> &BTreeMap<String, f64> {
        &self.answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::GroupUnit;
    use troupe_core::config::Allocation;
    use troupe_core::example::tree_of;

    /// Groups of two roles: the answers of the first are worth ±`spread`, those of the other 0.
    fn known(spread: f64) -> Forks {
        known_but_of(spread, &[])
    }

    /// The same, where some roles have a number of answers of their own.
    fn known_but_of(spread: f64, given: &[&str]) -> Forks {
        let samples = tree_of(4, 2, &["planner", "executor"], 4);
        let mut groups: Vec<Group> = Vec::new();
        for (index, sample) in samples.iter().enumerate() {
            let sign = if sample.branch.is_multiple_of(2) { spread } else { -spread };
            let worth = if sample.role == "planner" { sign } else { 0.0 };
            let unit =
                GroupUnit { members: vec![index], worth, weight: 1.0, parts: BTreeMap::new() };
            match groups.last_mut().filter(|_| sample.branch > 0) {
                Some(group) => group.units.push(unit),
                None => {
                    groups.push(Group { roles: [sample.role.clone()].into(), units: vec![unit] })
                }
            }
        }
        let mut forks = Forks::default();
        forks.learn(&samples, &groups, |role| given.contains(&role));
        forks
    }

    fn rollout(branches: usize) -> RolloutConfig {
        RolloutConfig { branches, allocation: Allocation::Adaptive, ..RolloutConfig::default() }
    }

    #[test]
    fn whose_answers_differ_more_is_given_more_for_as_many_tokens() {
        let dealing = known(1.0).deal(&rollout(4));
        let of = |role: &str| {
            let own = dealing.means().iter().filter(|(kind, _)| kind.contains(role));
            own.map(|(_, answers)| *answers).collect::<Vec<f64>>()
        };
        assert!(of("/executor/").iter().all(|&answers| answers == 2.0), "{dealing:?}");
        assert!(of("/planner/").iter().all(|&answers| (answers - 6.0).abs() < 1e-6), "{dealing:?}");
    }

    #[test]
    fn roles_with_a_number_of_their_own_leave_the_tokens_of_the_others_alone() {
        let dealing = known_but_of(1.0, &["executor"]).deal(&rollout(4));
        let roles =
            |(kind, answers): (&String, &f64)| (kind.contains("/planner/"), answers.round());
        assert!(dealing.means().iter().map(roles).all(|dealt| dealt == (true, 4.0)), "{dealing:?}");
        assert!(!dealing.means().is_empty());
        assert_eq!(dealing.answers(&kind_of("maze", "executor", 0), 0.0), 4);
    }

    #[test]
    fn where_nothing_is_known_or_nothing_differs_all_are_given_as_many() {
        for forks in [Forks::default(), known(0.0)] {
            let dealing = forks.deal(&rollout(4));
            let kind = kind_of("f", "planner", 0);
            assert_eq!(dealing.answers(&kind, 0.0), 4);
        }
    }

    #[test]
    fn a_part_of_an_answer_is_a_chance_of_one() {
        let dealing = Dealing { answers: [("k".to_owned(), 2.25)].into(), otherwise: 4.0 };
        let drawn = (0..1000).map(|draw| dealing.answers("k", f64::from(draw) / 1000.0));
        assert_eq!(drawn.sum::<usize>(), 2250);
    }
}
