//! The branches of a round: what each is worth, and which the episode goes on
//! from.
//!
//! All that are asked together answer together: branch k plays the k-th answer
//! of each, so that what only their combination earns reaches all of them. An
//! answer that was asked for as open is worth more than its round shows: its
//! branch is looked ahead in, with one answer to each question, until the
//! workflow has said the last of it or the episode is over. Looking ahead only
//! tells what the branches are worth; the episode continues from the round itself.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use troupe_core::trajectory::{Completion, Reward, Sample};
use troupe_guests::plugin::{PluginFailure, Seat};
use troupe_guests::scenario::{Answer, Due, Next, Position, Scenario, Transition};
use troupe_model::RemoteFailure;

/// The answers drawn for one request.
pub(super) struct Drawn {
    pub(super) due: Due,
    /// The policy that answered.
    pub(super) policy: String,
    pub(super) prompt: Arc<[u32]>,
    pub(super) completions: Vec<Completion>,
}

/// What came of a request: its answers, or why they could not be had.
pub(super) type Answered = Result<Drawn, RemoteFailure>;

/// How far ahead it is looked to say what branches are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookAhead {
    /// Not at all.
    Not,
    /// Until all has been said of the answers that were asked for as open.
    WhileOpen,
    /// To the end of the episode.
    ToTheEnd,
}

/// The branches of a round.
pub(super) struct Weighing {
    state: u64,
    drawn: Vec<Drawn>,
    branches: Vec<Branch>,
}

/// One branch: what its answers led to at once, and later.
struct Branch {
    transition: Transition,
    /// What each answer is worth so far.
    rewards: Vec<Reward>,
    /// Whether more may be said of it.
    open: Vec<bool>,
    look_ahead: LookAhead,
    /// Where looking ahead has come to.
    ahead: Option<Position>,
}

/// A row of the sample table, without what its episode knows.
pub(super) struct RowOf {
    pub(super) number: u32,
    /// The number of the answer that called for it.
    pub(super) caller: Option<u32>,
    /// The branches in which it was played: of a role that is asked less often
    /// than another, the last answer stands in the rest.
    pub(super) branches: Range<usize>,
    pub(super) sample: Sample,
}

impl Weighing {
    /// Plays every branch of the round. With several branches, those with open
    /// answers are then to be looked ahead in.
    pub(super) fn begin(
        scenario: &Scenario,
        position: Position,
        drawn: Vec<Drawn>,
        look_ahead: LookAhead,
    ) -> Result<Self, PluginFailure> {
        let count = drawn.iter().map(|drawn| drawn.completions.len()).max().unwrap_or(0);
        // One branch alone is compared with nothing.
        let look_ahead = if count > 1 { look_ahead } else { LookAhead::Not };
        let branches: Vec<Result<Branch, PluginFailure>> = (0..count)
            .into_par_iter()
            .map(|branch| {
                let answers: Vec<Answer> = drawn.iter().map(|drawn| drawn.answer(branch)).collect();
                let transition = scenario.answer(&position, &answers)?;
                Ok(Branch::new(transition, &drawn, look_ahead))
            })
            .collect();
        // If several failed, the first in order is named, not the first in time.
        let branches = branches.into_iter().collect::<Result<_, _>>()?;
        Ok(Weighing { state: position.digest(), drawn, branches })
    }

    /// What is due in the branches that are looked ahead in.
    pub(super) fn due(&self) -> impl Iterator<Item = &Due> {
        self.branches
            .iter()
            .filter_map(|branch| branch.ahead.as_ref())
            .flat_map(|position| &position.due)
    }

    /// Whether it is known what every branch is worth.
    pub(super) fn is_settled(&self) -> bool {
        self.branches.iter().all(|branch| branch.ahead.is_none())
    }

    /// The places of what is due in the same branch as the request at this place.
    pub(super) fn places_beside(&self, place: usize) -> Range<usize> {
        let mut from = 0;
        for branch in &self.branches {
            let to = from + branch.ahead.as_ref().map_or(0, |position| position.due.len());
            if (from..to).contains(&place) {
                return from..to;
            }
            from = to;
        }
        from..from
    }

    /// Looks no further ahead in the branch of the request at this place.
    pub(super) fn cut(&mut self, place: usize) {
        let of = |branch: &Branch| branch.ahead.as_ref().map_or(0, |position| position.due.len());
        let mut left = place;
        for branch in &mut self.branches {
            let due = of(branch);
            if left < due {
                branch.ahead = None;
                return;
            }
            left -= due;
        }
    }

    /// Takes in the answers to what was due, in its order.
    pub(super) fn look_on(
        mut self,
        scenario: &Scenario,
        answers: Vec<Drawn>,
    ) -> Result<Self, PluginFailure> {
        let mut answers = answers.into_iter();
        let mut given = Vec::new();
        for branch in self.branches.iter_mut().filter(|branch| branch.ahead.is_some()) {
            let count = branch.ahead.as_ref().map_or(0, |position| position.due.len());
            given.push((branch, answers.by_ref().take(count).collect::<Vec<_>>()));
        }
        let drawn = &self.drawn;
        let looked: Vec<Result<(), PluginFailure>> = given
            .into_par_iter()
            .map(|(branch, answers)| branch.look_on(scenario, drawn, &answers))
            .collect();
        looked.into_iter().collect::<Result<(), _>>()?;
        Ok(self)
    }

    /// How many branches there are.
    pub(super) fn count(&self) -> usize {
        self.branches.len()
    }

    /// The first request of the round.
    pub(super) fn first(&self) -> Option<&Due> {
        self.drawn.first().map(|drawn| &drawn.due)
    }

    /// What the answers of every branch are worth on average.
    pub(super) fn worths(&self, alpha: f64) -> Vec<f64> {
        let worth = |branch: &Branch| {
            let total: f64 = branch.rewards.iter().map(|reward| reward.total(alpha)).sum();
            total / branch.rewards.len().max(1) as f64
        };
        self.branches.iter().map(worth).collect()
    }

    /// What the answers of a branch led to at once.
    pub(super) fn branch(&self, branch: usize) -> &Transition {
        &self.branches[branch].transition
    }

    /// The rows of all answers, given the branches in which the episode continues. One
    /// that stands for several branches has one row, of the first of these; where
    /// one branch alone is kept, it is worth what it was on average in all of its
    /// own, as which is kept may depend on what they are worth.
    pub(super) fn into_rows(self, kept: &[usize]) -> Vec<RowOf> {
        let Weighing { state, drawn, branches } = self;
        let chooses = kept.len() == 1;
        let mut rows = Vec::new();
        for (place, Drawn { due, policy, prompt, completions }) in drawn.into_iter().enumerate() {
            let last = completions.len() - 1;
            for (branch, completion) in completions.into_iter().enumerate() {
                let played_in = branch..if branch == last { branches.len() } else { branch + 1 };
                let of = kept.iter().find(|kept| played_in.contains(kept)).copied();
                let Branch { transition, .. } = &branches[of.unwrap_or(branch)];
                let worth_of = match of {
                    Some(kept) if !chooses => kept..kept + 1,
                    _ => played_in.clone(),
                };
                let reward = mean(branches[worth_of].iter().map(|branch| &branch.rewards[place]));
                let Seat { role, instance } = due.request.seat.clone();
                let sample = Sample {
                    task: 0,
                    family: String::new(),
                    episode: 0,
                    round: 0,
                    parent: None,
                    caller: None,
                    turn: due.turn,
                    role,
                    instance,
                    thread: due.request.thread.clone(),
                    situation: due.request.situation.clone(),
                    hint: due.hint.as_deref().map(str::to_owned),
                    policy: policy.clone(),
                    branch,
                    kept: of.is_some(),
                    state,
                    prompt: prompt.clone(),
                    completion,
                    reward,
                    accepted: transition.accepted[place],
                };
                let (number, caller) = (due.number, due.request.caller);
                rows.push(RowOf { number, caller, branches: played_in, sample });
            }
        }
        rows
    }
}

/// What one answer earned in several branches, on average.
fn mean<'r>(rewards: impl ExactSizeIterator<Item = &'r Reward>) -> Reward {
    let share = 1.0 / rewards.len().max(1) as f64;
    let mut mean = Reward::default();
    rewards.for_each(|reward| mean.add(&reward.scaled(share)));
    mean
}

impl Drawn {
    /// The answer in a branch; one that was drawn once stands in all of them.
    fn answer(&self, branch: usize) -> Answer<'_> {
        (&self.completions[branch.min(self.completions.len() - 1)]).into()
    }
}

impl Branch {
    fn new(transition: Transition, drawn: &[Drawn], look_ahead: LookAhead) -> Self {
        let rewards = transition.rewards.clone();
        let is_open = |drawn: &Drawn| match look_ahead {
            LookAhead::Not => false,
            LookAhead::WhileOpen => drawn.due.request.is_open,
            LookAhead::ToTheEnd => true,
        };
        let open: Vec<bool> = drawn.iter().map(is_open).collect();
        let mut branch = Branch { transition, rewards, open, look_ahead, ahead: None };
        let transition = branch.transition.clone();
        branch.take_credits(&transition, drawn);
        branch.go_on(transition.next);
        branch
    }

    /// Looks further ahead while something is open.
    fn go_on(&mut self, next: Next) {
        let looks = self.open.iter().any(|open| *open);
        self.ahead = match next {
            Next::Asked(position) if looks => Some(position),
            Next::Asked(_) | Next::Ended(_) => None,
        };
    }

    /// Credits count for the answers of this round that are open.
    fn take_credits(&mut self, transition: &Transition, drawn: &[Drawn]) {
        for credit in &transition.credits {
            let place = drawn.iter().position(|drawn| drawn.due.number == credit.answer);
            let Some(place) = place.filter(|&place| self.open[place]) else { continue };
            self.rewards[place].credit(&credit.name, credit.value);
        }
        if self.look_ahead == LookAhead::ToTheEnd {
            return;
        }
        let closed: BTreeSet<u32> = transition
            .credits
            .iter()
            .filter(|credit| credit.is_last)
            .map(|credit| credit.answer)
            .collect();
        for (open, drawn) in self.open.iter_mut().zip(drawn) {
            *open &= !closed.contains(&drawn.due.number);
        }
    }

    fn look_on(
        &mut self,
        scenario: &Scenario,
        drawn: &[Drawn],
        answers: &[Drawn],
    ) -> Result<(), PluginFailure> {
        let Some(position) = self.ahead.take() else { return Ok(()) };
        let texts: Vec<Answer> = answers.iter().map(|drawn| drawn.answer(0)).collect();
        let later = scenario.answer(&position, &texts)?;
        for (place, drawn) in drawn.iter().enumerate().filter(|(place, _)| self.open[*place]) {
            let seat = &drawn.due.request.seat;
            let reward = &mut self.rewards[place];
            match position.due.iter().position(|due| due.request.seat == *seat) {
                Some(place) => reward.add(&later.rewards[place]),
                None => {
                    reward.add(&later.team);
                    let others = later.others.iter().filter(|(other, _)| other == seat);
                    others.for_each(|(_, place)| reward.add(place));
                }
            }
        }
        self.take_credits(&later, drawn);
        self.go_on(later.next);
        Ok(())
    }
}
