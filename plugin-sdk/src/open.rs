//! Answers whose worth shows later.

use serde::{Deserialize, Serialize};

use crate::workflow::{Reply, Step};

/// What the credit is called that closes an answer and says nothing else of it.
const SETTLED: &str = "settled";

/// The answers that were asked for as [open](crate::workflow::Request::open) and of
/// which the last has not been said: until then, whatever the team earns is theirs
/// as well.
///
/// A workflow that asks one role, then another, and only then acts, [takes in](Open::take)
/// the answers on the way, and [settles](Open::settle) them as soon as what they led to
/// has been done: what a later question leads to does not pay the author of an
/// earlier answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open(Vec<u32>);

impl Open {
    /// The worth of this answer shows later.
    pub fn take(&mut self, reply: &Reply) {
        self.0.push(reply.answer);
    }

    /// What came until now is what they were worth.
    #[must_use]
    pub fn settle(&mut self, step: Step) -> Step {
        self.0.drain(..).fold(step, |step, answer| step.credit(answer, SETTLED, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seat;

    #[test]
    fn what_was_taken_in_is_settled_once() {
        let mut open = Open::default();
        for answer in [3, 5] {
            let (seat, thread, text) = (Seat::new("verifier"), String::new(), String::new());
            open.take(&Reply { seat, answer, thread, text, complete: true });
        }
        let closed = |step: Step| -> Vec<(u32, f64, bool)> {
            step.credits.iter().map(|one| (one.answer, one.value, one.is_last)).collect()
        };
        assert_eq!(closed(open.settle(Step::wait())), [(3, 0.0, true), (5, 0.0, true)]);
        assert_eq!(closed(open.settle(Step::wait())), []);
    }
}
