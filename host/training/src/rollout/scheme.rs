//! Which answers are drawn to a request, and which of them the episode goes on
//! from: every way of sampling is a choice of the two.

use super::branch::choose_branch;
use super::setting::Setting;
use super::weighing::LookAhead;
use troupe_core::config::{RolloutConfig, SamplingScheme};
use troupe_core::seed::Seed;

/// How far an episode has been forked.
#[derive(Clone)]
pub(super) struct Scheme {
    scheme: SamplingScheme,
    /// The role at which the episode is forked, if it is at one alone.
    role: Option<String>,
    has_forked: bool,
    /// Episodes that may yet be made of this one, itself included.
    episodes: usize,
}

impl Scheme {
    /// Of an episode that has not begun; `seed` is its task's.
    pub(super) fn new(setting: &Setting, seed: Seed) -> Self {
        let scheme = setting.config.scheme;
        let trained = setting.role_map.trained_roles();
        let drawn = || trained.get(seed.named("fork").index(trained.len())).cloned();
        Scheme {
            scheme,
            role: (scheme == SamplingScheme::RoundRobin).then(drawn).flatten(),
            has_forked: false,
            episodes: setting.config.max_episodes,
        }
    }

    /// Independent episodes of a task.
    pub(super) fn repetitions(config: &RolloutConfig) -> usize {
        if config.scheme.repeats_tasks() { config.branches } else { 1 }
    }

    /// Answers that are drawn to a request at a state of this kind. A role that does not train is asked
    /// once: there is nothing to compare its answers for. In a team of which nobody trains they
    /// are drawn for somebody else: for a critic, or for runs that learn from the stored table.
    pub(super) fn draws(&self, role: &str, setting: &Setting, (kind, seed): (&str, Seed)) -> usize {
        let dealt = || match setting.dealing {
            Some(dealing) => dealing.answers(kind, seed.named("dealing").unit()),
            None => setting.config.branches,
        };
        let branches = setting.role_map.branches(role).unwrap_or_else(dealt);
        let branches_here = match self.scheme {
            SamplingScheme::Trajectory | SamplingScheme::CrossPolicy => false,
            SamplingScheme::Tree | SamplingScheme::Independent => true,
            SamplingScheme::Exhaustive => branches <= self.episodes,
            SamplingScheme::ForkOnFirst => !self.has_forked,
            SamplingScheme::RoundRobin => {
                !self.has_forked && self.role.as_deref().is_none_or(|chosen| chosen == role)
            }
        };
        let is_compared =
            setting.role_map.learns(role) || setting.role_map.trained_roles().is_empty();
        if branches_here && is_compared { branches } else { 1 }
    }

    /// How far is looked ahead to say what branches are worth.
    pub(super) fn looks_ahead(&self) -> LookAhead {
        match self.scheme {
            SamplingScheme::Tree => LookAhead::WhileOpen,
            SamplingScheme::Independent => LookAhead::ToTheEnd,
            // These go on from all branches, so that the future itself will tell.
            _ => LookAhead::Not,
        }
    }

    /// Whether what comes later is booked with the answers of a round of so many branches, by which
    /// it was earned. Of several, only one has a future; what it is worth was looked ahead for.
    pub(super) fn books_later(&self, branches: usize) -> bool {
        self.scheme.plays_whole_episodes() || branches <= 1
    }

    /// The branches (worth so much each) in which the episode continues; the
    /// first of them in its own name.
    pub(super) fn keeps(&self, worths: &[f64], config: &RolloutConfig, seed: Seed) -> Vec<usize> {
        match self.scheme {
            SamplingScheme::Tree | SamplingScheme::Independent => {
                vec![choose_branch(worths, config, seed)]
            }
            _ => (0..worths.len()).collect(),
        }
    }

    /// After a round of so many branches.
    pub(super) fn advance(&mut self, branches: usize) {
        self.has_forked |= branches > 1;
        self.episodes = (self.episodes / branches.max(1)).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_later_is_booked_with_the_answers_of_a_round_that_was_not_looked_ahead_in() {
        let books = |scheme, branches| {
            let scheme = Scheme { scheme, role: None, has_forked: false, episodes: 1 };
            scheme.books_later(branches)
        };
        for scheme in [SamplingScheme::Tree, SamplingScheme::Independent] {
            assert_eq!([1, 2, 4].map(|branches| books(scheme, branches)), [true, false, false]);
        }
        for scheme in [SamplingScheme::Trajectory, SamplingScheme::Exhaustive] {
            assert_eq!([1, 2, 4].map(|branches| books(scheme, branches)), [true; 3]);
        }
    }
}
