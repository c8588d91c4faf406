//! The judges of a session: their votes on the last act, and what all their
//! answers are credited with.

use plugin_sdk::workflow::{Reply, Step};
use serde::{Deserialize, Serialize};

use crate::vote::{Vote, mean};

/// Credits of a judge's answer that holds a vote, and of one that does not.
const AGREED: &str = "agreed";
const UNREADABLE: &str = "unreadable";
/// What is no vote counts as one that was wrong on all accounts.
const OF_NO_VOTE: f64 = -2.0;

/// A vote and the number of the answer that it stands in.
type Given = (u32, Vote);

/// The judges' answers.
#[derive(Default, Serialize, Deserialize)]
pub struct Panel {
    /// Those on the last act.
    votes: Vec<Given>,
    /// Those on acts before it, which wait for the end.
    earlier: Vec<Given>,
}

impl Panel {
    /// Take in a judge's answer; how many there are on this act.
    pub fn hear(&mut self, reply: &Reply) -> usize {
        self.votes.push((reply.answer, Vote::of(reply)));
        self.votes.len()
    }

    /// What the panel says of the act.
    pub fn mean(&self) -> f64 {
        mean(&self.votes.iter().map(|(_, vote)| *vote).collect::<Vec<_>>())
    }

    /// The panel has spoken: each of its answers is worth its agreement with the others,
    /// its own vote among them. How the episode ends is still to come.
    pub fn compare(&mut self, step: Step) -> Step {
        let mean = self.mean();
        let compared = self.votes.iter().fold(step, |step, &(answer, vote)| match vote {
            Vote::Unreadable => step.credit_so_far(answer, UNREADABLE, OF_NO_VOTE),
            vote => step.credit_so_far(answer, AGREED, mean * vote.value()),
        });
        self.earlier.append(&mut self.votes);
        compared
    }

    /// The episode is over: every answer is worth its agreement with how it ended, too.
    pub fn close(&mut self, step: Step, solved: bool) -> Step {
        let outcome = if solved { 1.0 } else { -1.0 };
        self.earlier.drain(..).fold(step, |step, (answer, vote)| match vote {
            Vote::Unreadable => step.credit(answer, UNREADABLE, 0.0),
            vote => step.credit(answer, AGREED, outcome * vote.value()),
        })
    }
}
