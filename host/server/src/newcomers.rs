//! Connections that have said nothing yet.
//!
//! When all places are taken, the connection silent for longest makes room, so
//! that thousands of silent connections cannot keep clients out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Those who have said nothing yet, the longest silent first; among them some who
/// have spoken or left since.
#[derive(Default)]
pub(super) struct Newcomers {
    waiting: VecDeque<Arc<Newcomer>>,
}

/// One connection.
#[derive(Default)]
pub(super) struct Newcomer {
    is_settled: AtomicBool,
    leave: Notify,
}

impl Newcomers {
    /// One more.
    pub(super) fn admit(&mut self) -> Arc<Newcomer> {
        self.forget_settled();
        let newcomer = Arc::<Newcomer>::default();
        self.waiting.push_back(newcomer.clone());
        newcomer
    }

    /// Has the longest silent one leave, if one is silent.
    pub(super) fn make_room(&mut self) {
        self.forget_settled();
        if let Some(newcomer) = self.waiting.pop_front() {
            newcomer.leave.notify_one();
        }
    }

    fn forget_settled(&mut self) {
        let is_settled = |one: &Arc<Newcomer>| one.is_settled.load(Ordering::Relaxed);
        while self.waiting.front().is_some_and(is_settled) {
            self.waiting.pop_front();
        }
        // Behind a silent one there may be many who have settled.
        if self.waiting.len() == self.waiting.capacity() {
            self.waiting.retain(|one| !is_settled(one));
        }
    }
}

impl Newcomer {
    /// It has spoken, or has left.
    pub(super) fn settle(&self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }

    /// Waits until it has to leave.
    pub(super) async fn told_to_leave(&self) {
        self.leave.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn has_to_leave(newcomer: &Newcomer) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        pin!(newcomer.told_to_leave()).poll(&mut context).is_ready()
    }

    #[test]
    fn who_has_been_silent_for_longest_makes_room_and_who_has_spoken_stays() {
        let mut newcomers = Newcomers::default();
        let [first, second, third] = [(); 3].map(|()| newcomers.admit());
        first.settle();
        newcomers.make_room();
        assert_eq!([&first, &second, &third].map(|one| has_to_leave(one)), [false, true, false]);
        third.settle();
        newcomers.make_room();
        assert!(!has_to_leave(&third));
    }

    #[test]
    fn those_who_have_settled_are_forgotten() {
        let mut newcomers = Newcomers::default();
        let _silent = newcomers.admit();
        (0..10_000).for_each(|_| newcomers.admit().settle());
        assert!(newcomers.waiting.len() < 100, "{}", newcomers.waiting.len());
    }
}
