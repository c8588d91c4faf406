//! A state of the episode that is looked into, and the forks that were played from it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::rollout::{Start, TaskSeed};
use crate::states::State;
use troupe_core::blame::{Alternative, Effect, Measure, Round, StateValue, Turn};
use troupe_core::trajectory::{Completion, Sample};
use troupe_guests::scenario::{Answer, Due};

/// Alternatives that are told of a turn.
const ALTERNATIVES: usize = 8;

/// A state, the answers that were given in it, and pairs of forks.
pub(super) struct Case<'s> {
    state: &'s State,
    round: usize,
    pub(super) given: Vec<Completion>,
    pub(super) pairs: Vec<Pair>,
}

/// Forks that are alike in what is drawn later. What they begin with is one of these: the answers
/// that were given, all anew, or that of one seat anew.
pub(super) struct Pair {
    /// What was answered anew, in the order of the requests; nothing if it could not be had.
    fresh: Vec<Completion>,
    /// For each beginning, which play it is: the same answers are played once.
    beginnings: Vec<usize>,
    /// The outcome of each play; none of one that is void.
    pub(super) outcomes: Vec<Option<f64>>,
}

const GIVEN: usize = 0;
const ANEW: usize = 1;
/// That of the first seat; those of the others follow.
const ALONE: usize = 2;

impl Pair {
    /// A pair that is not played yet, and what its plays begin with.
    pub(super) fn of(
        given: &[Completion],
        fresh: Option<Vec<Completion>>,
    ) -> (Self, Vec<Vec<Completion>>) {
        let Some(fresh) = fresh else {
            let (fresh, beginnings, outcomes) = (Vec::new(), Vec::new(), Vec::new());
            return (Pair { fresh, beginnings, outcomes }, Vec::new());
        };
        let alone = (0..given.len()).map(|seat| {
            let mut answers = given.to_vec();
            answers[seat].clone_from(&fresh[seat]);
            answers
        });
        let mut plays: Vec<Vec<Completion>> = Vec::new();
        let beginnings = [given.to_vec(), fresh.clone()].into_iter().chain(alone).map(|answers| {
            plays.iter().position(|known| are_alike(known, &answers)).unwrap_or_else(|| {
                plays.push(answers);
                plays.len() - 1
            })
        });
        let beginnings = beginnings.collect();
        let outcomes = vec![None; plays.len()];
        (Pair { fresh, beginnings, outcomes }, plays)
    }

    fn is_void(&self) -> bool {
        self.fresh.is_empty() || self.outcomes.contains(&None)
    }

    /// The outcome of a beginning; a pair that is void has none.
    fn outcome(&self, beginning: usize) -> f64 {
        self.outcomes[self.beginnings[beginning]].unwrap_or_default()
    }
}

/// Whether a session cannot tell the answers apart.
fn are_alike(some: &[Completion], others: &[Completion]) -> bool {
    let same = |(one, other): (&Completion, &Completion)| {
        let (one, other) = (Answer::from(one), Answer::from(other));
        (one.text, one.complete, one.forced) == (other.text, other.complete, other.forced)
    };
    some.iter().zip(others).all(same)
}

impl<'s> Case<'s> {
    pub(super) fn of(state: &'s State, samples: &[Sample]) -> Self {
        let Sample { round, branch, .. } = samples[state.rows[0]];
        Case { state, round, given: state.answers(samples, branch), pairs: Vec::new() }
    }

    /// Where a fork begins; without answers, its own are drawn.
    pub(super) fn start(&self, fork: usize, answers: &[Completion]) -> Start {
        let seed = self.state.task.seed.named("blame").at(fork as u64);
        Start {
            task: TaskSeed { seed, ..self.state.task.clone() },
            position: self.state.position.clone(),
            answers: answers.to_vec(),
        }
    }

    /// Pairs that count for nothing.
    pub(super) fn void(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_void()).count()
    }

    fn outcomes(&self, beginning: usize) -> Vec<f64> {
        let pairs = self.pairs.iter().filter(|pair| !pair.is_void());
        pairs.map(|pair| pair.outcome(beginning)).collect()
    }

    fn effect(&self, of: usize, measure: Measure) -> Option<Effect> {
        Effect::of(&self.outcomes(GIVEN), &self.outcomes(of), measure)
    }

    /// Whether more pairs may tell on which side of the margin a seat's part is.
    pub(super) fn is_open(&self, measure: Measure, margin: f64) -> bool {
        let of_seat = |seat: usize| self.effect(ALONE + seat, measure);
        (0..self.given.len()).filter_map(of_seat).any(|effect| effect.is_open(margin))
    }

    /// What is known of it; nothing if its forks failed.
    pub(super) fn round(&self, measure: Measure) -> Option<Round> {
        let due = self.state.position.due.iter().enumerate();
        Some(Round {
            round: self.round,
            before: StateValue::of(&self.outcomes(ANEW)),
            after: StateValue::of(&self.outcomes(GIVEN)),
            effect: self.effect(ANEW, measure)?,
            turns: due.map(|(seat, due)| self.turn(seat, due, measure)).collect::<Option<_>>()?,
        })
    }

    fn turn(&self, seat: usize, due: &Due, measure: Measure) -> Option<Turn> {
        Some(Turn {
            role: due.role().to_owned(),
            instance: due.request.seat.instance,
            thread: due.request.thread.clone(),
            turn: due.turn,
            situation: due.request.situation.clone(),
            text: self.given[seat].text.clone(),
            effect: self.effect(ALONE + seat, measure)?,
            alternatives: self.alternatives(seat),
        })
    }

    fn alternatives(&self, seat: usize) -> Vec<Alternative> {
        let mut drawn: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for pair in self.pairs.iter().filter(|pair| !pair.is_void()) {
            let text = &pair.fresh[seat].text;
            drawn.entry(text).or_default().push(pair.outcome(ALONE + seat));
        }
        let alternative = |(text, outcomes): (&str, Vec<f64>)| Alternative {
            text: text.to_owned(),
            drawn: outcomes.len(),
            outcome: outcomes.iter().sum::<f64>() / outcomes.len() as f64,
        };
        let mut all: Vec<Alternative> = drawn.into_iter().map(alternative).collect();
        all.sort_by_key(|other| Reverse(other.drawn));
        all.truncate(ALTERNATIVES);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::trajectory::StopReason;

    fn answers(texts: [&str; 2]) -> Vec<Completion> {
        let answer = |text: &str| Completion {
            tokens: Vec::new(),
            logprobs: Vec::new(),
            text: text.to_owned(),
            stop: StopReason::EndOfText,
            forced: Vec::new(),
            usage: None,
        };
        texts.map(answer).to_vec()
    }

    #[test]
    fn what_begins_alike_is_played_once_and_each_seat_has_its_own_answer_anew() {
        let given = answers(["plan", "move"]);
        let (pair, plays) = Pair::of(&given, Some(answers(["other", "turn"])));
        assert_eq!(plays.len(), 4);
        let texts = |beginning: usize| {
            let play = &plays[pair.beginnings[beginning]];
            play.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(texts(GIVEN), ["plan", "move"]);
        assert_eq!(texts(ANEW), ["other", "turn"]);
        assert_eq!((texts(ALONE), texts(ALONE + 1)), (vec!["other", "move"], vec!["plan", "turn"]));
        let (pair, plays) = Pair::of(&given, Some(answers(["plan", "turn"])));
        assert_eq!((plays.len(), &pair.beginnings[..]), (2, &[0, 1, 0, 1][..]));
        let (pair, plays) = Pair::of(&given, None);
        assert!(plays.is_empty() && pair.is_void());
    }
}
