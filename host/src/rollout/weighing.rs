//! The branches of a round: what each is worth, and which the episode goes on
//! from.
//!
//! All that are asked together answer together: branch k plays the k-th answer
//! of each, so that what only their combination earns reaches all of them. An
//! answer that was asked for as open is worth more than its round shows: its
//! branch is looked ahead in, with one answer to each question, until the
//! workflow has said the last of it or the episode is over. Looking ahead only
//! tells what the branches are worth; the episode goes on from the round itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use super::branch::choose_branch;
use super::request::Due;
use super::scenario::{Answer, Next, Position, Scenario, Transition};
use crate::config::RolloutConfig;
use crate::plugin::{PluginFailure, Seat};
use crate::seed::Seed;
use crate::trajectory::{Completion, Reward, Sample};

/// The answers drawn for one request.
pub(super) struct Drawn {
    pub(super) due: Due,
    pub(super) prompt: Arc<[u32]>,
    pub(super) completions: Vec<Completion>,
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
    /// Where looking ahead has come to.
    ahead: Option<Position>,
}

/// A row of the sample table, without what its episode knows.
pub(super) struct RowOf {
    pub(super) number: u32,
    pub(super) sample: Sample,
}

impl Weighing {
    /// Plays every branch of the round. With several branches, those with open
    /// answers are then to be looked ahead in.
    pub(super) fn begin(
        scenario: &Scenario,
        position: Position,
        drawn: Vec<Drawn>,
        looks_ahead: bool,
    ) -> Result<Self, PluginFailure> {
        let count = drawn.iter().map(|drawn| drawn.completions.len()).max().unwrap_or(0);
        // One branch alone is compared with nothing.
        let looks_ahead = looks_ahead && count > 1;
        let branches: Vec<Result<Branch, PluginFailure>> = (0..count)
            .into_par_iter()
            .map(|branch| {
                let answers: Vec<Answer> = drawn.iter().map(|drawn| drawn.answer(branch)).collect();
                let transition = scenario.answer(&position, &answers)?;
                Ok(Branch::new(transition, &drawn, looks_ahead))
            })
            .collect();
        // Of several failures the first is named, whichever happened first.
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

    /// The first request of the round.
    pub(super) fn first(&self) -> Option<&Due> {
        self.drawn.first().map(|drawn| &drawn.due)
    }

    /// Which branch the episode goes on from, by what its answers are worth on
    /// average.
    pub(super) fn choose(&self, config: &RolloutConfig, alpha: f64, seed: Seed) -> usize {
        let worth = |branch: &Branch| {
            let total: f64 = branch.rewards.iter().map(|reward| reward.total(alpha)).sum();
            total / branch.rewards.len().max(1) as f64
        };
        choose_branch(&self.branches.iter().map(worth).collect::<Vec<_>>(), config, seed)
    }

    /// What the answers of a branch led to at once.
    pub(super) fn branch(&self, branch: usize) -> &Transition {
        &self.branches[branch].transition
    }

    /// The rows of all answers; an answer that stands for several branches has
    /// one, of the kept branch if it is there.
    pub(super) fn into_rows(self, kept: usize) -> Vec<RowOf> {
        let Weighing { state, drawn, mut branches } = self;
        let mut rows = Vec::new();
        for (place, Drawn { due, prompt, completions }) in drawn.into_iter().enumerate() {
            let alone = completions.len() == 1;
            for (branch, completion) in completions.into_iter().enumerate() {
                let of = if alone { kept } else { branch };
                let Branch { transition, rewards, .. } = &mut branches[of];
                let Seat { role, instance } = due.request.seat.clone();
                let sample = Sample {
                    task: 0,
                    episode: 0,
                    round: 0,
                    turn: due.turn,
                    role,
                    instance,
                    thread: due.request.thread.clone(),
                    situation: due.request.situation.clone(),
                    policy: String::new(),
                    branch,
                    kept: of == kept,
                    state,
                    prompt: prompt.clone(),
                    completion,
                    reward: std::mem::take(&mut rewards[place]),
                    accepted: transition.accepted[place],
                };
                rows.push(RowOf { number: due.number, sample });
            }
        }
        rows
    }
}

impl Drawn {
    /// The answer in a branch; one that was drawn once stands in all of them.
    fn answer(&self, branch: usize) -> Answer<'_> {
        (&self.completions[branch.min(self.completions.len() - 1)]).into()
    }
}

impl Branch {
    fn new(transition: Transition, drawn: &[Drawn], looks_ahead: bool) -> Self {
        let rewards = transition.rewards.clone();
        let open: Vec<bool> =
            drawn.iter().map(|drawn| looks_ahead && drawn.due.request.is_open).collect();
        let mut branch = Branch { transition, rewards, open, ahead: None };
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
                Some(own) => reward.add(&later.rewards[own]),
                None => {
                    reward.add(&later.team);
                    let others = later.others.iter().filter(|(other, _)| other == seat);
                    others.for_each(|(_, own)| reward.add(own));
                }
            }
        }
        self.take_credits(&later, drawn);
        self.go_on(later.next);
        Ok(())
    }
}
