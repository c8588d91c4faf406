//! What each turn of an episode gained and lost, as far as forks can tell: what `host blame` finds
//! and a report shows.
//!
//! At a state, V is the mean outcome if whoever is due answers anew, and Q if they answer as they
//! did; Q − V is what the round changed (the advantage of reinforcement learning). Where several
//! are due at once, a seat's own part is Q minus the mean outcome if it alone answers anew (the
//! counterfactual baseline of COMA, arXiv 1705.08926, section 4).

use serde::{Deserialize, Serialize};

use crate::statistics::{Interval, mean, standard_error, student_interval};
use crate::trajectory::Episode;

/// The file of a run folder that holds episodes with what their turns changed, one a line.
pub const FILE: &str = "blame.jsonl";

/// What an outcome is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// 1 if the task was solved, 0 if not.
    Solved,
    /// What the team earned.
    Reward,
}

/// A mean over forks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateValue {
    /// The mean outcome.
    pub mean: f64,
    /// The standard error of it.
    pub error: f64,
    /// How many forks it is of.
    pub forks: usize,
}

impl StateValue {
    /// Of the outcomes of forks.
    pub fn of(outcomes: &[f64]) -> Self {
        StateValue { mean: mean(outcomes), error: standard_error(outcomes), forks: outcomes.len() }
    }
}

/// What something changed: a mean over pairs of forks that are alike in all that is drawn later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The mean difference.
    pub mean: f64,
    /// The standard error of it.
    pub error: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

impl Effect {
    /// Of the outcomes with and without it, pair by pair; nothing of fewer than two.
    pub fn of(with: &[f64], without: &[f64], measure: Measure) -> Option<Self> {
        let differences: Vec<f64> = with.iter().zip(without).map(|(a, b)| a - b).collect();
        let interval = student_interval(&differences)?;
        Some(match measure {
            Measure::Solved => Effect::of_shares(&differences),
            Measure::Reward => {
                let error = standard_error(&differences);
                Effect { mean: mean(&differences), error, interval }
            }
        })
    }

    /// Of differences of shares: one more pair of each sign keeps the interval honest where all
    /// pairs agree (Bonett and Price, J. Educ. Behav. Stat. 37, 2012, equation 5).
    fn of_shares(differences: &[f64]) -> Self {
        const Z: f64 = 1.959_964;
        let count = differences.len() as f64 + 2.0;
        let signs = |wanted: f64| differences.iter().filter(|d| **d == wanted).count() as f64;
        let (gained, lost) = ((signs(1.0) + 1.0) / count, (signs(-1.0) + 1.0) / count);
        let center = gained - lost;
        let error = ((gained + lost - center * center) / count).sqrt();
        let interval = Interval { low: center - Z * error, high: center + Z * error };
        Effect { mean: mean(differences), error, interval: interval.within(-1.0, 1.0) }
    }

    /// Whether it is a loss of more than `margin`: as the mean of all pairs has it.
    pub fn loses(&self, margin: f64) -> bool {
        self.mean < -margin
    }

    /// Whether the interval leaves open on which side of the margin it is, as a loss or as a gain.
    pub fn is_open(&self, margin: f64) -> bool {
        let around = |bound: f64| self.interval.low < bound && bound < self.interval.high;
        around(-margin) || around(margin)
    }
}

/// An answer that was drawn in the place of the one that was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The answer.
    pub text: String,
    /// How often it was drawn.
    pub drawn: usize,
    /// The mean outcome after it.
    pub outcome: f64,
}

/// A seat's answer, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The role.
    pub role: String,
    /// Which of its seats.
    pub instance: u32,
    /// The conversation; empty for the main one.
    pub thread: String,
    /// Its turn in it.
    pub turn: usize,
    /// The workflow's word for situations that are alike, if it has one.
    pub situation: Option<String>,
    /// What it answered.
    pub text: String,
    /// What that changed, all others being as they were.
    pub effect: Effect,
    /// What it could have answered, the most likely first; its own answer is among them if it was
    /// drawn again.
    pub alternatives: Vec<Alternative>,
}

/// The answers that were due together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its number in the episode.
    pub round: usize,
    /// V.
    pub before: StateValue,
    /// Q.
    pub after: StateValue,
    /// Q − V.
    pub effect: Effect,
    /// Who answered.
    pub turns: Vec<Turn>,
}

/// An episode, round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blame {
    /// The step whose policies played it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// What outcomes are counted in.
    pub measure: Measure,
    /// What came of it.
    pub outcome: f64,
    /// What its task was worth before anybody had answered, from forks of their own.
    pub start: StateValue,
    /// Its rounds, but for those whose forks failed.
    pub rounds: Vec<Round>,
    /// Forks that failed in a plugin or on a server, and count for nothing.
    pub void: usize,
    /// The episode itself.
    pub episode: Episode,
}

impl Blame {
    /// What is left of `outcome − start` when the effects of all rounds are taken away, and the
    /// standard error of it: 0, but for what was drawn.
    pub fn remainder(&self) -> (f64, f64) {
        let effects = || self.rounds.iter().map(|round| round.effect);
        let sum: f64 = effects().map(|effect| effect.mean).sum();
        let variance: f64 = effects().map(|effect| effect.error.powi(2)).sum();
        (self.outcome - self.start.mean - sum, (variance + self.start.error.powi(2)).sqrt())
    }

    /// All turns, each with the number of its round.
    pub fn turns(&self) -> impl Iterator<Item = (usize, &Turn)> {
        self.rounds.iter().flat_map(|round| round.turns.iter().map(move |turn| (round.round, turn)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_all_agree_still_leave_something_open() {
        let effect = Effect::of(&[1.0; 64], &[1.0; 64], Measure::Solved).unwrap();
        assert_eq!(effect.mean, 0.0);
        let Interval { low, high } = effect.interval;
        assert!(low < -0.02 && high > 0.02 && high < 0.06, "{low} {high}");
        assert!(!effect.is_open(0.1) && effect.is_open(0.01));
    }

    #[test]
    fn an_effect_is_of_pairs_and_has_the_sign_of_what_was_given() {
        let (with, without) = ([0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]);
        for measure in [Measure::Solved, Measure::Reward] {
            let effect = Effect::of(&with, &without, measure).unwrap();
            assert_eq!(effect.mean, -0.5);
            assert!(effect.loses(0.4) && !effect.loses(0.5));
            let back = Effect::of(&without, &with, measure).unwrap();
            assert_eq!((back.mean, back.interval.high), (0.5, -effect.interval.low));
        }
    }

    #[test]
    fn the_interval_of_a_share_holds_in_as_many_draws_as_it_says() {
        // 64 pairs, of which each gains with 5 % and loses with 20 %.
        let seed = crate::seed::Seed::new(7);
        let holds = |trial: u64| {
            let differences: Vec<f64> = (0..64)
                .map(|pair| match seed.at(trial).at(pair).index(20) {
                    0 => 1.0,
                    1..=4 => -1.0,
                    _ => 0.0,
                })
                .collect();
            let Interval { low, high } = Effect::of_shares(&differences).interval;
            low < -0.15 && -0.15 < high
        };
        let held = (0..2000).filter(|trial| holds(*trial)).count();
        assert!((1860..=1960).contains(&held), "{held}");
    }
}
